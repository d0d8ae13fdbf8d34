package kernels

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/mcptest"
)

func TestMain(m *testing.M) {
	switch word := append(os.Args, "")[1]; {
	case os.Getpid() == 1:
		boot()
	case word == "attacks":
		exit(runAttacks(os.Args[2], os.Args[3]))
	case word == "attack":
		exit(attacker(os.Args[2:]))
	case word == "sleep":
		time.Sleep(10 * time.Minute)
	default:
		os.Exit(m.Run())
	}
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// row is a kernel that users have, in a guest.
type row struct {
	name    string // in documents and in known.txt
	arch    string // as Debian and Go call it
	meta    string // Debian's package
	lsm     string // the security modules, where they are not those of the package
	minutes int
}

var rows = []row{
	{"6.1", "amd64", "linux-image-cloud-amd64", "", 60},
	{"6.12", "amd64", "linux-image-6.12-cloud-amd64", "", 60},
	{"6.12 without Landlock", "amd64", "linux-image-6.12-cloud-amd64", "lockdown,yama,integrity,apparmor,bpf", 60},
	{"6.12 arm64", "arm64", "linux-image-6.12-cloud-arm64", "", 120},
}

// thisKernel is the name of whichever kernel this machine has.
const thisKernel = "this"

// chosen is the pattern of what is run in guests: with . all, and without one no guest is
// booted, which would take minutes.
func chosen() string { return os.Getenv("KERNELS") }

// TestThisKernel runs everything on the kernel of this machine, but not the test binaries
// where no other kernel runs them: they are run here anyway.
func TestThisKernel(t *testing.T) {
	base, err := os.MkdirTemp(place(t), "mcp-kernels-")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	must(t, os.Chmod(base, 0o755))
	p := plan{Programs: base + "/programs", Only: cmp.Or(chosen(), "^[a-z]+ [^t]")}
	programsFor(t, runtime.GOARCH, p.Programs)
	if os.Getuid() == 0 {
		p.Accounts = append(p.Accounts, account{"root", 0, base + "/root"})
		p.Accounts = append(p.Accounts, account{"user", 65534, base + "/user"})
	} else {
		t.Log("SKIPPED: this is no root: nothing is run as root")
		p.Accounts = append(p.Accounts, account{"user", uint32(os.Getuid()), base + "/user"})
	}
	for _, a := range p.Accounts {
		must(t, a.settle())
	}
	var all []done
	must(t, p.run(func(d done) error { all = append(all, d); return nil }))
	judge(t, thisKernel, p, all)
}

// place is where homes may be: not where a namespace has something of its own.
func place(t *testing.T) string {
	t.Helper()
	if os.Getuid() == 0 {
		return "/home"
	}
	dir, err := os.UserCacheDir()
	must(t, err)
	must(t, os.MkdirAll(dir, 0o755))
	return dir
}

func TestKernels(t *testing.T) {
	if chosen() == "" {
		t.Skip("SKIPPED: booting kernels takes minutes: run scripts/kernels")
	}
	for _, r := range rows {
		t.Run(strings.ReplaceAll(r.name, " ", "-"), r.test)
	}
}

// test boots the kernel of a row and judges what was run on it.
func (r row) test(t *testing.T) {
	emulator := map[string]string{"amd64": "qemu-system-x86_64", "arm64": "qemu-system-aarch64"}[r.arch]
	if _, err := exec.LookPath(emulator); err != nil {
		t.Skipf("SKIPPED: %s is not here", emulator)
	}
	d := openDebian(t, r.arch)
	name, version := d.kernel(t, r.meta)
	packages := d.unpacked(t, append([]string{name}, userland...)...)
	dir := t.TempDir()
	p := plan{
		Programs: "/opt/programs",
		Accounts: []account{{"root", 0, "/root"}, {"user", 1000, "/home/user"}},
		Only:     chosen(),
	}
	programsFor(t, r.arch, dir+"/programs")
	image(t, packages, packages[name]+"/lib/modules/"+version, dir+"/programs", p, dir+"/initramfs")
	began := time.Now()
	all := r.boot(t, emulator, packages[name]+"/boot/vmlinuz-"+version, dir+"/initramfs")
	t.Logf("Linux %s: %d results in %.0f s", version, len(all), time.Since(began).Seconds())
	judge(t, r.name, p, all)
	if lines, complete := said(p, all); complete {
		mcptest.Golden(t, r.file(), lines)
	}
}

// boot runs a guest to its end and is what it reported. It is emulated: KVM, where there
// is one, may not work within another machine, and then a guest stands still.
func (r row) boot(t *testing.T, emulator, kernel, initramfs string) []done {
	t.Helper()
	machine := map[string][]string{
		"amd64": {"-machine", "q35", "-append", r.parameters("ttyS0")},
		"arm64": {"-machine", "virt", "-append", r.parameters("ttyAMA0")},
	}[r.arch]
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(r.minutes)*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, emulator, append(machine,
		"-accel", "tcg,thread=multi", "-cpu", map[string]string{"amd64": "max,la57=off", "arm64": "max,pauth-impdef=on"}[r.arch], "-smp", "2", "-m", "2048",
		"-kernel", kernel, "-initrd", initramfs, "-nographic", "-nodefaults", "-serial", "stdio", "-no-reboot")...)
	cmd.SysProcAttr = &unix.SysProcAttr{Pdeathsig: unix.SIGKILL}
	out, err := cmd.StdoutPipe()
	must(t, err)
	cmd.Stderr = os.Stderr
	must(t, cmd.Start())
	all, console := listen(t, bufio.NewReader(out))
	_ = cmd.Wait()
	if n := len(all); n > 0 && all[n-1].Job == "end" {
		return all[:n-1]
	}
	const most = 6000
	t.Errorf("the guest did not come to its end (%v); the console ends with\n%s", cmd.ProcessState, console[max(0, len(console)-most):])
	return all
}

func (r row) parameters(tty string) string {
	line := "console=" + tty + " panic=-1 quiet loglevel=3"
	if r.lsm != "" {
		line += " lsm=" + r.lsm
	}
	return line
}

// listen reads a console: the results on it, and all else.
func listen(t *testing.T, in *bufio.Reader) (all []done, rest string) {
	t.Helper()
	var others strings.Builder
	for {
		line, err := in.ReadString('\n')
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), strings.TrimSpace(console)); ok {
			var d done
			if err := json.Unmarshal([]byte(text), &d); err != nil {
				t.Errorf("%v: %q", err, text)
			}
			t.Logf("%6.1f s  %-5s %-30s exit %d", d.Seconds, d.User, d.Job, d.Exit)
			all = append(all, d)
		} else {
			others.WriteString(line)
		}
		if err != nil {
			return all, others.String()
		}
	}
}
