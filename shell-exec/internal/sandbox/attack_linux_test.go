package sandbox

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/mcptest"
)

// deedOf is the variable that makes the test binary do one thing and tell by its
// exit code whether that worked.
const deedOf = "SANDBOX_TEST_DEED"

// atOnce lets a process under the race detector end without waiting for a second.
const atOnce = "GORACE=atexit_sleep_ms=0"

// deeds are what a shell has no words for.
func deeds(name, with string) error {
	switch name {
	case "serve":
		return serve(with)
	case "tcp", "udp", "unix", "unixpacket":
		c, err := net.Dial(name, with)
		if err == nil {
			defer c.Close()
			if name == "udp" {
				_, err = c.Write([]byte("x"))
			}
		}
		return err
	case "unixgram":
		// sendmsg to a name, without ever connecting
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
		if err != nil {
			return err
		}
		return unix.Sendto(fd, []byte("x"), 0, &unix.SockaddrUnix{Name: with})
	case "socket":
		family, _ := strconv.Atoi(with)
		return closes(unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0))
	case "signal":
		pid, _ := strconv.Atoi(with)
		return unix.Kill(pid, 0)
	case "trace":
		pid, _ := strconv.Atoi(with)
		_, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
		return err
	case "reach":
		pid, err := strconv.Atoi(with)
		if err != nil {
			pid = os.Getpid()
		}
		for _, what := range reached(pid) {
			fmt.Println(what)
		}
		return nil
	case "await":
		return awaited(with)
	case "own":
		var pid, sig int
		if _, err := fmt.Sscan(with, &pid, &sig); err != nil {
			return err
		}
		fmt.Println(signalled(pid, unix.Signal(sig)))
		return nil
	case "serves":
		return servesItself(with)
	case "swaps":
		return swaps(with)
	case "waits":
		return waits(with)
	case "blocks":
		return blocks(with)
	case "joins":
		return joins(with)
	case "listens":
		return listens(with)
	case "storm":
		return storm()
	case "lease":
		return leases(with)
	case "multicast":
		return multicasts()
	case "flag":
		return flags(with)
	case "hide":
		return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	case "truncate":
		return truncated(with)
	case "objects":
		return objects()
	case "sibling":
		return sibling()
	case "unshare":
		return unix.Unshare(unix.CLONE_FS)
	}
	if name == "share" {
		return share()
	}
	if kind, ok := strings.CutPrefix(name, "hoard "); ok {
		return hoard(kind, with)
	}
	return fmt.Errorf("no deed %q", name)
}

// deed is a command of one deed.
func (w fixture) deed(t testing.TB, name, with string) Command {
	self, err := os.Executable()
	must(t, err)
	c := w.shell("")
	c.Path, c.Args = self, []string{"deed", name, with}
	c.Env = append(c.Env, deedOf+"=1", atOnce)
	c.Rules.Read = []*confine.Grant{mcptest.Grant(self)}
	return c
}

// free is c without restrictions.
func free(c Command) Command {
	c.Rules.UnsafeUnrestricted = true
	return c
}

// openBox is a sandbox that also starts what is not restricted.
func openBox(t testing.TB, home string) *Sandbox {
	t.Helper()
	newBox(t, home) // or the test says nothing
	s, err := New(Options{Mode: Auto, Level: level(), Home: home})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	return s
}

