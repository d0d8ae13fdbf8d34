package restrict

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// TestAPrivateProcessIsOutOfReachOfItsUser looks at two processes of an ordinary user, as
// that user: one that is private and one that is not.
func TestAPrivateProcessIsOutOfReachOfItsUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("SKIPPED: only root starts processes of others")
	}
	user := &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	for _, private := range []bool{false, true} {
		server := exec.Command("/proc/self/exe")
		server.Env = []string{fmt.Sprintf("%s=%t", waiting, private)}
		server.SysProcAttr = user
		in, err := server.StdinPipe()
		must(t, err)
		out, err := server.StdoutPipe()
		must(t, err)
		must(t, server.Start())
		ready := make([]byte, 1)
		_, err = out.Read(ready)
		must(t, err)
		dir := fmt.Sprintf("/proc/%d/", server.Process.Pid)
		for _, script := range []string{"cat $0environ", "readlink $0fd/0", "head -c 0 $0mem", "cat $0task/$1/environ", "cat $0maps"} {
			look := exec.Command("/bin/sh", "-c", script, dir, fmt.Sprint(server.Process.Pid))
			look.SysProcAttr = user
			if out, err := look.CombinedOutput(); (err == nil) == private {
				t.Errorf("private %t, %s: %v %s", private, script, err, out)
			}
		}
		in.Close()
		if err := server.Wait(); err != nil {
			t.Errorf("private %t: it could not use its own files: %v", private, err)
		}
	}
}

// waiting is the variable that makes the test binary wait until its input ends.
const waiting = "RESTRICT_TEST_WAIT"

func init() {
	private, set := os.LookupEnv(waiting)
	if !set {
		return
	}
	if private == "true" {
		Private()
	}
	os.Stdout.Write([]byte("x"))
	os.Stdin.Read(make([]byte, 1))
	if null, err := os.Open(os.DevNull); err != nil {
		os.Exit(1)
	} else if _, err := os.Open(fmt.Sprintf("/proc/self/fd/%d", null.Fd())); err != nil {
		os.Exit(2)
	}
	os.Exit(0)
}
