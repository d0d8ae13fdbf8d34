package replace_test

import (
	"encoding/binary"
	"errors"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/replace"
)

// list is an access control list as the kernel stores it (posix_acl_xattr.h): owner,
// one named user, group, mask and others.
func list(owner, user, group, mask, other uint16) []byte {
	const whoever = 0xffffffff
	b := binary.LittleEndian.AppendUint32(nil, 2)
	for _, e := range []struct {
		tag, perm uint16
		id        uint32
	}{{0x01, owner, whoever}, {0x02, user, 12345}, {0x04, group, whoever}, {0x10, mask, whoever}, {0x20, other, whoever}} {
		b = binary.LittleEndian.AppendUint16(b, e.tag)
		b = binary.LittleEndian.AppendUint16(b, e.perm)
		b = binary.LittleEndian.AppendUint32(b, e.id)
	}
	return b
}

// dress is what is all to be kept of a file.
type dress struct {
	mode     uint32
	uid, gid uint32
	attrs    string
}

func dressOf(t *testing.T, file string) dress {
	t.Helper()
	var st unix.Stat_t
	must(t, unix.Lstat(file, &st))
	names := make([]byte, 4096)
	n, err := unix.Listxattr(file, names)
	must(t, err)
	var all strings.Builder
	for _, name := range strings.Split(strings.TrimRight(string(names[:n]), "\x00"), "\x00") {
		value := make([]byte, 4096)
		if m, err := unix.Getxattr(file, name, value); err == nil {
			all.WriteString(name + "=" + string(value[:m]) + "\n")
		}
	}
	return dress{mode: st.Mode, uid: st.Uid, gid: st.Gid, attrs: all.String()}
}

func TestAllButTheContentOfAFileIsKept(t *testing.T) {
	acl := list(6, 7, 4, 6, 0)
	for _, c := range []struct {
		what string
		do   func(t *testing.T, dir string)
	}{
		{"a plain file", func(*testing.T, string) {}},
		{"an executable file", func(t *testing.T, dir string) { must(t, os.Chmod(dir+"/f", 0o751)) }},
		{"a private file", func(t *testing.T, dir string) { must(t, os.Chmod(dir+"/f", 0o600)) }},
		{"a file that everybody may write", func(t *testing.T, dir string) { must(t, os.Chmod(dir+"/f", 0o666)) }},
		{"a file that may not be read, but written", func(t *testing.T, dir string) { must(t, os.Chmod(dir+"/f", 0o222)) }},
		{"extended attributes, a large one among them", func(t *testing.T, dir string) {
			attr(t, dir+"/f", "user.note", []byte("kept"))
			attr(t, dir+"/f", "user.empty", nil)
			attr(t, dir+"/f", "user.large", []byte(strings.Repeat("x", 2000)))
		}},
		{"an access control list", func(t *testing.T, dir string) { attr(t, dir+"/f", "system.posix_acl_access", acl) }},
		{"a list that new files would get and this one has not", func(t *testing.T, dir string) { attr(t, dir, "system.posix_acl_default", acl) }},
		{"a list other than the one that new files get", func(t *testing.T, dir string) {
			attr(t, dir+"/f", "system.posix_acl_access", list(6, 4, 4, 4, 4))
			attr(t, dir, "system.posix_acl_default", acl)
		}},
		{"another owner", func(t *testing.T, dir string) { asRoot(t); must(t, os.Chown(dir+"/f", 12345, 54321)) }},
		{"another owner, a list and attributes", func(t *testing.T, dir string) {
			asRoot(t)
			must(t, os.Chown(dir+"/f", 12345, 54321))
			attr(t, dir+"/f", "system.posix_acl_access", acl)
			attr(t, dir+"/f", "user.note", []byte("kept"))
			attr(t, dir+"/f", "trusted.note", []byte("kept"))
		}},
		{"a directory that gives its group to new files", func(t *testing.T, dir string) {
			asRoot(t)
			must(t, os.Chown(dir, 0, 54321))
			must(t, os.Chmod(dir, 0o755|os.ModeSetgid))
		}},
	} {
		t.Run(c.what, func(t *testing.T) {
			for name, do := range map[string]act{"replace": replacing("new", replace.Options{}), "update": updating("new")} {
				eachWay(t, func(t *testing.T, w *replace.Writer) {
					base, p := only(t, "f", "allow/f: old")
					c.do(t, base+"/allow")
					before := dressOf(t, base+"/allow/f")
					if _, err := do(w, p); err != nil && (name != "update" || os.Geteuid() == 0) {
						t.Fatalf("%s: %v", name, err) // a file that may not be read cannot be updated
					}
					if after := dressOf(t, base+"/allow/f"); after != before {
						t.Errorf("%s: %+v became %+v", name, before, after)
					}
				})
			}
		})
	}
}

func attr(t *testing.T, file, name string, value []byte) {
	t.Helper()
	if err := unix.Setxattr(file, name, value, 0); err == unix.EOPNOTSUPP || err == unix.EPERM {
		t.Skipf("this file system does not have %s: %v", name, err)
	} else if err != nil {
		t.Fatal(err)
	}
}

func asRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root may give files away")
	}
}