func TestWhatIsOutsideCannotBeReadOrChanged(t *testing.T) {
	server := strconv.Itoa(os.Getpid())
	t.Setenv("MCP_TEST_SECRET", "secret environment") // of this process, not of the command
	for _, script := range []string{
		"cat ~/.ssh/id_ed25519",
		"cat ~/.aws/credentials",
		"cat ~/.npmrc",
		"ls ~/.ssh",
		"cat $OUT/file",
		"ls $OUT",
		"cd $OUT && cat file",
		"ln -s $OUT/file link && cat link",
		"cat $OUT/../outside/file",
		"cat /proc/self/root$OUT/file",
		"cat /proc/" + server + "/root$OUT/file",
		"cat /proc/" + server + "/environ",
		"ls -l /proc/" + server + "/fd/ >/dev/null && readlink /proc/" + server + "/cwd",
		"echo x > $OUT/new",
		"echo x >> $OUT/file",
		": > $OUT/file",
		"rm $OUT/file",
		"mkdir $OUT/dir",
		"mv $OUT/file stolen",
		"mv file $OUT/",
		"ln $OUT/file hard",
		"ln file $OUT/hard",
		"mkfifo $OUT/fifo",
		"echo x > ~/new",
		"echo x >> ~/.gitconfig",
		"rm ~/.gitconfig",
		"echo x > ~/go/pkg/mod/module.file",
		"echo x > ~/.bashrc",
	} {
		w := newFixture(t)
		s := openBox(t, w.Home)
		c := w.shell(script)
		c.Env = append(c.Env, "OUT="+w.Outside)
		if got := run(t, s, free(c)); !got.ok() {
			t.Errorf("%s: does not work outside of the sandbox either, and so says nothing: %+v", script, got)
		}
		fresh := newFixture(t)
		c.Rules, c.Dir = fresh.rules(), fresh.Work
		c = fresh.shell(script)
		c.Env = append(c.Env, "OUT="+fresh.Outside)
		s = openBox(t, fresh.Home)
		before := snapshot(t, fresh)
		got := run(t, s, c)
		if got.ok() || strings.Contains(got.out, "secret") || strings.Contains(got.out, "strange content") {
			t.Errorf("%s: %+v", script, got)
		}
		if after := snapshot(t, fresh); after != before {
			t.Errorf("%s: changed what is outside:\n%s\n%s", script, before, after)
		}
	}
}

// TestNothingIsMadeThatRunsAsSomebodyElse makes files in the workspace that others, outside of the
// sandbox, would run as the user of this server.
func TestNothingIsMadeThatRunsAsSomebodyElse(t *testing.T) {
	w := newFixture(t)
	s := openBox(t, w.Home)
	attacks := []string{"chmod u+s file", "chmod 4755 file", "install -m 4755 file made", "mkdir d && chmod u+s d"}
	if os.Geteuid() == 0 {
		attacks = append(attacks, "chmod g+s file", "chmod 2755 file")
	}
	for _, script := range attacks {
		if got := run(t, s, free(w.shell(script+" && rm -rf made d && chmod u-s,g-s file"))); !got.ok() {
			t.Errorf("%s: does not work outside of the sandbox either, and so says nothing: %+v", script, got)
		}
		if got := run(t, s, w.shell(script)); got.ok() {
			t.Errorf("%s: %+v", script, got)
		}
		if got := run(t, s, w.shell(`rm -rf d; test -z "$(find . -perm /6000)"`)); !got.ok() {
			t.Errorf("after %s there is one: %+v", script, got)
		}
	}
	if got := run(t, s, w.shell("chmod 755 file && install -m 750 file made && mkdir -m 1777 t && tar cf a.tar file made && tar xpf a.tar")); !got.ok() {
		t.Errorf("other modes: %+v", got)
	}
}

// snapshot is everything outside of the workspace.
func snapshot(t testing.TB, w fixture) string {
	t.Helper()
	var out strings.Builder
	for _, dir := range []string{w.Outside, w.Home} {
		must(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if path == w.Work {
				return filepath.SkipDir
			}
			var content []byte
			if err == nil && d.Type().IsRegular() {
				content, err = os.ReadFile(path)
			}
			fmt.Fprintf(&out, "%s %s %q\n", path, d.Type(), content)
			return err
		}))
	}
	return out.String()
}

