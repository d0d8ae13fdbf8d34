package monitor

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const roleName = "MONITOR_TEST_ROLE"

func TestMain(m *testing.M) {
	if role, file, ok := strings.Cut(os.Getenv(roleName), " "); ok {
		play(role, file)
		return
	}
	os.Exit(m.Run())
}

// play is what a process of a tree does: it says "ready" when it is done, and stays until its input ends.
func play(role, file string) {
	switch role {
	case "burn":
		for begun := processor(); processor()-begun < 100*time.Millisecond; {
		}
	case "hold":
		_, _ = unix.Mmap(-1, 0, 64<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_POPULATE)
	case "write":
		_ = os.WriteFile(file, bytes.Repeat([]byte("x"), 10<<20), 0o600)
	case "listen":
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return
		}
		defer l.Close()
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			return
		}
		defer c.Close()
		u, err := net.Listen("unix", file)
		if err != nil {
			return
		}
		defer u.Close()
	case "children":
		for range 2 {
			c := exec.Command("/proc/self/exe")
			c.Env = append(os.Environ(), roleName+"=burn -")
			_, _ = c.Output() // it has no input: it burns and ends
		}
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// processor is what this process has used of it.
func processor() time.Duration {
	r, _ := look(os.Getpid(), CPU)
	return r.own
}

// tree is processes that a test started, and nothing else.
type tree []int

func (t tree) PIDs() []int           { return t }
func (t tree) Gone() <-chan struct{} { return nil }

// actor starts a process that waits for a line, plays its role, says so, and stays.
func actor(t *testing.T, role string) (pid int, act func()) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file")
	c := exec.Command("/bin/sh", "-c", `read line; exec "$0"`, "/proc/"+strconv.Itoa(os.Getpid())+"/exe")
	c.Env = append(os.Environ(), roleName+"="+role+" "+file)
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = in.Close(); _ = c.Wait() })
	return c.Process.Pid, func() {
		t.Helper()
		_, _ = io.WriteString(in, "go\n")
		if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
			t.Fatalf("%s: %q, %v", role, line, err)
		}
	}
}

// seen is a first sample of a process that waits, and one after it has played its role.
func seen(t *testing.T, role string) (before, after Sample) {
	t.Helper()
	pid, act := actor(t, role)
	y := newTally(systemEyes(), tree{pid}, All)
	for before.Processes == 0 { // as long as the number could be another's
		before = y.sample(time.Now())
	}
	act()
	return before, y.sample(time.Now())
}

func TestATreeThatIsKnownIsSeenAsItIs(t *testing.T) {
	for _, c := range []struct {
		role  string
		right func(before, after Sample) bool
	}{
		{"burn", func(_, s Sample) bool { return s.CPU.Time >= 100*time.Millisecond && s.CPU.Percent > 0 }},
		{"hold", func(b, s Sample) bool { return s.Memory.Bytes-b.Memory.Bytes >= 64<<20 && s.Memory.Bytes < 256<<20 }},
		{"write", func(b, s Sample) bool { return s.IO.Written-b.IO.Written >= 10<<20 && s.IO.Written < 11<<20 }},
		{"listen", func(_, s Sample) bool { return s.Network.TCP == 1 && s.Network.Listening == 1 && s.Network.Unix == 1 }},
		{"children", func(_, s Sample) bool {
			return s.Processes == 1 && s.CPU.Time >= 200*time.Millisecond && s.CPU.Percent > 0
		}},
	} {
		t.Run(c.role, func(t *testing.T) {
			t.Parallel()
			before, after := seen(t, c.role)
			if after.Reported != All || before.Reported|CPU != All || after.Network.Own {
				t.Errorf("told %v and %v, own network %t", before.Reported.Names(), after.Reported.Names(), after.Network.Own)
			}
			if !c.right(before, after) {
				t.Errorf("before %+v\nafter  %+v", before, after)
			}
		})
	}
}

func TestLookingLeavesNoDescriptors(t *testing.T) {
	count := func() int {
		all, _ := os.ReadDir("/proc/self/fd")
		return len(all)
	}
	y := newTally(systemEyes(), tree{os.Getpid(), 1 << 22}, All)
	y.sample(time.Now())
	before := count()
	for range 50 {
		if s := y.sample(time.Now()); s.Processes != 1 {
			t.Fatalf("%d processes are seen", s.Processes)
		}
	}
	if after := count(); after > before {
		t.Errorf("%d descriptors, before %d", after, before)
	}
}

// BenchmarkLook is one look at a tree of 50 processes, without what it takes to list them; %core is the part of a core
// that looks at the default interval take.
func BenchmarkLook(b *testing.B) {
	var t tree
	for range 50 {
		c := exec.Command("sleep", "1000")
		if err := c.Start(); err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
		t = append(t, c.Process.Pid)
	}
	for newTally(systemEyes(), t, CPU).sample(time.Now()).Processes < len(t) { // as long as they are too young
	}
	for _, m := range []Metrics{CPU | Memory, CPU | Memory | IO, All} {
		b.Run(strings.Join(m.Names(), "+"), func(b *testing.B) {
			y := newTally(systemEyes(), t, m)
			b.ReportAllocs()
			begun := spent()
			for b.Loop() {
				if s := y.sample(time.Now()); s.Processes != 50 {
					b.Fatalf("%d processes are seen", s.Processes)
				}
			}
			b.ReportMetric(100*(spent()-begun).Seconds()/float64(b.N)/DefaultInterval.Seconds(), "%core")
		})
	}
}

// spent is the processor time of this process: a busy machine does not lengthen it.
func spent() time.Duration {
	var u unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func TestANetworkOfItsOwnIsToldAsSuch(t *testing.T) {
	c := exec.Command("sleep", "1000")
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWUSER}
	if err := c.Start(); err != nil {
		t.Skipf("no namespaces here: %v", err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	s, ok := sockets([]int{c.Process.Pid})
	if !ok || !s.Own || s != (Sockets{Own: true}) {
		t.Errorf("%+v, told %t", s, ok)
	}
}
