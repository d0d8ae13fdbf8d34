//go:build linux || darwin

package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shared/fault"
)

func ptr(s string) *string { return &s }

func TestEditing(t *testing.T) {
	crlf := "one\r\n\ttwo\r\nthree\r\n\ttwo\r\nend"
	here := []string{"a.txt=one\ntwo\nthree\ntwo\n", "crlf.txt=" + crlf, "bom.txt=\xef\xbb\xbfone\n", "sjis.txt=\x82\xb1\x82\xf1\n\x90\xa2\x8aE\n", "pic.png=\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "l => a.txt"}
	for _, c := range []struct {
		what  string
		in    editIn
		code  error
		file  string
		holds string
	}{
		{"what stands there once", editIn{Path: "a.txt", Old: ptr("one"), New: ptr("1")}, nil, "a.txt", "1\ntwo\nthree\ntwo\n"},
		{"what stands there twice", editIn{Path: "a.txt", Old: ptr("two"), New: ptr("2")}, fault.ParamInvalid, "a.txt", "one\ntwo\nthree\ntwo\n"},
		{"every match", editIn{Path: "a.txt", Old: ptr("two"), New: ptr("2"), All: true}, nil, "a.txt", "one\n2\nthree\n2\n"},
		{"as many as were expected", editIn{Path: "a.txt", Old: ptr("two"), New: ptr("2"), Count: 2}, nil, "a.txt", "one\n2\nthree\n2\n"},
		{"fewer than were expected", editIn{Path: "a.txt", Old: ptr("two"), New: ptr("2"), Count: 3}, fault.ParamInvalid, "a.txt", "one\ntwo\nthree\ntwo\n"},
		{"several, in order", editIn{Path: "a.txt", Edits: []editsItem{{Old: "one", New: "1"}, {Old: "1\ntwo", New: "1\n2"}}}, nil, "a.txt", "1\n2\nthree\ntwo\n"},
		{"all or none", editIn{Path: "a.txt", Edits: []editsItem{{Old: "one", New: "1"}, {Old: "four", New: "4"}}}, fault.ParamInvalid, "a.txt", "one\ntwo\nthree\ntwo\n"},
		{"lines in a file with CRLF, which stays", editIn{Path: "crlf.txt", Old: ptr("three\n\ttwo\n"), New: ptr("3\n4\n")}, nil, "crlf.txt", "one\r\n\ttwo\r\n3\r\n4\r\nend"},
		{"nothing special in the new text", editIn{Path: "a.txt", Old: ptr("one"), New: ptr(`$1 \1 $& ${x}`)}, nil, "a.txt", "$1 \\1 $& ${x}\ntwo\nthree\ntwo\n"},
		{"a file with a byte-order mark, which stays", editIn{Path: "bom.txt", Old: ptr("one"), New: ptr("1")}, nil, "bom.txt", "\xef\xbb\xbf1\n"},
		{"a file in Shift_JIS, which it stays", editIn{Path: "sjis.txt", Old: ptr("こん"), New: ptr("世界")}, nil, "sjis.txt", "\x90\xa2\x8aE\n\x90\xa2\x8aE\n"},
		{"what Shift_JIS cannot hold", editIn{Path: "sjis.txt", Old: ptr("こん"), New: ptr("한")}, fault.ParamInvalid, "sjis.txt", "\x82\xb1\x82\xf1\n\x90\xa2\x8aE\n"},
		{"the version that was expected", editIn{Path: "bom.txt", Old: ptr("one"), New: ptr("1"), Expected: sumOf("\xef\xbb\xbfone\n")}, nil, "bom.txt", "\xef\xbb\xbf1\n"},
		{"another version", editIn{Path: "bom.txt", Old: ptr("one"), New: ptr("1"), Expected: sumOf("one\n")}, fault.Exists, "bom.txt", "\xef\xbb\xbfone\n"},
		{"a binary", editIn{Path: "pic.png", Old: ptr("IHDR"), New: ptr("x")}, fault.Forbidden, "a.txt", "one\ntwo\nthree\ntwo\n"},
		{"what becomes a script", editIn{Path: "a.txt", Old: ptr("one"), New: ptr("#!/bin/sh")}, fault.Forbidden, "a.txt", "one\ntwo\nthree\ntwo\n"},
		{"through a link", editIn{Path: "l", Old: ptr("one"), New: ptr("1")}, fault.Forbidden, "a.txt", "one\ntwo\nthree\ntwo\n"},
		{"a file that is not there", editIn{Path: "none", Old: ptr("one"), New: ptr("1")}, fault.NotFound, "none", "<none>"},
		{"nothing to replace", editIn{Path: "a.txt", Old: ptr(""), New: ptr("1")}, fault.ParamInvalid, "a.txt", "one\ntwo\nthree\ntwo\n"},
		{"the same", editIn{Path: "a.txt", Old: ptr("one"), New: ptr("one")}, fault.ParamInvalid, "a.txt", "one\ntwo\nthree\ntwo\n"},
		{"no old text", editIn{Path: "a.txt", New: ptr("one")}, fault.ParamMissing, "a.txt", "one\ntwo\nthree\ntwo\n"},
		{"no new text", editIn{Path: "a.txt", Old: ptr("one")}, fault.ParamMissing, "a.txt", "one\ntwo\nthree\ntwo\n"},
		{"both ways to say it", editIn{Path: "a.txt", Old: ptr("one"), New: ptr("1"), Edits: []editsItem{{Old: "two", New: "2"}}}, fault.ParamInvalid, "a.txt", "one\ntwo\nthree\ntwo\n"},
	} {
		w := newFixture(t, here...)
		out, err := w.edit(t.Context(), c.in)
		is(t, c.what, err, c.code)
		w.holds(c.what, c.file, c.holds)
		if err == nil && (out.SHA256 != sumOf(c.holds) || out.Diff == "" || out.ChangeID == "") {
			t.Errorf("%s: told is %+v", c.what, out)
		}
		dry := newFixture(t, here...)
		c.in.DryRun = true
		shown, dryErr := dry.edit(t.Context(), c.in)
		if (err == nil) != (dryErr == nil) || err == nil && (shown.Diff != out.Diff || shown.SHA256 != out.SHA256 || shown.ChangeID != "") {
			t.Errorf("%s, dry: %+v, %v; in earnest %+v, %v", c.what, shown, dryErr, out, err)
		}
		changes, err := dry.listChanges(t.Context(), changesIn{Limit: 10})
		if err != nil || len(changes.Changes) > 0 {
			t.Errorf("%s, dry: a change is kept: %+v, %v", c.what, changes, err)
		}
	}
}

func TestANearMissIsExplained(t *testing.T) {
	w := newFixture(t, "a.go=func main() {\n\tprintln(\"hello\")\n}\n")
	_, err := w.edit(t.Context(), editIn{Path: "a.go", Old: ptr("    println(\"hello\")"), New: ptr("    println(\"bye\")")})
	var e *fault.Error
	if !errors.As(err, &e) || e.Code != fault.ParamInvalid || e.Details["line"] != 2 || !strings.Contains(e.Msg+e.Do, "indent") {
		t.Errorf("got %+v", e)
	}
	w.holds("afterwards", "a.go", "func main() {\n\tprintln(\"hello\")\n}\n")
}

func TestAnEditIsToldInALineAndADifference(t *testing.T) {
	w := newFixture(t, "a.txt=one\ntwo\n")
	out, err := w.edit(t.Context(), editIn{Path: "a.txt", Old: ptr("two"), New: ptr("2"), DryRun: true})
	is(t, "dry", err, nil)
	if want := "[dry run, nothing was changed] Edited: a.txt (replacements: 1, sha256 " + sumOf("one\n2\n") + ")\n--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"; out.Text() != want {
		t.Errorf("told is %q, want %q", out.Text(), want)
	}
}
