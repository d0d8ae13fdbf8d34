package sandbox

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shell-exec/internal/procfs"
)

const bereaved = 20 // commands of a server that is killed

// heldBy is the variable that says by which means the server holds them.
const heldBy = "SANDBOX_TEST_HELD_BY"

// serve is a server with commands of every kind that runs away, which waits to be
// killed.
func serve(mark string) error {
	w := worldAt(os.Getenv("HOME"))
	m := inspect()
	if os.Getenv(heldBy) == byGroup.String() {
		m.landlock = min(m.landlock, 5)
	}
	s, err := m.sandbox(Options{Mode: Auto, Level: level(), Home: w.Home})
	if err != nil {
		return err
	}
	if by := s.machine.killer(s.level == 2).String(); by != os.Getenv(heldBy) {
		return fmt.Errorf("held by %s", by)
	}
	for range bereaved {
		c, _ := runaways(w)
		c.Args[4] = mark
		if _, err := s.Start(context.Background(), c, Files{}); err != nil {
			return err
		}
	}
	time.Sleep(time.Hour) // until it is killed
	return nil
}

func TestNothingSurvivesAKilledServer(t *testing.T) {
	w := newFixture(t)
	newBox(t, w.Home) // or there is no domain
	for _, by := range []killerKind{byDomain, byGroup} {
		t.Run(by.String(), func(t *testing.T) {
			if by == byGroup && (level() == 2 || inspect().group == "") {
				t.Skip("SKIPPED: a control group: none of ours here")
			}
			survive(t, w, by)
		})
	}
}

func survive(t *testing.T, w fixture, by killerKind) {
	mark := token()
	self, err := os.Executable()
	must(t, err)
	server := exec.Command(self, "serve", mark)
	server.Env = append(os.Environ(), deedOf+"=1", atOnce, "HOME="+filepath.Dir(w.Home), heldBy+"="+by.String())
	must(t, server.Start())
	defer server.Process.Kill()
	_, each := runaways(w)
	wills := func() (n int) {
		all, err := processList()
		must(t, err)
		for _, p := range all {
			if p.parent != server.Process.Pid {
				continue
			}
			if line, _ := os.ReadFile("/proc/" + strconv.Itoa(p.pid) + "/cmdline"); strings.Contains(string(line), trapped) {
				n++
			}
		}
		return n
	}
	wanted := bereaved
	if level() == 2 {
		wanted = 0 // there the kernel ends all that is in the namespace
	}
	eventually(t, "what is to be left behind", func() bool {
		return len(sleepers(carriers(t, mark))) == bereaved*each && wills() == wanted
	})
	must(t, server.Process.Kill())
	_ = server.Wait()
	var left []string
	if within(time.Minute, func() bool { left = carriers(t, mark); return len(left) == 0 }) {
		return
	}
	t.Errorf("left are %q", left)
	all, err := procfs.PIDs()
	must(t, err)
	for _, pid := range all {
		if line, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline"); strings.Contains(string(line), mark) {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
}
