package kernels

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// plan is what is to be run on one kernel, and where.
type plan struct {
	Programs string // directory of the servers and test binaries
	Accounts []account
	Only     string // a pattern of what to run: an account and the name of a job
}

// account is a user with a home directory.
type account struct {
	Name string
	UID  uint32
	Home string
}

// job is one program that is run for one account.
type job struct {
	Name string
	Args []string
}

// done is what became of a job. It crosses the console of a guest as one line.
type done struct {
	User    string
	Job     string
	Exit    int
	Out     string
	Seconds float64
}

// mark is in the environment of everything that is run here, and so in that of the
// servers. No command may see it.
const mark = "KERNELS_SECRET=c0ffee-of-the-server"

// console is how lines of results begin among what a kernel prints.
const console = "@result "

// run runs everything for everybody.
func (p plan) run(report func(done) error) error {
	for _, a := range p.Accounts {
		for _, j := range p.jobs(a) {
			if err := report(a.run(j)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p plan) jobs(a account) []job {
	work := filepath.Join(a.Home, "work")
	server := func(name string, args ...string) []string {
		return append([]string{filepath.Join(p.Programs, name)}, append(args, "--allow-path", work)...)
	}
	var all []job
	for _, d := range doctors() {
		for _, mode := range []string{"auto", "required"} {
			args := append(server(d.server, "doctor", "--json", "--host", "none"), d.flags(mode)...)
			all = append(all, job{d.String() + " " + mode, args})
		}
	}
	for _, s := range stories {
		all = append(all, job{"story " + s.name, []string{"/bin/sh", "-euc", "PATH=" + p.Programs + ":$PATH; cd " + work + "\n" + s.script}})
	}
	self := filepath.Join(p.Programs, "kernels.test")
	for _, level := range levels {
		all = append(all, job{"attacks " + level, []string{self, "attacks", level, p.Programs}})
	}
	for _, s := range suites() {
		all = append(all, job{"test " + s.Name, []string{filepath.Join(p.Programs, s.Name+".test"), "-test.v", "-test.timeout=28m", "-test.run=" + s.Run}})
	}
	only := regexp.MustCompile(p.Only)
	return slices.DeleteFunc(all, func(j job) bool { return !only.MatchString(a.Name + " " + j.Name) })
}

// run runs a program and keeps the end of what it prints.
func (a account) run(j job) done {
	began := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, j.Args[0], j.Args[1:]...)
	cmd.Dir = a.Home
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME=" + a.Home, "TMPDIR=/tmp", "USER=" + a.Name, mark}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if a.UID != uint32(os.Getuid()) {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: a.UID, Gid: a.UID}
	}
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGQUIT) } // a program of ours says where it is
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	const most = 200_000
	if len(out) > most {
		out = append([]byte("…\n"), out[len(out)-most:]...)
	}
	if err != nil && cmd.ProcessState == nil || errors.Is(err, exec.ErrWaitDelay) {
		out = append(out, err.Error()...)
	}
	exit := -1
	if cmd.ProcessState != nil {
		exit = cmd.ProcessState.ExitCode()
	}
	return done{a.Name, j.Name, exit, string(out), time.Since(began).Seconds()}
}

// settle makes the home of an account, with a workspace and what else a home has.
func (a account) settle() error {
	var err error
	for _, dir := range []string{a.Home, filepath.Join(a.Home, "work"), filepath.Join(a.Home, ".cache")} {
		err = errors.Join(err, os.MkdirAll(dir, 0o755), os.Chown(dir, int(a.UID), int(a.UID)))
	}
	return err
}

// boot is the first process of a guest. It never returns: a kernel without a first
// process panics, and qemu ends.
func boot() {
	err := start()
	if err == nil {
		err = serial()
	}
	if err != nil {
		fmt.Println("kernels: the guest failed:", err)
	}
	unix.Sync()
	_ = unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
	select {}
}

