package kernels

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// debian is Debian 12 for one architecture, from which single packages are taken without
// installing them, whatever system this is.
type debian struct {
	arch    string
	dir     string // kept between runs
	options []string
}

const (
	keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"
	sources = "deb [signed-by=" + keyring + "] http://deb.debian.org/debian bookworm main\n" +
		"deb [signed-by=" + keyring + "] http://deb.debian.org/debian-security bookworm-security main\n"
)

// userland is what the guest has besides a kernel and our programs.
var userland = []string{
	"dash", "bash", "coreutils", "util-linux", "findutils", "grep", "sed", "mawk",
	"libc6", "libgcc-s1", "libtinfo6", "libselinux1", "libpcre2-8-0", "libacl1", "libattr1", "libgmp10", "libcap-ng0", "libsmartcols1", "tzdata",
}

func openDebian(t *testing.T, arch string) *debian {
	t.Helper()
	for _, program := range []string{"apt-get", "dpkg-deb"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("SKIPPED: %s is not here: kernels are taken from packages of Debian", program)
		}
	}
	if _, err := os.Stat(keyring); err != nil {
		t.Skip("SKIPPED: the keys of Debian's archive are not here (package debian-archive-keyring)")
	}
	cache, err := os.UserCacheDir()
	must(t, err)
	d := &debian{arch: arch, dir: filepath.Join(cache, "mcp-server-kernels", arch)}
	for _, dir := range []string{"lists/partial", "cache/archives/partial", "debs", "etc"} {
		must(t, os.MkdirAll(filepath.Join(d.dir, dir), 0o755))
	}
	lock, err := os.Create(d.dir + "/lock") // apt does not wait for another
	must(t, err)
	t.Cleanup(func() { lock.Close() })
	must(t, unix.Flock(int(lock.Fd()), unix.LOCK_EX))
	must(t, os.WriteFile(d.dir+"/sources.list", []byte(sources), 0o644))
	must(t, os.WriteFile(d.dir+"/status", nil, 0o644))
	for _, o := range []string{
		"APT::Architecture=" + arch, "APT::Architectures=" + arch, "APT::Sandbox::User=",
		"Dir::State=" + d.dir, "Dir::State::lists=" + d.dir + "/lists", "Dir::State::status=" + d.dir + "/status",
		"Dir::Cache=" + d.dir + "/cache", "Dir::Etc::sourcelist=" + d.dir + "/sources.list", "Dir::Etc::sourceparts=" + d.dir + "/etc",
		"Dir::Etc::preferencesparts=" + d.dir + "/etc", "Dir::Etc::preferences=" + d.dir + "/none",
	} {
		d.options = append(d.options, "-o", o)
	}
	if out, err := d.command("apt-get", "-qq", "update").CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: Debian's archive cannot be reached: %s", out)
	}
	return d
}

func (d *debian) command(name string, args ...string) *exec.Cmd {
	c := exec.Command(name, append(d.options, args...)...)
	c.Dir = d.dir + "/debs"
	return c
}

// kernel is what a meta package depends on, and its version.
func (d *debian) kernel(t *testing.T, meta string) (name, version string) {
	t.Helper()
	out, err := d.command("apt-cache", "show", "--no-all-versions", meta).Output()
	if err != nil {
		t.Fatalf("Debian has no package %s: %v", meta, err)
	}
	for line := range strings.Lines(string(out)) {
		if list, ok := strings.CutPrefix(line, "Depends: "); ok {
			name, _, _ := strings.Cut(strings.TrimSpace(list), " ")
			return name, strings.TrimPrefix(name, "linux-image-")
		}
	}
	t.Fatalf("%s depends on no kernel:\n%s", meta, out)
	return "", ""
}

// unpacked are the directories with what is in packages, by their names. Each is fetched
// once. All are asked for at once: apt takes seconds for every question.
func (d *debian) unpacked(t *testing.T, names ...string) map[string]string {
	t.Helper()
	out, err := d.command("apt-get", append([]string{"--print-uris", "-qq", "download"}, names...)...).Output()
	if err != nil {
		t.Fatalf("Debian does not have all of %v: %v", names, err)
	}
	dirs := map[string]string{}
	var missing []string
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line) // 'URI' file size hash
		name, _, _ := strings.Cut(fields[1], "_")
		dirs[name] = filepath.Join(d.dir, "unpacked", strings.TrimSuffix(fields[1], ".deb"))
		if _, err := os.Stat(dirs[name]); err != nil {
			missing = append(missing, name)
		}
	}
	if missing == nil {
		return dirs
	}
	if out, err := d.command("apt-get", append([]string{"-qq", "download"}, missing...)...).CombinedOutput(); err != nil {
		t.Fatalf("%v cannot be fetched: %v\n%s", missing, err, out)
	}
	for _, name := range missing {
		d.unpack(t, dirs[name])
	}
	return dirs
}

// unpack unpacks one that was fetched, whole or not at all.
func (d *debian) unpack(t *testing.T, dir string) {
	t.Helper()
	deb := filepath.Join(d.dir, "debs", filepath.Base(dir)+".deb")
	defer os.Remove(deb)
	must(t, os.MkdirAll(filepath.Dir(dir), 0o755))
	partial := fmt.Sprintf("%s.%d", dir, os.Getpid())
	defer os.RemoveAll(partial)
	if out, err := exec.Command("dpkg-deb", "-x", deb, partial).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", deb, err, out)
	}
	must(t, os.Rename(partial, dir))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
