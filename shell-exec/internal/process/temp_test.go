//go:build unix

package process_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/multiollama/mcp-server/shell-exec/internal/process"
)

func there(path string) bool { _, err := os.Lstat(path); return err == nil }

// A test starts this process again to make a directory and to be killed.
func init() {
	register := os.Getenv("PROCESS_TEST_REGISTER")
	if register == "" {
		return
	}
	d, err := process.MakeTempDir(register, "leased-test-")
	if err != nil {
		panic(err)
	}
	os.Stdout.WriteString(d.Path)
	os.Exit(9) // without Close, as when killed
}

// killed is the directory of a process that ended without removing it.
func killed(t *testing.T, register string) string {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "PROCESS_TEST_REGISTER="+register)
	out, _ := cmd.Output()
	if !there(string(out)) {
		t.Fatalf("it left nothing: %q", out)
	}
	return string(out)
}

func TestADirectoryGoesWithItsOwner(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	register := t.TempDir()
	d, err := process.MakeTempDir(register, "leased-test-")
	must(t, err)
	must(t, os.MkdirAll(d.Path+"/a/b", 0o700))
	must(t, os.Chmod(d.Path+"/a", 0)) // removed all the same, by whom rights stop too
	must(t, process.SweepTempDirs(register))
	if !there(d.Path) {
		t.Fatal("it was removed while its owner lives")
	}
	must(t, d.Close())
	if left, _ := os.ReadDir(register); there(d.Path) || len(left) > 0 {
		t.Errorf("the directory or its lease is left: %v", left)
	}
}

func TestWhatAKilledOwnerLeftIsRemoved(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	register, outside := t.TempDir(), t.TempDir()
	dir := killed(t, register)
	must(t, os.WriteFile(outside+"/precious", nil, 0o600))
	must(t, os.MkdirAll(dir+"/closed/x", 0o700))
	must(t, os.Symlink(outside, dir+"/closed/link"))
	must(t, os.Chmod(dir+"/closed", 0o500))
	must(t, process.SweepTempDirs(register))
	if left, _ := os.ReadDir(register); there(dir) || len(left) > 0 {
		t.Errorf("it is left, or its lease: %v", left)
	}
	if !there(outside + "/precious") {
		t.Error("a link was followed")
	}
}

func TestWhatOnlyHasTheNameStays(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	register, outside := t.TempDir(), t.TempDir()
	must(t, os.WriteFile(outside+"/precious", nil, 0o600))

	replaced := killed(t, register)
	must(t, os.Rename(replaced, replaced+".moved"))
	must(t, os.Mkdir(replaced, 0o700))
	must(t, os.WriteFile(replaced+"/precious", nil, 0o600))

	linked := killed(t, register)
	must(t, os.Remove(linked))
	must(t, os.Symlink(outside, linked))

	stranger := filepath.Join(os.TempDir(), "leased-test-stranger")
	must(t, os.Mkdir(stranger, 0o700))

	must(t, process.SweepTempDirs(register))
	for _, path := range []string{replaced + "/precious", linked, outside + "/precious", stranger} {
		if !there(path) {
			t.Errorf("%s was removed", path)
		}
	}
	if left, _ := os.ReadDir(register); len(left) > 0 {
		t.Errorf("leases are left: %v", left)
	}
}

func TestWhatWasNotUsedForLongExpires(t *testing.T) {
	dir := t.TempDir()
	long := time.Now().Add(-time.Hour)
	for _, name := range []string{"new", "old"} {
		must(t, os.MkdirAll(dir+"/"+name+"/x", 0o700))
	}
	must(t, os.Chmod(dir+"/old/x", 0o500))
	must(t, os.WriteFile(dir+"/file", nil, 0o600))
	must(t, os.Symlink(t.TempDir(), dir+"/link"))
	for _, name := range []string{"old", "file"} {
		must(t, os.Chtimes(dir+"/"+name, long, long))
	}
	must(t, process.RemoveUnused(dir, time.Now().Add(-time.Minute)))
	for name, stays := range map[string]bool{"new": true, "file": true, "link": true, "old": false} {
		if there(dir+"/"+name) != stays {
			t.Errorf("%s is there: %t", name, !stays)
		}
	}
}