// start moves everything from the initramfs, in which no process can have another root
// directory, to a file system in which it can, and mounts what a system has.
func start() error {
	if err := mounted("tmpfs", "/new", "mode=755"); err != nil {
		return err
	}
	entries, err := os.ReadDir("/")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == "new" {
			continue
		}
		if err := carry("/"+e.Name(), "/new/"+e.Name()); err != nil {
			return err
		}
	}
	if err := errors.Join(os.Chdir("/new"), unix.Mount(".", "/", "", unix.MS_MOVE, ""), unix.Chroot("."), os.Chdir("/")); err != nil {
		return err
	}
	for _, m := range [][3]string{
		{"proc", "/proc"}, {"sysfs", "/sys"}, {"devtmpfs", "/dev"}, {"devpts", "/dev/pts", "ptmxmode=666,gid=5,mode=620"},
		{"tmpfs", "/dev/shm", "mode=1777"}, {"tmpfs", "/tmp", "mode=1777"}, {"tmpfs", "/run", "mode=755"},
		{"cgroup2", "/sys/fs/cgroup"}, {"securityfs", "/sys/kernel/security"},
	} {
		if err := mounted(m[0], m[1], m[2]); err != nil {
			return err
		}
	}
	for name, to := range map[string]string{"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2"} {
		if err := os.Symlink(to, "/dev/"+name); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
	}
	return errors.Join(
		os.WriteFile("/proc/sys/kernel/printk", []byte("1 1 1 1"), 0o644),                     // or it writes into our lines
		os.WriteFile("/sys/fs/cgroup/cgroup.subtree_control", []byte("+memory +pids"), 0o644), // as systemd does
		loopback(),
		load(),
	)
}

// load loads the modules in /modules.
func load() error {
	files, err := filepath.Glob("/modules/*")
	for _, path := range files {
		f, failed := os.Open(path)
		if failed != nil {
			return failed
		}
		flags := 0
		if strings.HasSuffix(path, ".xz") {
			flags = unix.MODULE_INIT_COMPRESSED_FILE
		}
		if failed := unix.FinitModule(int(f.Fd()), "", flags); failed != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", path, failed))
		}
		f.Close()
	}
	return err
}

func mounted(kind, at, options string) error {
	if err := os.MkdirAll(at, 0o755); err != nil {
		return err
	}
	if err := unix.Mount(kind, at, kind, 0, options); err != nil {
		return fmt.Errorf("mount %s: %w", at, err)
	}
	return nil
}

// carry moves a tree to another file system, file by file: there is no room for two.
func carry(from, to string) error {
	return errors.Join(filepath.WalkDir(from, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		into := to + strings.TrimPrefix(path, from)
		switch {
		case d.IsDir():
			return os.MkdirAll(into, 0o755)
		case d.Type()&os.ModeSymlink != 0:
			link, err := os.Readlink(path)
			return errors.Join(err, os.Symlink(link, into))
		case !d.Type().IsRegular():
			return nil // devices come with devtmpfs
		}
		return carryFile(path, into)
	}), os.RemoveAll(from))
}

func carryFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE, info.Mode())
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close(), os.Remove(from))
}

func loopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo)
}

// serial runs the plan in the initramfs and prints each result on the console.
func serial() error {
	raw, err := os.ReadFile("/plan.json")
	if err != nil {
		return err
	}
	var p plan
	if err := json.Unmarshal(raw, &p); err != nil {
		return err
	}
	tty, err := os.OpenFile("/dev/console", os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	report := func(d done) error {
		line, err := json.Marshal(d)
		if err == nil {
			_, err = fmt.Fprintf(tty, "\n%s%s\n", console, line)
		}
		return err
	}
	system := []string{"/proc/sys/kernel/osrelease", "/sys/kernel/security/lsm", "/proc/cmdline"}
	for _, file := range system {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := report(done{Job: file, Out: strings.TrimSpace(string(text))}); err != nil {
			return err
		}
	}
	for _, a := range p.Accounts {
		if err := a.settle(); err != nil {
			return err
		}
	}
	if err := p.run(report); err != nil {
		return err
	}
	return report(done{Job: "end"})
}
