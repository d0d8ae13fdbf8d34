package main

import (
	"errors"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/audit"
	"github.com/multiollama/mcp-server/shared/mcptest"
)

// furniture is what the tests of this file find in the allowed directory.
var furniture = []string{"a.txt=one\ntwo\n", "b.txt=other\n", "t/x.txt=x\n", "t/u/y.txt=y\n"}

func (h house) furnish(entries ...string) {
	h.t.Helper()
	must(h.t, os.MkdirAll(h.dir+"/t/u", 0o755))
	for _, e := range entries {
		name, content, _ := strings.Cut(e, "=")
		must(h.t, os.WriteFile(h.dir+"/"+name, []byte(content), 0o644))
	}
}

// everyChange is a call of every kind that changes something in the furniture. What
// they would write is of that many bytes.
func everyChange(bytes int) []struct{ what, tool, args string } {
	text := strings.Repeat("x", bytes)
	return []struct{ what, tool, args string }{
		{"create", "file_write", `{"path":"new.txt","content":"` + text + `"}`},
		{"create in a new directory", "file_write", `{"path":"n/m/new.txt","content":"` + text + `"}`},
		{"overwrite", "file_write", `{"path":"a.txt","content":"` + text + `","overwrite":true}`},
		{"append", "file_write", `{"path":"a.txt","content":"` + text + `","append":true}`},
		{"edit", "edit_file", `{"path":"a.txt","old_string":"two","new_string":"` + text + `"}`},
		{"make a directory", "create_directory", `{"path":"n"}`},
		{"copy", "copy_file", `{"source":"a.txt","destination":"c.txt"}`},
		{"copy onto a file", "copy_file", `{"source":"a.txt","destination":"b.txt","overwrite":true}`},
		{"move", "move_file", `{"source":"a.txt","destination":"c.txt"}`},
		{"move onto a file", "move_file", `{"source":"a.txt","destination":"b.txt","overwrite":true}`},
		{"delete", "delete_file", `{"path":"a.txt"}`},
		{"delete a directory", "delete_file", `{"path":"t","recursive":true}`},
	}
}

// changes is what the history of a server lists.
func changes(t *testing.T, c *mcptest.Client) []changeOut {
	t.Helper()
	var out changesOut
	r := c.Call("list_changes", `{"limit":1000}`)
	if r.IsError || r.Decode(&out) != nil {
		t.Fatalf("list_changes: %s", r.Text)
	}
	return out.Changes
}

func TestAFullDiskIsToldAndNothingIsTouched(t *testing.T) {
	h := mounted(t, "allow", "1m")
	h.furnish(furniture...)
	before, _ := filesIn(t, h.dir)
	server := h.start()
	tried := 0
	for _, c := range everyChange(2 << 20) {
		if !strings.Contains(c.args, "xxx") {
			continue // takes no room
		}
		tried++
		if r := server.Call(c.tool, c.args); r.Code != "EXECUTION_004" {
			t.Errorf("%s: %s %.200s, want EXECUTION_004", c.what, r.Code, r.Text)
		}
		h.unchanged(c.what, before)
		if _, err := os.Stat(h.dir + "/n"); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: a new directory is left", c.what)
		}
	}
	if all := changes(t, server); len(all) > 0 {
		t.Errorf("the history lists what did not happen: %v", all)
	}
	for _, c := range everyChange(10) {
		if r := server.Call(c.tool, c.args); c.what == "overwrite" && (r.IsError || h.content("a.txt") != "xxxxxxxxxx") {
			t.Errorf("a small write afterwards: %s", r.Text)
		}
	}
	if h.verified(); tried < 5 {
		t.Errorf("only %d were tried", tried)
	}
}

// Where there is no room to keep what was there, nothing is changed that would lose it.
func TestAFullHistoryRefusesWhatItCouldNotKeep(t *testing.T) {
	h := mounted(t, "history", "1m")
	must(t, os.Mkdir(h.dir, 0o755))
	h.furnish(furniture...)
	before, _ := filesIn(t, h.dir)
	server := h.start()
	free := filled(t, h.history)
	refused := 0
	for _, c := range everyChange(10) {
		switch c.what {
		case "overwrite", "append", "edit", "copy onto a file", "move onto a file", "delete", "delete a directory":
		default:
			continue // loses nothing
		}
		if r := server.Call(c.tool, c.args); r.Code != "EXECUTION_004" {
			t.Errorf("%s: %s %.200s, want EXECUTION_004", c.what, r.Code, r.Text)
		} else {
			refused++
		}
		h.unchanged(c.what, before)
	}
	if r := server.Call("file_write", `{"path":"new.txt","content":"new"}`); r.IsError || h.content("new.txt") != "new" {
		t.Errorf("what loses nothing: %s %s", r.Code, r.Text)
	}
	free()
	if r := server.Call("file_write", `{"path":"a.txt","content":"new","overwrite":true}`); r.IsError || h.content("a.txt") != "new" {
		t.Errorf("with room again: %s %s", r.Code, r.Text)
	}
	if all := changes(t, server); len(all) != 1 || all[0].SHA256 != sha256Of("one\ntwo\n") {
		t.Errorf("the history lists %v", all)
	}
	h.verified()
	if refused != 7 {
		t.Errorf("%d kinds of change were refused", refused)
	}
}

