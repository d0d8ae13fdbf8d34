package kernels

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// programsFor builds the servers, the test binaries and this one into a directory. They
// are static, and made for Debian's name of an architecture.
func programsFor(t *testing.T, arch, dir string) {
	t.Helper()
	for _, server := range []string{"file-read", "file-write", "shell-exec"} {
		build(t, arch, server, "build", "-o", filepath.Join(dir, server))
	}
	for _, s := range suites() {
		build(t, arch, s.Dir, "test", "-c", "-o", filepath.Join(dir, s.Name+".test"))
	}
	build(t, arch, "interop/kernels", "test", "-c", "-o", filepath.Join(dir, "kernels.test"))
}

func build(t *testing.T, arch, dir string, args ...string) {
	t.Helper()
	c := exec.Command("go", append(args, "-trimpath", "-ldflags=-s -w", ".")...)
	c.Dir = "../../" + dir
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("go %v in %s: %v\n%s", args, dir, err, out)
	}
}

// modules are those that the kernel of a system loads when somebody asks for what they do.
// A guest has nothing that finds them and loads them first.
var modules = []string{"kernel/net/unix/unix_diag.ko"}

// image writes the initramfs of a guest.
func image(t *testing.T, packages map[string]string, modules, programs string, p plan, to string) {
	t.Helper()
	file, err := os.Create(to)
	must(t, err)
	defer file.Close()
	buffered := bufio.NewWriter(file)
	w := &archive{out: buffered, seen: map[string]bool{}}
	for _, dir := range []string{"usr/bin", "usr/sbin", "usr/lib", "usr/lib64", "proc", "sys", "tmp", "run", "dev", "var/tmp", "etc", "root", "home", "new"} {
		w.dir(dir)
	}
	for _, name := range []string{"bin", "sbin", "lib", "lib64"} {
		w.link(name, "usr/"+name)
	}
	w.device("dev/console", 5, 1)
	w.device("dev/null", 1, 3)
	w.text("etc/passwd", passwd(p.Accounts))
	w.text("etc/group", passwd(p.Accounts))
	w.text("etc/hosts", "127.0.0.1 localhost\n")
	raw, err := json.Marshal(p)
	must(t, err)
	w.text("plan.json", string(raw))
	w.link("init", strings.TrimPrefix(p.Programs, "/")+"/kernels.test")
	for _, name := range userland {
		w.tree(packages[name], "")
	}
	w.link("usr/bin/awk", "mawk")
	w.modules(t, modules)
	w.tree(programs, strings.TrimPrefix(p.Programs, "/"))
	w.add("TRAILER!!!", 0, nil, 0, 0, 0)
	must(t, w.err)
	must(t, buffered.Flush())
}

func passwd(all []account) string {
	var b strings.Builder
	for _, a := range all {
		fmt.Fprintf(&b, "%s:x:%d:%d::%s:/bin/sh\n", a.Name, a.UID, a.UID, a.Home)
	}
	return b.String()
}

// archive is a cpio archive in the form newc, which the kernel unpacks.
type archive struct {
	out  io.Writer
	seen map[string]bool
	next int
	err  error
}

func (w *archive) add(name string, mode uint32, content io.Reader, size int64, major, minor int) {
	if w.err != nil || w.seen[name] {
		return
	}
	if parent := filepath.Dir(name); parent != "." {
		w.dir(parent)
	}
	w.seen[name] = true
	w.next++
	header := fmt.Sprintf("070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%s\x00",
		w.next, mode, 0, 0, 1, 1_000_000_000, size, 0, 0, major, minor, len(name)+1, 0, name)
	w.write(header + strings.Repeat("\x00", -len(header)&3))
	if size > 0 {
		_, w.err = io.CopyN(w.out, content, size)
		w.write(strings.Repeat("\x00", int(-size&3)))
	}
}

// modules adds those that a guest loads, in /modules. Some kernels have them compressed.
func (w *archive) modules(t *testing.T, root string) {
	t.Helper()
	for _, name := range modules {
		path := filepath.Join(root, name)
		if _, err := os.Stat(path); err != nil {
			path += ".xz"
		}
		text, err := os.ReadFile(path)
		must(t, err)
		w.text("modules/"+filepath.Base(path), string(text))
	}
}

func (w *archive) write(s string) {
	if w.err == nil {
		_, w.err = io.WriteString(w.out, s)
	}
}

func (w *archive) dir(name string)              { w.add(name, unix.S_IFDIR|0o755, nil, 0, 0, 0) }
func (w *archive) device(name string, a, b int) { w.add(name, unix.S_IFCHR|0o666, nil, 0, a, b) }
func (w *archive) link(name, to string) {
	w.add(name, unix.S_IFLNK|0o777, strings.NewReader(to), int64(len(to)), 0, 0)
}
func (w *archive) text(name, text string) {
	w.add(name, unix.S_IFREG|0o644, strings.NewReader(text), int64(len(text)), 0, 0)
}

// tree adds a directory with all that a guest may need of it. /bin and its like are
// links into /usr, as on every system of today; packages have files in both.
func (w *archive) tree(root, at string) {
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		name := filepath.Join(at, strings.TrimPrefix(path, root+"/"))
		for _, top := range []string{"bin/", "sbin/", "lib/", "lib64/"} {
			if strings.HasPrefix(name+"/", top) {
				name = "usr/" + name
			}
		}
		info, err := d.Info()
		switch {
		case err != nil:
			return err
		case d.IsDir() && (filepath.Dir(name) == "usr/share" && name != "usr/share/zoneinfo" || filepath.Base(name) == "gconv"):
			return filepath.SkipDir
		case d.IsDir():
			w.dir(name)
		case d.Type()&os.ModeSymlink != 0:
			to, err := os.Readlink(path)
			w.link(name, to)
			return err
		case d.Type().IsRegular():
			file, err := os.Open(path)
			if err != nil {
				return err
			}
			defer file.Close()
			w.add(name, unix.S_IFREG|uint32(info.Mode().Perm()), file, info.Size(), 0, 0)
		}
		return w.err
	})
	if w.err == nil {
		w.err = err
	}
}
