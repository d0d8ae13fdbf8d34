package hosts_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/hosts"
)

func writeFile(path string, text []byte) error { return os.WriteFile(path, text, 0o600) }

var noon = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

// given is a file that was read.
func given(t *testing.T, text string) (string, hosts.File) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.json")
	if err := writeFile(path, []byte(text)); err != nil {
		t.Fatal(err)
	}
	f, err := hosts.Read(path)
	if err != nil || !f.There() || string(f.Text) != text {
		t.Fatalf("read %q, %v", f.Text, err)
	}
	return path, f
}

func content(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// names are what lies in the directory of path.
func names(t *testing.T, path string) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

func TestEveryChangeKeepsWhatWasThereUnderAFreeName(t *testing.T) {
	path, f := given(t, "one")
	for i, text := range []string{"two", "three"} {
		backup, err := f.Write([]byte(text), noon)
		if err != nil {
			t.Fatal(err)
		}
		if want := path + ".bak-20261128T120000Z" + []string{"", "-2"}[i]; backup != want || content(t, backup) != string(f.Text) {
			t.Errorf("kept as %s: %q", backup, content(t, backup))
		}
		if f, err = hosts.Read(path); err != nil || string(f.Text) != text {
			t.Errorf("it holds %q, %v", f.Text, err)
		}
	}
	if got := names(t, path); len(got) != 3 {
		t.Errorf("there are %q", got)
	}
}

func TestAFileThatChangedMeanwhileIsLeftAlone(t *testing.T) {
	for what, meanwhile := range map[string]func(path string) error{
		"other text": func(path string) error { return writeFile(path, []byte("other")) },
		"removed":    os.Remove,
	} {
		path, f := given(t, "one")
		if err := meanwhile(path); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte("two"), noon); !errors.Is(err, hosts.Changed) {
			t.Errorf("%s: %v", what, err)
		}
		for _, name := range names(t, path) {
			if name != "config.json" || content(t, path) != "other" {
				t.Errorf("%s: %s", what, name)
			}
		}
	}
	path := filepath.Join(t.TempDir(), "new.json")
	f, err := hosts.Read(path)
	if err != nil || f.There() {
		t.Fatal(err)
	}
	if err := writeFile(path, []byte("other")); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("two"), noon); !errors.Is(err, hosts.Changed) || content(t, path) != "other" {
		t.Errorf("a file that came meanwhile: %v, %q", err, content(t, path))
	}
}

func TestModeAndOwnerStay(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes are of Unix")
	}
	path, _ := given(t, "one")
	if err := os.Chmod(path, 0o664); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		if err := os.Chown(path, 12345, 54321); err != nil {
			t.Fatal(err)
		}
	}
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := hosts.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	backup, err := f.Write([]byte("two"), noon)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{path, backup} {
		after, err := os.Stat(file)
		if err != nil || after.Mode() != before.Mode() || owner(after) != owner(before) {
			t.Errorf("%s is %v of %s, want %v of %s", file, after.Mode(), owner(after), before.Mode(), owner(before))
		}
	}
}

func TestAFileThatIsNotToBeChangedIsNot(t *testing.T) {
	path, _ := given(t, "one")
	if err := os.Chmod(path, 0o444); err != nil {
		t.Fatal(err)
	}
	f, err := hosts.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("two"), noon); !errors.Is(err, fault.PermissionDenied) || content(t, path) != "one" {
		t.Errorf("%v, %q", err, content(t, path))
	}
	if _, err := hosts.Read(filepath.Dir(path)); !errors.Is(err, fault.Misconfigured) {
		t.Errorf("a directory: %v", err)
	}
}

func TestPatchUnderstandsTheDifference(t *testing.T) {
	patch, err := exec.LookPath("patch")
	if err != nil {
		t.Skip("there is no patch")
	}
	for _, c := range [][2]string{
		{"", "a\n"}, {"a\n", ""}, {"a\nb\nc\nd\ne\nf\n", "a\nb\nc\nx\nd\ne\nf\n"}, {"a", "a\nb"}, {"a\nb", "a"}, {"a\na\n", "a\na\na\n"}, {"1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nX\n6\n7\n8\n9\n"},
	} {
		path, _ := given(t, c[0])
		diff := hosts.Diff("config.json", []byte(c[0]), []byte(c[1]))
		cmd := exec.Command(patch, "-s", "-u", path)
		cmd.Stdin = strings.NewReader(diff)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%q to %q: %v: %s\n%s", c[0], c[1], err, out, diff)
			continue
		}
		if got, _ := os.ReadFile(path); string(got) != c[1] {
			t.Errorf("%q became %q by\n%s", c[0], got, diff)
		}
	}
	if diff := hosts.Diff("x", []byte("a"), []byte("a")); diff != "" {
		t.Errorf("nothing changed, and it says %s", diff)
	}
}