// The last page of the log has room for a few events more; then every change is refused
// before it happens.
func TestAFullDiskUnderTheAuditLogStopsAllChanges(t *testing.T) {
	h := mounted(t, "audit", "1m")
	must(t, os.Mkdir(h.dir, 0o755))
	h.furnish(furniture...)
	server := h.start()
	free := filled(t, h.dir+"/../audit")
	done := 0
	for ; done < 30; done++ {
		if r := server.Call("create_directory", `{"path":"t"}`); r.IsError {
			break
		}
	}
	before, _ := filesIn(t, h.dir)
	h.refusesAll(server, before)
	free()
	if r := server.Call("file_write", `{"path":"a.txt","content":"new","overwrite":true}`); r.IsError || h.content("a.txt") != "new" {
		t.Errorf("with room again: %s %s", r.Code, r.Text)
	}
	h.verified()
	t.Logf("refused after %d events", 2*done)
}

// refusesAll checks that every change is refused unrecorded, and not begun.
func (h house) refusesAll(server *mcptest.Client, before map[string]string) {
	h.t.Helper()
	const unrecorded = "SYSTEM_002"
	for _, c := range everyChange(10) {
		if r := server.Call(c.tool, c.args); r.Code != unrecorded || !strings.Contains(r.Text, "audit log") {
			h.t.Errorf("%s: %s %.200s, want %s", c.what, r.Code, r.Text, unrecorded)
		}
		h.unchanged(c.what, before)
	}
	for _, tool := range []string{"list_allowed_directories", "list_changes"} { // what was read is withheld
		if r := server.Call(tool, "{}"); r.Code != unrecorded {
			h.t.Errorf("%s: %s %.200s, want %s", tool, r.Code, r.Text, unrecorded)
		}
	}
}

func TestAnAuditLogThatCannotBeWrittenStopsAllChanges(t *testing.T) {
	for _, c := range []struct {
		what  string
		spoil func(file string) (repair func() error, err error)
	}{
		{"the log is a directory now", swappedForDirectory("")},
		{"the head record is a directory now", swappedForDirectory(".head")},
		{"the log is a link now", func(file string) (func() error, error) {
			return func() error { return errors.Join(os.Remove(file), os.Rename(file+"~", file)) },
				errors.Join(os.Rename(file, file+"~"), os.Symlink(file+"~", file))
		}},
		{"the log may not be changed", func(file string) (func() error, error) {
			return func() error { return immutable(file, false) }, immutable(file, true)
		}},
	} {
		h := newHouse(t, mcptest.Tree(t), furniture...)
		server := h.start()
		if r := server.Call("create_directory", `{"path":"t"}`); r.IsError {
			t.Fatalf("%s: before: %s", c.what, r.Text)
		}
		before, _ := filesIn(t, h.dir)
		repair, err := c.spoil(h.record)
		if errors.Is(err, unix.ENOTTY) || errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EPERM) {
			t.Logf("SKIPPED: %s: %v", c.what, err)
			continue
		}
		must(t, err)
		h.refusesAll(server, before)
		must(t, repair())
		if r := server.Call("file_write", `{"path":"a.txt","content":"new","overwrite":true}`); r.IsError || h.content("a.txt") != "new" {
			t.Errorf("%s: repaired: %s %s", c.what, r.Code, r.Text)
		}
		if all := changes(t, server); len(all) != 1 {
			t.Errorf("%s: the history lists %v", c.what, all)
		}
		h.verified()
		server.Close()
	}
}

func swappedForDirectory(suffix string) func(string) (func() error, error) {
	return func(file string) (func() error, error) {
		file += suffix
		return func() error { return errors.Join(os.Remove(file), os.Rename(file+"~", file)) },
			errors.Join(os.Rename(file, file+"~"), os.Mkdir(file, 0o700))
	}
}

// immutable sets or clears what chattr +i does, which holds for files that are open too.
func immutable(file string, on bool) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close() // nothing was written through it
	flags, err := unix.IoctlGetInt(int(f.Fd()), unix.FS_IOC_GETFLAGS)
	if err != nil {
		return err
	}
	const immutableFlag = 0x10 // FS_IMMUTABLE_FL of linux/fs.h
	flags &^= immutableFlag
	if on {
		flags |= immutableFlag
	}
	return unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, flags)
}

// Without --audit-required, what cannot be recorded happens, and the person who runs the
// server is told.
func TestAnAuditLogThatIsNotRequiredStopsNothing(t *testing.T) {
	h := newHouse(t, mcptest.Tree(t), furniture...)
	server := h.start("--audit-required=false")
	repair, err := swappedForDirectory(".head")(h.record)
	must(t, err)
	if r := server.Call("file_write", `{"path":"a.txt","content":"new","overwrite":true}`); r.IsError || h.content("a.txt") != "new" {
		t.Errorf("%s %s", r.Code, r.Text)
	}
	if !strings.Contains(server.Stderr(), "an audit event could not be stored") {
		t.Errorf("stderr: %s", server.Stderr())
	}
	must(t, repair())
	if r, err := audit.Verify(h.record); err != nil || r.Events != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}
