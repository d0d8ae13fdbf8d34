//go:build linux || darwin

package history_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/multiollama/mcp-server/file-write/internal/history"
	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
)

func TestWhatIsPackedComesBack(t *testing.T) {
	long := strings.Repeat("n", 255)
	for _, c := range []struct {
		name    string
		entries []string // under d
		count   history.Count
	}{
		{"nothing", nil, history.Count{}},
		{"a file", []string{"f=hello"}, history.Count{Files: 1, Bytes: 5}},
		{"an empty file and an empty directory", []string{"f=", "e/"}, history.Count{Files: 1, Dirs: 1}},
		{"bytes that are no text", []string{"f=\x00\xff\r\n"}, history.Count{Files: 1, Bytes: 4}},
		{"directories in directories", []string{"a/b/c/f=1", "a/b/g=22", "a/h=333"}, history.Count{Files: 3, Dirs: 3, Bytes: 6}},
		{"names that are not UTF-8", []string{"\xff\xfe/\xe9=x", "\xff => \xfe"}, history.Count{Files: 1, Dirs: 1, Links: 1, Bytes: 1}},
		{"names of other writings", []string{"日本/語=x", "e\u0301=1", "\u202eevil=2"}, history.Count{Files: 3, Dirs: 1, Bytes: 3}},
		{"names with spaces, dots, dashes and backslashes", []string{" /  =x", "-rf=1", ".hidden/...=2", `C:\x=3`, "a\\..\\b=4", "...=5"}, history.Count{Files: 6, Dirs: 2, Bytes: 6}},
		{"names that are patterns", []string{"*=1", "[a=2", "?{b}=3"}, history.Count{Files: 3, Bytes: 3}},
		{"the longest names", []string{long + "/" + long + "/" + long + "=x"}, history.Count{Files: 1, Dirs: 2, Bytes: 1}},
		{"a name as tar uses it", []string{"PaxHeaders.0/f=x", "@LongLink=y"}, history.Count{Files: 2, Dirs: 1, Bytes: 2}},
		{"links of every kind, as they are", []string{"f=x", "l => f", "abs => /etc/passwd", "out => ../../out/secret", "none => gone", "loop => loop",
			"odd => a\nb", "far => " + strings.Repeat("x/", 500)}, history.Count{Files: 1, Links: 7, Bytes: 1}},
		{"a link beside a directory that it leads to", []string{"a => b", "b/f=x"}, history.Count{Files: 1, Dirs: 1, Links: 1, Bytes: 1}},
		{"a content of some size", []string{"f=" + strings.Repeat("0123456789", 300_000)}, history.Count{Files: 1, Bytes: 3_000_000}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newTree(t, confine.Options{}, append([]string{"allow/d/"}, beneath("allow/d/", c.entries)...)...)
			packed, count := w.pack("d")
			if count != c.count {
				t.Errorf("packed: %+v", count)
			}
			made, err := history.Unpack(t.Context(), iotest.DataErrReader(bytes.NewReader(packed)), w.parse("new"), 0o755, newMaker())
			if err != nil || made != c.count {
				t.Fatalf("unpacked: %+v, %v", made, err)
			}
			if was, is := w.describe(w.at("d"), true), w.describe(w.at("new"), true); was != is {
				t.Errorf("was\n%sis\n%s", was, is)
			}
		})
	}
}

func beneath(dir string, entries []string) (all []string) {
	for _, e := range entries {
		all = append(all, dir+e)
	}
	return all
}

func TestNobodyGetsMoreRightsThanBefore(t *testing.T) {
	w := newTree(t, confine.Options{}, "allow/d/run=1", "allow/d/private=1", "allow/d/readonly=1", "allow/d/writeonly=1", "allow/d/closed/open/f=1", "allow/d/group/f=1")
	for name, mode := range map[string]os.FileMode{"d/run": 0o755, "d/private": 0o600, "d/readonly": 0o444, "d/writeonly": 0o200,
		"d/closed/open/f": 0o644, "d/closed": 0o700, "d/group/f": 0o644, "d/group": 0o750} {
		w.chmod(name, mode)
	}
	if os.Geteuid() != 0 {
		w.chmod("d/writeonly", 0o600)
	}
	packed, count := w.pack("d")
	made, err := history.Unpack(t.Context(), bytes.NewReader(packed), w.parse("new"), 0o755, newMaker())
	if err != nil || made != count || made.Executable != 1 {
		t.Fatalf("%+v, %+v, %v", count, made, err)
	}
	for name, want := range map[string]os.FileMode{"run": 0o644, "private": 0o600, "readonly": 0o444, "writeonly": 0o600, "closed/open/f": 0o600, "group/f": 0o640} {
		info, err := os.Stat(w.at("new/" + name))
		if err != nil || info.Mode().Perm()&^want != 0 || info.Mode().Perm()&0o400 == 0 {
			t.Errorf("%s: %v instead of %v, %v", name, info.Mode(), want, err)
		}
	}
}

