package replace_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/mcptest"
	"github.com/multiollama/mcp-server/shared/replace"
	"github.com/multiollama/mcp-server/shared/restrict"
)

// noLandlock is the exit code of a child that could not confine itself.
const noLandlock = 77

func TestAProcessConfinedByTheKernelStillChangesFiles(t *testing.T) {
	base := fixture(t, "allow/d/f: old")
	err := mcptest.Child(t, "confined", base).Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == noLandlock {
		t.Skip("this kernel has no Landlock")
	}
	if err != nil || content(base+"/allow/d/f") != "third" || content(base+"/allow/new") != "new" {
		t.Errorf("%v: %q, %q", err, content(base+"/allow/d/f"), content(base+"/allow/new"))
	}
}

// confinedChild WORLD restricts itself as a server does and makes each kind of change.
func confinedChild(args []string) error {
	r, err := confine.Open([]string{args[0] + "/allow"}, confine.Options{})
	if err != nil {
		return err
	}
	report, err := restrict.Self(restrict.Rules{Write: []string{args[0] + "/allow"}, Attributes: true})
	if err != nil {
		return err
	}
	if _, err := os.ReadFile(args[0] + "/out/secret"); err == nil {
		fmt.Fprintln(os.Stderr, report)
		os.Exit(noLandlock)
	}
	f, err := r.Parse("d/f")
	fresh, err2 := r.Parse("new")
	var w replace.Writer
	_, err3 := w.Create(background, fresh, []byte("new"), replace.Options{})
	_, err4 := w.Replace(background, f, []byte("second"), replace.Options{})
	_, err5 := w.Replace(background, f, []byte("third"), expecting("second"))
	w.Without(true, true, false)
	_, err6 := w.Update(background, f, becoming("second"))
	_, err7 := w.Update(background, f, becoming("third"))
	return errors.Join(err, err2, err3, err4, err5, err6, err7)
}

// Whoever may write into another's file, and into its directory, could replace it and
// would own it then.
func TestAFileIsNotTakenOverFromItsOwner(t *testing.T) {
	base := fixture(t, "allow/f: old")
	asStranger(t, "stranger", base, 0o777)
	if names(t, base+"/allow") != "f mine" || content(base+"/allow/f") != "old" {
		t.Errorf("left are %s; the file holds %q", names(t, base+"/allow"), content(base+"/allow/f"))
	}
}

// A draft needs a directory that may be written, however open the file itself is (EACCES).
func TestADirectoryThatOthersMayNotWriteIsToldAsSuch(t *testing.T) {
	base := fixture(t, "allow/f: old", "allow/d/")
	asStranger(t, "outsider", base, 0o755)
	if names(t, base+"/allow") != "d f" || content(base+"/allow/f") != "old" {
		t.Errorf("left are %s; the file holds %q", names(t, base+"/allow"), content(base+"/allow/f"))
	}
}

// asStranger runs a child as another user on allow/, which has the mode, and whose file
// f everybody may write.
func asStranger(t *testing.T, name, base string, mode os.FileMode) {
	t.Helper()
	asRoot(t)
	for _, dir := range []string{base + "/..", base} {
		must(t, os.Chmod(dir, 0o777))
	}
	must(t, os.Chmod(base+"/allow", mode))
	must(t, os.Chmod(base+"/allow/f", 0o666))
	cmd := mcptest.Child(t, name, base+"/allow")
	program, err := os.ReadFile(cmd.Path)
	must(t, err)
	cmd.Path = base + "/child" // where it was built, others may not go
	must(t, os.WriteFile(cmd.Path, program, 0o755))
	if !reachable(cmd.Path) {
		t.Skip("SKIPPED: other users cannot reach temporary directories here")
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 12345, Gid: 12345}}
	must(t, cmd.Run())
}

// reachable says whether every directory above file lets everybody through.
func reachable(file string) bool {
	for dir := filepath.Dir(file); dir != "/"; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm()&1 == 0 {
			return false
		}
	}
	return true
}

// strangerChild DIR must fail to replace f, which is another's, and can do as it
// likes with a file of its own.
func strangerChild(args []string) error {
	r, err := confine.Open(args, confine.Options{})
	if err != nil {
		return err
	}
	var w replace.Writer
	f, err := r.Parse("f")
	mine, err2 := r.Parse("mine")
	for what, do := range map[string]act{"replace": replacing("new", replace.Options{}), "update": updating("new")} {
		if _, err := do(&w, f); !errors.Is(err, fault.PermissionDenied) {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	_, err3 := creating("x")(&w, mine)
	_, err4 := replacing("y", replace.Options{})(&w, mine)
	return errors.Join(err, err2, err3, err4)
}

// outsiderChild DIR must fail to change anything in DIR, and find that it is EACCES.
func outsiderChild(args []string) error {
	r, err := confine.Open(args, confine.Options{})
	if err != nil {
		return err
	}
	for what, err := range everyChange(r) {
		if e, ok := errors.AsType[*fault.Error](err); !ok || e.Code != fault.PermissionDenied || !errors.Is(e.Err, syscall.EACCES) {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	return nil
}

// everyChange tries to make new, change f, make new/sub and remove d.
func everyChange(r *confine.Roots) map[string]error {
	errs := map[string]error{}
	for what, c := range map[string]struct {
		name string
		do   act
	}{
		"create": {"new", creating("new")}, "create from": {"new", streaming("new")},
		"replace": {"f", replacing("new", replace.Options{})}, "with a hash": {"f", replacing("new", expecting("old"))}, "update": {"f", updating("new")},
		"make directories": {"new/sub", func(w *replace.Writer, p confine.Path) (replace.Result, error) {
			_, err := w.MakeDirs(background, p)
			return replace.Result{}, err
		}},
		"remove a directory": {"d", func(w *replace.Writer, p confine.Path) (replace.Result, error) {
			return replace.Result{}, w.RemoveDir(background, p)
		}},
	} {
		p, err := r.Parse(c.name)
		if err == nil {
			_, err = c.do(&replace.Writer{}, p)
		}
		errs[what] = err
	}
	return errs
}
