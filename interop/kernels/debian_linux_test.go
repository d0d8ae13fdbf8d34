package kernels

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
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
	"libc6", "libgcc-s1", "libtinfo6", "libselinux1", "libpcre2-8-0", "libacl1", "libattr1", "libgmp10", "libcap-ng0", "libsmartcols1",
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

// kernel is the package that a meta package stands for, and its file vmlinuz.
func (d *debian) kernel(t *testing.T, meta string) (version, file string) {
	t.Helper()
	out, err := d.command("apt-cache", "show", "--no-all-versions", meta).Output()
	if err != nil {
		t.Fatalf("Debian has no package %s: %v", meta, err)
	}
	for line := range strings.Lines(string(out)) {
		if name, ok := strings.CutPrefix(line, "Depends: "); ok {
			name, _, _ = strings.Cut(strings.TrimSpace(name), " ")
			root := d.unpacked(t, name)
			version = strings.TrimPrefix(name, "linux-image-")
			return version, root + "/boot/vmlinuz-" + version
		}
	}
	t.Fatalf("%s depends on no kernel:\n%s", meta, out)
	return "", ""
}

// unpacked is the directory with what is in a package. It is fetched once.
func (d *debian) unpacked(t *testing.T, name string) string {
	t.Helper()
	out, err := d.command("apt-get", "--print-uris", "-qq", "download", name).Output()
	fields := strings.Fields(string(out)) // 'URI' file size hash
	if err != nil || len(fields) < 2 {
		t.Fatalf("Debian has no package %s: %v", name, err)
	}
	root := filepath.Join(d.dir, "unpacked", strings.TrimSuffix(fields[1], ".deb"))
	if _, err := os.Stat(root); err == nil {
		return root
	}
	if out, err := d.command("apt-get", "-qq", "download", name).CombinedOutput(); err != nil {
		t.Fatalf("%s cannot be fetched: %v\n%s", name, err, out)
	}
	deb := filepath.Join(d.dir, "debs", fields[1])
	defer os.Remove(deb)
	must(t, os.MkdirAll(filepath.Dir(root), 0o755))
	partial := fmt.Sprintf("%s.%d", root, os.Getpid())
	defer os.RemoveAll(partial)
	if out, err := exec.Command("dpkg-deb", "-x", deb, partial).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", deb, err, out)
	}
	must(t, os.Rename(partial, root))
	return root
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