func TestAnArchiveThatIsNotOneOfOursMakesNothing(t *testing.T) {
	good := archive(t, "a/", "a/f=hello", "l => a")
	sparse := map[string]string{"GNU.sparse.major": "0", "GNU.sparse.minor": "1", "GNU.sparse.name": "f", "GNU.sparse.size": "1099511627776", "GNU.sparse.map": "0,1"}
	for _, c := range []struct {
		name    string
		archive []byte
		code    fault.Code
	}{
		{"a way up", archive(t, "../f=x"), fault.ParamMalformed},
		{"a way up from a directory in it", archive(t, "a/", "a/../../f=x"), fault.ParamMalformed},
		{"a directory that is ..", archive(t, "../"), fault.ParamMalformed},
		{"a directory that is .", archive(t, "./"), fault.ParamMalformed},
		{"a file in .", archive(t, "./f=x"), fault.ParamMalformed},
		{"an absolute name", archive(t, "/f=x"), fault.ParamMalformed},
		{"an absolute directory", archive(t, "/etc/"), fault.ParamMalformed},
		{"an empty name", archive(t, "=x"), fault.ParamMalformed},
		{"the root", archive(t, "/"), fault.ParamMalformed},
		{"a double slash", archive(t, "a/", "a//f=x"), fault.ParamMalformed},
		{"a double slash at the end", archive(t, "a//"), fault.ParamMalformed},
		{"a newline", archive(t, "a\nb=x"), fault.ParamMalformed},
		{"a NUL", bytes.Replace(archive(t, strings.Repeat("é", 60)+"zzzz=x"), []byte("zzzz\n"), []byte("z\x00zz\n"), 1), fault.ParamMalformed},
		{"a directory that was not made", archive(t, "a/f=x"), fault.ParamMalformed},
		{"a file through a link", archive(t, "a => ../../out", "a/f=x"), fault.ParamMalformed},
		{"a file through a file", archive(t, "a=x", "a/f=x"), fault.ParamMalformed},
		{"a link and then a directory of its name", archive(t, "a => ../../out", "a/", "a/f=x"), fault.ParamMalformed},
		{"a directory and then a link of its name", archive(t, "a/", "a => ../../out", "a/f=x"), fault.ParamMalformed},
		{"a file twice", archive(t, "f=x", "f=y"), fault.ParamMalformed},
		{"a link to nothing", one(t, &tar.Header{Name: "l", Typeflag: tar.TypeSymlink}, ""), fault.ParamMalformed},
		{"a link that is too long", archive(t, "l => "+strings.Repeat("x", 5000)), fault.ParamMalformed},
		{"a hard link", one(t, &tar.Header{Name: "l", Linkname: "/etc/passwd", Typeflag: tar.TypeLink}, ""), fault.ParamMalformed},
		{"a device", one(t, &tar.Header{Name: "l", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 5}, ""), fault.ParamMalformed},
		{"a FIFO", one(t, &tar.Header{Name: "l", Typeflag: tar.TypeFifo}, ""), fault.ParamMalformed},
		{"an extended attribute", one(t, &tar.Header{Name: "f", Typeflag: tar.TypeReg, PAXRecords: map[string]string{"SCHILY.xattr.security.capability": "x"}}, "x"), fault.ParamMalformed},
		{"another owner", one(t, &tar.Header{Name: "f", Typeflag: tar.TypeReg, Uname: "é", Format: tar.FormatPAX}, "x"), fault.ParamMalformed},
		{"records for all that follows", one(t, &tar.Header{Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{"path": "x"}}, ""), fault.ParamMalformed},
		{"a terabyte of holes", unsafeRecords(t, sparse), fault.ParamMalformed},
		{"a size of a petabyte", sized(t, 1<<50), fault.LimitReached},
		{"a file that is cut", good[:3*512+512+2], fault.ParamMalformed},
		{"a header that is cut", good[:100], fault.ParamMalformed},
		{"a header that is damaged", append([]byte{'b'}, good[1:]...), fault.ParamMalformed},
		{"more after the end", append(bytes.Clone(good), 'x'), fault.ParamMalformed},
		{"no archive at all", []byte(strings.Repeat("no archive ", 100)), fault.ParamMalformed},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newTree(t, confine.Options{Symlinks: confine.Within}, "allow/mine=x")
			before := w.describe(w.base, true)
			_, err := history.Unpack(t.Context(), bytes.NewReader(c.archive), w.parse("in/new"), 0o755, newMaker())
			refusedAs(t, "unpacking", err, c.code)
			if after := w.describe(w.base, true); after != before {
				t.Errorf("was\n%sis\n%s", before, after)
			}
		})
	}
}

