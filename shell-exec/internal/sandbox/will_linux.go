package sandbox

import (
	"os"
	"syscall"
)

// will is what is done when this process ends without having ended a command,
// killed for one: a shell waits for that and does it. It is one more process, and
// so only for commands that live for a while.
type will struct {
	shell *os.Process
	keep  *os.File // the shell reads the other end, and learns when nobody keeps this one
}

// trapped are signals to a command's whole tree: those are not for the shell.
const trapped = "trap '' HUP INT QUIT TERM USR1 USR2 ALRM PIPE; read -r nothing; "

// newWill starts the shell on the calling thread, and so in its domain.
func newWill(script string, args ...string) (*will, error) {
	in, keep, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	argv := append([]string{"sh", "-c", trapped + script, "sh"}, args...)
	p, err := os.StartProcess("/bin/sh", argv, &os.ProcAttr{
		Dir: "/", Env: []string{}, Files: []*os.File{in, nil, nil}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		keep.Close()
		return nil, err
	}
	return &will{p, keep}, nil
}

// revoke lets nothing be done.
func (w *will) revoke() {
	if w == nil {
		return
	}
	_ = w.shell.Kill()
	_, _ = w.shell.Wait()
	w.keep.Close()
}

// pid is the number of the shell; 0 for none.
func (w *will) pid() int {
	if w == nil {
		return 0
	}
	return w.shell.Pid
}