func TestANewFileGetsTheRightsOfItsDirectory(t *testing.T) {
	eachWay(t, func(t *testing.T, w *replace.Writer) {
		base, p := only(t, "f")
		attr(t, base+"/allow", "system.posix_acl_default", list(6, 7, 4, 7, 0))
		must(t, os.WriteFile(base+"/allow/reference", nil, 0o666))
		_, err := w.Create(background, p, []byte("new"), replace.Options{})
		must(t, err)
		if got, want := dressOf(t, base+"/allow/f"), dressOf(t, base+"/allow/reference"); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	})
}

func TestSetUserIDDoesNotOutliveTheContent(t *testing.T) {
	base, p := only(t, "f", "allow/f: old")
	must(t, os.Chmod(base+"/allow/f", 0o755|os.ModeSetuid|os.ModeSetgid))
	var w replace.Writer
	_, err := w.Replace(background, p, []byte("new"), replace.Options{})
	must(t, err)
	if mode := dressOf(t, base+"/allow/f").mode & 0o7777; mode != 0o755 {
		t.Errorf("mode %o", mode)
	}
}

// A draft is watched from its first byte to its last.
func TestADraftIsOnlyForItsOwnerUntilItIsComplete(t *testing.T) {
	base, p := only(t, "f", "allow/f: old")
	must(t, os.Chmod(base+"/allow/f", 0o666))
	var w replace.Writer
	w.Without(true, true, false)
	stop, seen := make(chan struct{}), make(chan int)
	go func() {
		n := 0
		for {
			select {
			case <-stop:
				seen <- n
				return
			default:
				n += watched(t, base+"/allow")
			}
		}
	}()
	large := strings.Repeat("x", 8<<20)
	r := roots(t, base+"/allow", confine.Options{})
	for n := range 10 {
		_, err := w.Replace(background, p, []byte(large), replace.Options{})
		_, err2 := w.Create(background, path(t, r, strings.Repeat("n", n+1)), []byte(large), replace.Options{})
		if err := errors.Join(err, err2); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	if n := <-seen; n < 10 {
		t.Errorf("the draft was seen %d times only", n)
	}
}

// watched looks at the drafts of a directory once and tells how many were incomplete.
func watched(t *testing.T, dir string) (incomplete int) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Error(err)
	}
	for _, e := range entries {
		info, err := os.Lstat(dir + "/" + e.Name())
		if err != nil || e.Name() == "f" || info.Size() == 0 || info.Size() == 8<<20 {
			continue
		}
		if incomplete++; info.Mode() != 0o600 {
			t.Errorf("%s has %v with %d bytes", e.Name(), info.Mode(), info.Size())
		}
	}
	return incomplete
}

// A tmpfs of one MiB is filled by the change itself.
func TestAFullDiskIsToldAndTheOldFileIsIntact(t *testing.T) {
	eachWay(t, func(t *testing.T, w *replace.Writer) {
		base := fixture(t)
		dir := base + "/allow"
		if err := unix.Mount("none", dir, "tmpfs", 0, "size=1m"); err != nil {
			t.Skipf("SKIPPED: a full disk cannot be tried here: mounting a tmpfs: %v", err)
		}
		t.Cleanup(func() { must(t, unix.Unmount(dir, unix.MNT_DETACH)) })
		plant(t, base, "allow/f: old")
		r := roots(t, dir, confine.Options{})
		large := strings.Repeat("x", 2<<20)
		for what, c := range map[string]struct {
			name string
			do   act
		}{
			"create":      {"new", creating(large)},
			"replace":     {"f", replacing(large, replace.Options{})},
			"with a hash": {"f", replacing(large, expecting("old"))},
			"update":      {"f", updating(large)},
		} {
			if _, err := c.do(w, path(t, r, c.name)); !errors.Is(err, fault.DiskFull) {
				t.Errorf("%s: %v, want EXECUTION_004", what, err)
			}
			if names(t, dir) != "f" || content(dir+"/f") != "old" {
				t.Errorf("%s: left are %s; the file holds %.20q", what, names(t, dir), content(dir+"/f"))
			}
		}
		if _, err := w.Replace(background, path(t, r, "f"), []byte("new"), replace.Options{}); err != nil || content(dir+"/f") != "new" {
			t.Errorf("afterwards there is room again, but: %v", err)
		}
	})
}

// A tmpfs is made read-only under a server that is running.
func TestAReadOnlyFileSystemIsToldAsSuch(t *testing.T) {
	base := fixture(t)
	dir := base + "/allow"
	if err := unix.Mount("none", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("SKIPPED: a read-only file system cannot be tried here: mounting a tmpfs: %v", err)
	}
	t.Cleanup(func() { must(t, unix.Unmount(dir, unix.MNT_DETACH)) })
	plant(t, base, "allow/f: old")
	plant(t, base, "allow/d/")
	r := roots(t, dir, confine.Options{})
	must(t, unix.Mount("none", dir, "tmpfs", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	for what, err := range everyChange(r) {
		if e, ok := errors.AsType[*fault.Error](err); !ok || e.Code != fault.PermissionDenied || !errors.Is(e.Err, unix.EROFS) {
			t.Errorf("%s: %v, want AUTH_003 for EROFS", what, err)
		}
	}
	if names(t, dir) != "d f" || content(dir+"/f") != "old" {
		t.Errorf("left are %s; the file holds %q", names(t, dir), content(dir+"/f"))
	}
}
