//go:build unix

package process

import (
	"bytes"
	"context"
	"crypto/rand"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
)

// A person's start-up files may wait for something that never comes.
const (
	toLogIn  = 5 * time.Second
	toFinish = 500 * time.Millisecond
)

// LoginPath is the PATH of the person's login shell, which a server started by a desktop does not have. Nothing else of
// that shell's environment is taken. server is the environment of this process.
func LoginPath(ctx context.Context, server []string) (string, error) {
	environment := Environment{Server: server, Pass: []string{"LOGNAME"}}.login()
	shell := environment["SHELL"]
	if !filepath.IsAbs(shell) {
		shell = "/bin/sh"
	}
	ctx, cancel := context.WithTimeout(ctx, toLogIn)
	defer cancel()
	mark := rand.Text()
	cmd := exec.CommandContext(ctx, shell, "-i", "-l", "-c", "echo "+mark+"; printenv PATH; echo "+mark)
	cmd.Env, cmd.Dir, cmd.WaitDelay = Entries(environment), environment["HOME"], toFinish
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // not reaped yet: nobody else has the number
	out, err := cmd.Output()
	parts := bytes.Split(out, []byte(mark))
	if len(parts) != 3 {
		return "", fault.New(fault.Misconfigured, "the login shell "+shell+" did not tell its PATH",
			"Set PATH for the server, or leave --login-path out").Because(err)
	}
	path := strings.TrimSpace(string(parts[1]))
	if path == "" || strings.ContainsAny(path, "\n\x00") {
		return "", fault.New(fault.Misconfigured, "the login shell "+shell+" has no usable PATH",
			"Set PATH for the server, or leave --login-path out")
	}
	return path, nil
}

// login is the environment a login shell begins with.
func (e Environment) login() map[string]string {
	all := e.server(append(strings.Fields(passed), e.Pass...))
	all["TERM"] = "dumb"
	return all
}