// unsafeRecords is a file with records that package tar reads and does not write.
func unsafeRecords(t *testing.T, records map[string]string) []byte {
	t.Helper()
	hidden := map[string]string{}
	for key, value := range records {
		hidden[strings.Replace(key, "GNU.", "GNX.", 1)] = value
	}
	b := one(t, &tar.Header{Name: "f", Typeflag: tar.TypeReg, PAXRecords: hidden, Format: tar.FormatPAX}, "x")
	return bytes.ReplaceAll(b, []byte("GNX."), []byte("GNU."))
}

// sized is a file that says it is of this size, and ends there.
func sized(t *testing.T, size int64) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := tar.NewWriter(&b).WriteHeader(&tar.Header{Name: "f", Typeflag: tar.TypeReg, Size: size, Format: tar.FormatPAX}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestABombIsRefusedBeforeItIsMade(t *testing.T) {
	for _, c := range []struct {
		name string
		text string // of each link
	}{
		{"too many entries", "x"},
		{"too much text of links", strings.Repeat("x", 4000)},
	} {
		w := newTree(t, confine.Options{})
		before := w.describe(w.base, true)
		r, pipe := io.Pipe()
		written := make(chan int)
		go func() {
			n, archive := 0, tar.NewWriter(pipe)
			for archive.WriteHeader(&tar.Header{Name: numberedName(n), Linkname: c.text, Typeflag: tar.TypeSymlink}) == nil {
				n++ // without end
			}
			written <- n
		}()
		_, err := history.Unpack(t.Context(), r, w.parse("new"), 0o755, newMaker())
		r.Close()
		if n := <-written; n < 1000 || n > history.MaxEntries+2 {
			t.Errorf("%s: %d entries were read", c.name, n)
		}
		if refusedAs(t, c.name, err, fault.LimitReached); w.describe(w.base, true) != before {
			t.Errorf("%s: something is left", c.name)
		}
	}
}

func numberedName(n int) string {
	return "l" + string(rune('a'+n/676/26%26)) + string(rune('a'+n/676%26)) + string(rune('a'+n/26%26)) + string(rune('a'+n%26))
}

func TestNothingIsUnpackedOverWhatIsThere(t *testing.T) {
	w := newTree(t, confine.Options{Symlinks: confine.Within}, "allow/file=x", "allow/empty/", "allow/d/f=x", "allow/l => empty")
	packed, _ := w.pack("d")
	before := w.describe(w.base, true)
	for name, code := range map[string]fault.Code{"empty": fault.Exists, "d": fault.Exists, "l": fault.Exists, ".": fault.Exists, "file": fault.ParamInvalid, "file/new": fault.ParamInvalid} {
		_, err := history.Unpack(t.Context(), bytes.NewReader(packed), w.parse(name), 0o755, newMaker())
		refusedAs(t, name, err, code)
	}
	if after := w.describe(w.base, true); after != before {
		t.Errorf("was\n%sis\n%s", before, after)
	}
}

func TestAfterAnErrorEverythingThatWasMadeIsGone(t *testing.T) {
	packed := archive(t, "a/", "a/f=hello", "b => a", "c => bad", "z=last")
	broken := errors.New("the cable is out")
	for _, c := range []struct {
		name string
		r    io.Reader
		make *maker
		code fault.Code
	}{
		{"a reader that fails", io.MultiReader(bytes.NewReader(packed[:len(packed)-1024]), iotest.ErrReader(broken)), newMaker(), fault.Internal},
		{"a reader that says so only at the end", io.MultiReader(bytes.NewReader(packed), iotest.ErrReader(fault.New(fault.Unavailable, "damaged", ""))), newMaker(), fault.Unavailable},
		{"a link that cannot be made", bytes.NewReader(packed), &maker{Writer: newMaker().Writer, badLink: "bad"}, fault.Internal},
	} {
		w := newTree(t, confine.Options{}, "allow/there/mine=x")
		before := w.describe(w.base, true)
		_, err := history.Unpack(t.Context(), c.r, w.parse("there/x/y/new"), 0o755, c.make)
		if err == nil || fault.From(err).Code != c.code {
			t.Errorf("%s: %v instead of %s", c.name, err, c.code)
		}
		if after := w.describe(w.base, true); after != before {
			t.Errorf("%s: was\n%sis\n%s", c.name, before, after)
		}
	}
}

func TestACancelledCallLeavesNothing(t *testing.T) {
	w := newTree(t, confine.Options{})
	before := w.describe(w.base, true)
	ctx, cancel := context.WithCancel(t.Context())
	packed := archive(t, "a/", "a/f=hello", "b => a")
	half := len(packed) / 2
	late := io.MultiReader(bytes.NewReader(packed[:half]), readFunc(func([]byte) (int, error) { cancel(); return 0, io.EOF }), bytes.NewReader(packed[half:]))
	_, err := history.Unpack(ctx, late, w.parse("x/new"), 0o755, newMaker())
	if refusedAs(t, "cancelled", err, fault.TimedOut); w.describe(w.base, true) != before {
		t.Error("something is left")
	}
}

type readFunc func([]byte) (int, error)

func (f readFunc) Read(b []byte) (int, error) { return f(b) }

func TestWhatAnotherProgramPutThereMeanwhileStays(t *testing.T) {
	w := newTree(t, confine.Options{})
	packed := archive(t, "a/", "a/f=hello")
	put := func([]byte) (int, error) {
		if err := os.WriteFile(w.at("new/theirs"), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		return 0, errors.New("and then the cable is out")
	}
	_, err := history.Unpack(t.Context(), io.MultiReader(bytes.NewReader(packed[:len(packed)-1024]), readFunc(put)), w.parse("new"), 0o755, newMaker())
	if left := fault.From(err).Details["left_over"]; left != "new" {
		t.Errorf("%v: left over %v", err, left)
	}
	if b, err := os.ReadFile(w.at("new/theirs")); err != nil || string(b) != "x" {
		t.Errorf("%q %v", b, err)
	}
}

// FuzzUnpack holds the properties of any bytes: nothing outside the directory is touched, and
// it is there, with what was told and fit for packing, or it is not there at all.
func FuzzUnpack(f *testing.F) {
	f.Add(archive(f, "a/", "a/f=hello", "l => a", "b/", "b/c/", "b/c/g="))
	f.Add(archive(f, "a => ../../out", "a/", "a/secret=x"))
	f.Add(archive(f, "../f=x"))
	f.Add(archive(f, strings.Repeat("é", 200)+"=x", "l => "+strings.Repeat("x", 300)))
	f.Add(one(f, &tar.Header{Name: "f", Typeflag: tar.TypeReg, Format: tar.FormatGNU, Mode: 0o4755}, "x"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		w := newTree(t, confine.Options{Symlinks: confine.Within}, "allow/mine=x")
		before := w.describe(w.base, true)
		count, err := history.Unpack(t.Context(), bytes.NewReader(b), w.parse("new"), 0o755, newMaker())
		if err != nil {
			if errors.Is(err, fault.Internal) || count != (history.Count{}) {
				t.Errorf("%v %+v", err, count)
			}
		} else {
			_, again := w.pack("new")
			if again.Executable = count.Executable; again != count || count.Bytes > int64(len(b)) {
				t.Errorf("%+v was told, %+v is there", count, again)
			}
			if err := os.RemoveAll(w.at("new")); err != nil {
				t.Fatal(err)
			}
		}
		if after := w.describe(w.base, true); after != before {
			t.Errorf("was\n%sis\n%s", before, after)
		}
	})
}