func TestWhatIsInsideCanBeUsed(t *testing.T) {
	w := newFixture(t)
	s := newBox(t, w.Home)
	for _, script := range []string{
		"cat file",
		"echo x > new && mkdir -p a/b && mv new a/b/ && ln a/b/new hard && ln -s a link && rm -r a",
		"chmod 600 file && touch -d @0 file",
		"mkfifo fifo && rm fifo",
		"echo x > $TMPDIR/file",
		"cat ~/.gitconfig",
		"cat ~/go/pkg/mod/module.file",
		"cat /etc/passwd /proc/self/status /proc/meminfo",
		"ls /usr/bin /etc /proc",
		"echo x > /dev/null; head -c 10 /dev/urandom /dev/zero",
		"kill -0 $$; sleep 10 & kill $!",
		"echo a | cat | cat",
	} {
		if got := run(t, s, w.shell(script)); !got.ok() {
			t.Errorf("%s: %+v", script, got)
		}
	}
}

// servers are sockets that somebody outside listens at.
func servers(t testing.TB, w fixture) map[string]string {
	t.Helper()
	at := map[string]string{}
	for _, network := range []string{"tcp", "unix"} {
		addr := map[string]string{"tcp": "127.0.0.1:0", "unix": w.Outside + "/socket"}[network]
		l, err := net.Listen(network, addr)
		must(t, err)
		t.Cleanup(func() { l.Close() })
		go func() {
			for c, err := l.Accept(); err == nil; c, err = l.Accept() {
				c.Close()
			}
		}()
		at[network] = l.Addr().String()
	}
	p, err := net.ListenPacket("udp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { p.Close() })
	at["udp"] = p.LocalAddr().String()
	g, err := net.ListenPacket("unixgram", w.Outside+"/datagrams")
	must(t, err)
	t.Cleanup(func() { g.Close() })
	at["unixgram"] = w.Outside + "/datagrams"
	return at
}

func TestNothingOutsideCanBeConnectedTo(t *testing.T) {
	w := newFixture(t)
	s := openBox(t, w.Home)
	at := servers(t, w)
	abstract, err := net.Listen("unix", "@mcp-sandbox-test-"+strconv.Itoa(os.Getpid()))
	must(t, err)
	defer abstract.Close()
	attempts := [][2]string{{"unix", abstract.Addr().String()}, {"socket", strconv.Itoa(unix.AF_ALG)}, {"socket", strconv.Itoa(unix.AF_PACKET)}, {"socket", strconv.Itoa(unix.AF_VSOCK)}}
	for _, network := range []string{"tcp", "udp", "unix", "unixgram"} {
		attempts = append(attempts, [2]string{network, at[network]})
	}
	for _, a := range attempts {
		if got := run(t, s, free(w.deed(t, a[0], a[1]))); !got.ok() {
			if a[0] == "socket" {
				continue // this kernel, or this user, has no such socket
			}
			t.Errorf("%v: does not work outside of the sandbox either, and so says nothing: %+v", a, got)
		}
		if level() == 2 && a[0] == "udp" {
			continue // a datagram can be sent in the command's own network; nobody gets it
		}
		if got := run(t, s, w.deed(t, a[0], a[1])); got.ok() {
			t.Errorf("%v: connected from inside", a)
		}
	}
}

func TestWithTheNetworkOnServersCanBeReachedAndStrangeSocketsCannot(t *testing.T) {
	w := newFixture(t)
	s := openBox(t, w.Home)
	at := servers(t, w)
	for _, network := range []string{"tcp", "udp"} {
		c := w.deed(t, network, at[network])
		c.Rules.Network = true
		if got := run(t, s, c); !got.ok() {
			t.Errorf("%s: %+v", network, got)
		}
	}
	abstract, err := net.Listen("unix", "@mcp-sandbox-test-on-"+strconv.Itoa(os.Getpid()))
	must(t, err)
	defer abstract.Close()
	c := w.deed(t, "unix", abstract.Addr().String())
	c.Rules.Network = true
	if got := run(t, s, c); got.ok() {
		t.Error("an abstract socket of another program was reached")
	}
}

func TestOtherProcessesAreOutOfReach(t *testing.T) {
	w := newFixture(t)
	s := openBox(t, w.Home)
	stranger, err := newCanary()
	must(t, err)
	defer stranger.close()
	other, err := s.Start(t.Context(), w.shell("sleep 100"), Files{})
	must(t, err)
	defer other.Close()
	for _, pid := range []int{os.Getpid(), stranger.process.Pid, other.PID()} {
		for _, deed := range []string{"signal", "trace"} {
			if got := run(t, s, free(w.deed(t, deed, strconv.Itoa(pid)))); !got.ok() {
				t.Errorf("%s: does not work outside of the sandbox either, and so says nothing: %+v", deed, got)
			}
			if got := run(t, s, w.deed(t, deed, strconv.Itoa(pid))); got.ok() {
				t.Errorf("%s of %d worked from inside", deed, pid)
			}
		}
	}
	if got := run(t, s, free(w.deed(t, "unshare", ""))); !got.ok() {
		t.Errorf("unshare: %+v", got)
	}
	if got := run(t, s, w.deed(t, "unshare", "")); got.ok() {
		t.Error("unshare worked from inside")
	}
}

func TestNothingIsInheritedButTheThreeStreams(t *testing.T) {
	w := newFixture(t)
	s := newBox(t, w.Home)
	secret, err := os.Open(w.Home + "/.ssh/id_ed25519")
	must(t, err)
	defer secret.Close()
	got := run(t, s, w.shell("ls /proc/$$/fd; env | grep -c SECRET; cat"))
	if got.out != "0\n1\n2\n0\n" {
		t.Errorf("%q", got.out)
	}
}

func TestAtLevelTwoModesTimesAndSharedFoldersAreOutOfReachToo(t *testing.T) {
	if level() != 2 {
		t.Skip("at level 2 only")
	}
	w := newFixture(t)
	s := openBox(t, w.Home)
	shared := filepath.Join("/dev/shm", "mcp-sandbox-test")
	must(t, os.WriteFile(shared, []byte("x"), 0o644))
	defer os.Remove(shared)
	for _, script := range []string{"chmod 600 $OUT/file", "touch -d @0 $OUT/file", "cat /dev/shm/mcp-sandbox-test"} {
		c := w.shell(script)
		c.Env = append(c.Env, "OUT="+w.Outside)
		if got := run(t, s, free(c)); !got.ok() {
			t.Errorf("%s: does not work outside of the sandbox either, and so says nothing: %+v", script, got)
		}
		if got := run(t, s, c); got.ok() {
			t.Errorf("%s: %+v", script, got)
		}
	}
	if got := run(t, s, w.shell("echo x > /tmp/private && echo x > /dev/shm/private && cat /tmp/private")); !got.ok() {
		t.Errorf("a private /tmp: %+v", got)
	}
	if _, err := os.Stat("/tmp/private"); err == nil {
		t.Error("/tmp is not private")
	}
	offline := w.shell("cat /tmp/private /dev/shm/private")
	offline.Rules.Network = false
	if got := run(t, s, offline); got.out != "x\nx\n" {
		t.Errorf("what one command leaves the next one finds: %+v", got)
	}
	if got := run(t, openBox(t, w.Home), offline); got.ok() {
		t.Errorf("so does one of another server: %+v", got)
	}
	other, err := s.Start(t.Context(), w.shell("exec sleep 100"), Files{})
	must(t, err)
	defer other.Close()
	if got := run(t, s, w.shell(`for p in /proc/[0-9]*; do echo "${p#/proc/}"; done; echo "$$"`)); !strings.HasSuffix(got.out, "\n") || len(strings.Fields(got.out)) != 2 || strings.Fields(got.out)[0] != strings.Fields(got.out)[1] {
		t.Errorf("a command sees other processes than itself: %+v", got)
	}
}
