package sandbox

import (
	"errors"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

// TestNobodyIsSaidToBeLeftWhileProcessesComeToBe forks during a look that sees
// nobody: what it has forked could have been missed.
func TestNobodyIsSaidToBeLeftWhileProcessesComeToBe(t *testing.T) {
	looks := 0
	forking := func(times int) func() ([]process, error) {
		looks = 0
		return func() ([]process, error) {
			looks++
			if looks <= times {
				must(t, exec.Command("/bin/true").Run())
			}
			return nil, nil
		}
	}
	if out, err := settled(forking(3)); err != nil || len(out) != 0 || looks < 4 {
		t.Errorf("%v, %v after %d looks", out, err, looks)
	}
	if _, err := settled(forking(maxLooks)); !errors.Is(err, errUnsettled) || looks != maxLooks {
		t.Errorf("%v after %d looks", err, looks)
	}
}

// TestWhatHopsBetweenTwoLooksIsFound keeps everybody from looking while a command
// moves through three sessions and as many processes, each of which ends: nobody
// ever saw the parent of what is left in the end.
func TestWhatHopsBetweenTwoLooksIsFound(t *testing.T) {
	w := newFixture(t)
	for name, s := range boxes(t, w.Home) {
		mark := token()
		fifo := w.Work + "/go-" + mark
		must(t, unix.Mkfifo(fifo, 0o600))
		clear := "env -i"
		if s.mode == Off {
			clear = "env" // without Landlock the mark in the environment is all that is known
		}
		tree, err := s.Start(t.Context(), w.shell(`read -r go <"$2"; setsid $3 sh -c "setsid sh -c 'setsid sleep $1 & exit 0' & exit 0" & exit 0`, mark, fifo, clear), Files{})
		must(t, err)
		eventually(t, "the command", func() bool { return tree.Usage().Processes == 1 })
		hopped := func() bool {
			select {
			case <-tree.Exited():
				return len(carriers(t, mark)) == 1 && len(sleepers(carriers(t, mark))) == 1
			default:
				return false
			}
		}
		func() {
			tree.life.Lock()
			defer tree.life.Unlock()
			must(t, os.WriteFile(fifo, []byte("go\n"), 0))
			eventually(t, "the last hop", hopped)
		}()
		if n := tree.Usage().Processes; n != 1 {
			t.Errorf("%s: %d processes are seen", name, n)
		}
		must(t, tree.Kill())
		if left := carriers(t, mark); len(left) > 0 {
			t.Errorf("%s: left are %q", name, left)
		}
		must(t, tree.Close())
	}
}
