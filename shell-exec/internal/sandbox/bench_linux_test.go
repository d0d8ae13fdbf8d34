package sandbox

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// BenchmarkStart compares a command in the sandbox, from the start to the end of
// its tree, with the same by os/exec.
func BenchmarkStart(b *testing.B) {
	w := newWorld(b)
	b.Run("bare", func(b *testing.B) {
		for b.Loop() {
			cmd := exec.Command("/bin/sh", "-c", "true")
			cmd.Env = []string{"PATH=/usr/bin:/bin"}
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
			must(b, cmd.Run())
		}
	})
	b.Run("sandboxed", func(b *testing.B) {
		s := newBox(b, w.Home)
		c := w.shell("true")
		c.Args, c.Env = []string{"sh", "-c", "true"}, []string{"PATH=/usr/bin:/bin"}
		c.Limits = Limits{Memory: 1 << 30, Processes: 50, FileSize: 100 << 20}
		null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
		must(b, err)
		defer null.Close()
		for b.Loop() {
			tree, err := s.Start(b.Context(), c, Files{})
			must(b, err)
			if s := tree.Wait(); s.Code != 0 {
				b.Fatalf("%+v", s)
			}
			<-tree.Gone()
		}
	})
}
