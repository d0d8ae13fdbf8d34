package confine_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
)

// With /proc and /dev themselves allowed, nothing leads out of them, and nothing
// endless is opened.
func TestTheMagicOfProcAndDevIsRefused(t *testing.T) {
	pid := os.Getpid()
	eachMechanism(t, func(t *testing.T, by confine.Mechanism) {
		for _, o := range []confine.Options{{}, {Symlinks: confine.Within}} {
			r, err := confine.OpenBy([]string{"/proc", "/dev"}, o, by)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			link := fault.Forbidden
			if o.Symlinks == confine.Within {
				link = fault.OutsideAllowed
			}
			for _, c := range []struct {
				what, name string
				want       fault.Code
			}{
				{"the root of a process", fmt.Sprintf("/proc/%d/root/etc/passwd", pid), link},
				{"the directory of a process", fmt.Sprintf("/proc/%d/cwd/confine.go", pid), link},
				{"the program of a process", fmt.Sprintf("/proc/%d/exe", pid), link},
				{"the same through self", "/proc/self/root/etc/passwd", link},
				{"an endless device", "/dev/zero", fault.ParamInvalid},
				{"a device", "/dev/null", fault.ParamInvalid},
			} {
				got, err := read(r, c.name)
				outcome(t, c.what, got, err, c.want)
			}
		}
	})
}

func TestTheEnvironmentOfAProcessIsASecret(t *testing.T) {
	eachMechanism(t, func(t *testing.T, by confine.Mechanism) {
		name := fmt.Sprintf("%d/environ", os.Getpid())
		open, err := confine.OpenBy([]string{"/proc"}, confine.Options{}, by)
		if err != nil {
			t.Fatal(err)
		}
		defer open.Close()
		if _, err := read(open, name); err != nil {
			t.Fatalf("the attack does not run: %v", err)
		}
		r, err := confine.OpenBy([]string{"/proc"}, confine.Options{DenySecrets: true}, by)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if _, err := read(r, name); !errors.Is(err, fault.OutsideAllowed) {
			t.Errorf("%v, want SECURITY_002", err)
		}
	})
}

// A lease makes open wait for its holder, or answer EAGAIN for as long as the
// holder likes (fcntl(2)): trying again for ever would hang the call.
func TestALeasedFileIsBusyAtOnce(t *testing.T) {
	eachMechanism(t, func(t *testing.T, by confine.Mechanism) {
		base := fixture(t, "allow/f")
		f, err := os.OpenFile(base+"/allow/f", os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_WRLCK); err != nil {
			t.Skipf("this file system has no leases: %v", err)
		}
		_, err = read(roots(t, by, confine.Options{}, base), "f")
		if !errors.Is(err, fault.Unavailable) {
			t.Errorf("%v, want SYSTEM_002", err)
		}
	})
}

// A file that looks regular but waits for data answers instead of waiting.
func TestAReadNeverWaits(t *testing.T) {
	const name = "/proc/kmsg"
	if f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0); err != nil {
		t.Skip("only root may open ", name)
	} else {
		f.Close()
	}
	eachMechanism(t, func(t *testing.T, by confine.Mechanism) {
		r, err := confine.OpenBy([]string{"/proc"}, confine.Options{}, by)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		p, err := r.Parse("kmsg")
		if err != nil {
			t.Fatal(err)
		}
		f, _, err := p.Open()
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := io.ReadAll(f); !errors.Is(fault.From(err), fault.Unavailable) {
			t.Errorf("reading to the end of what there is: %v, want SYSTEM_002", err)
		}
	})
}

func TestTheKernelsRefusalIsUsedWhereThereIsOne(t *testing.T) {
	fd, err := unix.Openat2(unix.AT_FDCWD, "/", &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC})
	if err != nil {
		t.Skip("no openat2 here")
	}
	unix.Close(fd)
	if !wholePathsWork(t) {
		t.Error("openat2 is there but is not used")
	}
}
