package sandbox

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// BenchmarkStart compares a command in the sandbox, from the start to the end of
// its tree, with the same by os/exec.
func BenchmarkStart(b *testing.B) {
	w := newFixture(b)
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
		defer costs(b)()
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

// BenchmarkLook is one look of the watch at 50 processes with 200 descriptors each: a usual one, and a close one.
func BenchmarkLook(b *testing.B) {
	w := newFixture(b)
	s := newBox(b, w.Home)
	const script = `i=3; while [ $i -lt 203 ]; do eval "exec $i</dev/null"; i=$((i+1)); done
i=1; while [ $i -lt 50 ]; do sleep 1000 & i=$((i+1)); done; exec sleep 1000`
	c := w.shell(script)
	c.Path, c.Args[0] = "/bin/bash", "bash" // sh has ten descriptors
	c.Limits = Limits{Memory: 1 << 30, Processes: 512}
	tree, err := s.Start(b.Context(), c, Files{})
	must(b, err)
	defer func() { must(b, tree.Close()) }()
	eventually(b, "all processes", func() bool { return tree.Usage().Processes == 50 })
	b.Run("usual", func(b *testing.B) {
		defer costs(b)()
		for b.Loop() {
			_ = tree.Usage()
		}
	})
	b.Run("close", func(b *testing.B) {
		all, err := tree.killer.members()
		must(b, err)
		defer costs(b)()
		for b.Loop() {
			_ = tree.account.closely(all, 0, pool{})
		}
	})
}

// costs reports what this process used of the processor, which others that are busy do not change much.
func costs(b *testing.B) func() {
	used := func() time.Duration {
		var u syscall.Rusage
		must(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	before := used()
	return func() { b.ReportMetric(float64(used()-before)/float64(b.N), "cpu-ns/op") }
}
