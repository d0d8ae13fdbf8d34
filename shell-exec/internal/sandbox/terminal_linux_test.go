package sandbox

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// typist types at a terminal and reads what it shows.
type typist struct {
	t     *testing.T
	ours  *os.File
	mu    sync.Mutex
	shown bytes.Buffer
	read  int
}

func (y *typist) watch() {
	for b := make([]byte, 4096); ; {
		n, err := y.ours.Read(b)
		y.mu.Lock()
		y.shown.Write(b[:n])
		y.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// types waits for an answer that was not there before.
func (y *typist) types(keys, answer string) {
	y.t.Helper()
	_, err := y.ours.WriteString(keys)
	must(y.t, err)
	eventually(y.t, strings.TrimSpace(keys)+" → "+answer, func() bool {
		y.mu.Lock()
		defer y.mu.Unlock()
		at := strings.Index(y.shown.String()[y.read:], answer)
		if at >= 0 {
			y.read += at + len(answer)
		}
		return at >= 0
	})
}

// TestAShellAtATerminalHasJobControl also in the sandbox, and no other terminal.
func TestAShellAtATerminalHasJobControl(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("SKIPPED: bash is not here")
	}
	w := newFixture(t)
	s := newBox(t, w.Home)
	line, err := s.Terminal()
	must(t, err)
	ours, theirs := line.Ours, line.Theirs
	defer ours.Close()
	must(t, pty.Setsize(ours, &pty.Winsize{Rows: 40, Cols: 100}))
	others, stranger, err := pty.Open()
	must(t, err)
	defer others.Close()
	defer stranger.Close()
	c := w.shell("")
	c.Path, c.Args, c.Terminal = bash, []string{"bash", "--norc", "--noprofile", "--noediting", "-i"}, true
	c.Env = append(c.Env, "TERM=dumb", "STRANGER="+stranger.Name()) // at level 2 that is a name of nothing, or of its own
	tree, err := s.Start(t.Context(), c, Files{Stdin: theirs, Stdout: theirs, Stderr: theirs})
	must(t, err)
	defer func() { must(t, tree.Close()) }()
	theirs.Close()
	y := &typist{t: t, ours: ours}
	go y.watch()
	y.types("echo begin-$((1+1))\n", "begin-2")
	y.types("tty | sed s/^/at-/\n", "at-/dev/pts/")
	y.types("stty size | tr ' ' -\n", "40-100")
	first, second := token(), token() // a job is no job before it has become its program
	asleep := func(mark string) func() bool {
		return func() bool { return len(sleepers(carriers(t, mark))) == 1 }
	}
	y.types("sleep "+first+" &\n", "[1]")
	eventually(t, "the first sleeper", asleep(first))
	y.types("jobs\n", first+" &")
	y.types("fg\n", "sleep "+first)
	eventually(t, "the job in front", func() bool {
		group, err := unix.IoctlGetInt(int(ours.Fd()), unix.TIOCGPGRP)
		return err == nil && group != tree.PID()
	})
	y.types("\x1a", "Stopped")
	y.types("kill -9 %1; wait; echo over-$((2+3))\n", "over-5")
	y.types("read word </dev/tty; echo got-$word-$((3+4))\nhello\n", "got-hello-7")
	y.types("echo own-$((4+5)) >$(tty)\n", "own-9")
	y.types("sleep "+second+"\n", "sleep")
	eventually(t, "the second sleeper", asleep(second))
	y.types("\x03", "^C")
	y.types("echo after-$((5+6))\n", "after-11")
	if level() == 1 {
		y.types("{ echo x >$STRANGER || echo refused-$((6+7)); } 2>/dev/null\n", "refused-13")
	}
	y.types("exit 3\n", "exit")
	if status := tree.Wait(); status.Code != 3 {
		t.Errorf("%+v", status)
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	if text := y.shown.String(); strings.Contains(text, "job control") || strings.Contains(text, "process group") {
		t.Errorf("%q", text)
	}
}

// TestATerminalIsOfOneCommand has a command try every terminal that it can name, while another one has one.
func TestATerminalIsOfOneCommand(t *testing.T) {
	if level() != 2 {
		t.Skip("at level 2 only; at level 1 /dev/pts is that of the machine")
	}
	w := newFixture(t)
	s := newBox(t, w.Home)
	begin := func(script string) (ours *os.File, tree *Tree) {
		line, err := s.Terminal()
		must(t, err)
		t.Cleanup(func() { line.Ours.Close() })
		defer line.Theirs.Close()
		c := w.shell(script)
		c.Terminal = true
		tree, err = s.Start(t.Context(), c, Files{Stdin: line.Theirs, Stdout: line.Theirs, Stderr: line.Theirs})
		must(t, err)
		t.Cleanup(func() { must(t, tree.Close()) })
		return line.Ours, tree
	}
	const forge = `for n in 0 1 2 3; do echo forged >/dev/pts/$n; timeout 1 head -c 1 </dev/pts/$n; done 2>/dev/null; exec 3<>/dev/pts/ptmx && ls /dev/pts`
	first, _ := begin("echo begun; read -r line; echo got-$line")
	y := &typist{t: t, ours: first}
	go y.watch()
	y.types("", "begun")
	other, tree := begin(forge)
	z := &typist{t: t, ours: other}
	go z.watch()
	z.types("", "forged") // in its own
	tree.Wait()
	if got := run(t, s, w.shell(forge)); got.out != "0\nptmx\n" || !got.ok() { // 0 is what it has made just now
		t.Errorf("a command without a terminal: %+v", got)
	}
	y.types("typed\n", "got-typed")
	y.mu.Lock()
	defer y.mu.Unlock()
	if text := y.shown.String(); strings.Contains(text, "forged") {
		t.Errorf("written by another command: %q", text)
	}
}
