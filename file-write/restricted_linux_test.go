package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/audit"
	"github.com/multiollama/mcp-server/shared/mcptest"
	"github.com/multiollama/mcp-server/shared/restrict"
)

// restricted skips where the kernel cannot restrict a process wholly.
func restricted(t *testing.T) {
	t.Helper()
	if !restrict.Probe().Holds() {
		t.Skip("SKIPPED: this kernel cannot restrict a process wholly; doctor says what it lacks")
	}
}

func TestARestrictedServerDoesAllItsWork(t *testing.T) {
	restricted(t)
	h := newHouse(t, mcptest.Tree(t), furniture...)
	must(t, os.Chmod(h.dir+"/a.txt", 0o640))
	must(t, os.Chown(h.dir+"/a.txt", os.Getuid(), os.Getgid()))
	labelled := unix.Setxattr(h.dir+"/a.txt", "user.label", []byte("kept"), 0)
	h.nearlyRotating()
	server := h.start("--restrict", "required")
	for field, want := range map[string]string{"NoNewPrivs": "1", "Seccomp": "2"} {
		if got := status(t, server.PID(), field); got != want {
			t.Errorf("%s is %s, want %s", field, got, want)
		}
	}
	for _, c := range [][2]string{
		{"file_write", `{"path":"a.txt","content":"new ","overwrite":true}`},
		{"file_write", `{"path":"a.txt","content":"and more","append":true}`},
		{"edit_file", `{"path":"a.txt","old_string":"more","new_string":"edited"}`},
		{"file_write", `{"path":"n/m/new.txt","content":"new"}`},
		{"create_directory", `{"path":"n/k"}`},
		{"copy_file", `{"source":"a.txt","destination":"c.txt"}`},
		{"copy_file", `{"source":"a.txt","destination":"b.txt","overwrite":true}`},
		{"move_file", `{"source":"c.txt","destination":"n/c.txt"}`},
		{"move_file", `{"source":"n/c.txt","destination":"b.txt","overwrite":true}`},
		{"delete_file", `{"path":"b.txt"}`},
		{"delete_file", `{"path":"t","recursive":true}`},
	} {
		if r := server.Call(c[0], c[1]); r.IsError {
			t.Errorf("%s %s: %s %s", c[0], c[1], r.Code, r.Text)
		}
	}
	if got := h.content("a.txt"); got != "new and edited" {
		t.Errorf("a.txt holds %q", got)
	}
	h.dressed(labelled == nil)
	all := changes(t, server)
	for _, c := range all {
		if c.Directory {
			if r := server.Call("restore_file", map[string]any{"change_id": c.ID}); r.IsError || h.content("t/u/y.txt") != "y\n" {
				t.Errorf("restoring a directory: %s %s", r.Code, r.Text)
			}
		}
	}
	if len(all) != 9 {
		t.Errorf("the history lists %d changes: %v", len(all), all)
	}
	if r := h.verified(); r.Files < 2 {
		t.Errorf("the audit log has %d file: it was not rotated", r.Files)
	}
}

// dressed checks that a.txt has kept what it had besides its content.
func (h house) dressed(labelled bool) {
	h.t.Helper()
	info, err := os.Stat(h.dir + "/a.txt")
	if err != nil || info.Mode().Perm() != 0o640 {
		h.t.Errorf("the mode is %v, %v", info.Mode(), err)
	}
	if !labelled {
		h.t.Log("SKIPPED: this file system has no extended attributes")
		return
	}
	label := make([]byte, 10)
	if n, err := unix.Getxattr(h.dir+"/a.txt", "user.label", label); err != nil || string(label[:n]) != "kept" {
		h.t.Errorf("the attribute is %q, %v", label[:max(n, 0)], err)
	}
}

// nearlyRotating fills the audit log so far that a few events more make it rotate.
func (h house) nearlyRotating() {
	h.t.Helper()
	const rotated = 64 << 20
	log, err := audit.Open(h.record, audit.Options{})
	must(h.t, err)
	long, err := json.Marshal(strings.Repeat("x", audit.MaxLine-2000))
	must(h.t, err)
	e := audit.Event{Tool: "filler", Verdict: "allow", Outcome: "ok"}
	for size := int64(0); size < rotated-5000; {
		if e.Arguments = nil; size < rotated-2*audit.MaxLine {
			e.Arguments = long
		}
		must(h.t, log.Record(e))
		info, err := os.Stat(h.record)
		must(h.t, err)
		size = info.Size()
	}
	must(h.t, log.Close())
	if old, err := filepath.Glob(filepath.Dir(h.record) + "/*.0*"); err != nil || len(old) > 0 {
		h.t.Fatalf("the log has been rotated already: %v, %v", old, err)
	}
}

// A link that a server may follow leads no change outside, whether the kernel stands
// behind it or not.
func TestNoLinkLeadsAChangeOutside(t *testing.T) {
	for _, mode := range []string{"off", "required"} {
		if mode == "required" {
			restricted(t)
		}
		base := mcptest.Tree(t, "out/a.txt=SECRET\n", "out/t/x.txt=SECRET\n")
		h := newHouse(t, base, "in/a.txt=one\ntwo\n", "a.txt=one\ntwo\n", "b.txt=b\n", "t/x.txt=x\n", "t/u/y.txt=y\n")
		for name, target := range map[string]string{
			"inside": "in", "outside": base + "/out", "up": "../out", "file": base + "/out/a.txt", "twice": "outside", "self": "/proc/self/cwd", "root": "/",
		} {
			must(t, os.Symlink(target, filepath.Join(h.dir, name)))
		}
		server := h.start("--restrict", mode, "--symlinks", "within")
		if r := server.Call("file_write", `{"path":"inside/a.txt","content":"through a link","overwrite":true}`); r.IsError || h.content("in/a.txt") != "through a link" {
			t.Errorf("%s: a link within: %s %s", mode, r.Code, r.Text)
		}
		tried := 0
		before, _ := filesIn(t, h.dir)
		for _, to := range []string{"outside/a.txt", "up/a.txt", "file", "twice/a.txt", "self/a.txt", "root" + base + "/out/a.txt", "outside/n/new.txt"} {
			for _, c := range everyChange(10) {
				args := strings.NewReplacer(`"n"`, `"`+to+`/n"`, "a.txt", to, "n/m/new.txt", to+"/n", "new.txt", to, `"t"`, `"outside/t"`).Replace(c.args)
				if r := server.Call(c.tool, args); !strings.HasPrefix(r.Code, "SECURITY_") {
					t.Errorf("%s: %s through %s: %s %s", mode, c.what, to, r.Code, r.Text)
				}
				tried++
			}
		}
		outside, drafts := filesIn(t, base+"/out")
		if len(outside) != 2 || outside["a.txt"] != "SECRET\n" || outside["t/x.txt"] != "SECRET\n" || drafts > 0 || tried < 80 {
			t.Errorf("%s: after %d tries there is outside %q", mode, tried, outside)
		}
		h.unchanged(mode, before)
		server.Close()
	}
}
