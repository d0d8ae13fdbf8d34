//go:build linux || darwin

package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
)

func sumOf(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

func TestWriting(t *testing.T) {
	sjis := "\x82\xb1\x82\xf1\x82\xc9\x82\xbf\x82\xcd\x81A\x90\xa2\x8aE\n"
	here := []string{"a.txt=old\n", "sub/", "crlf.txt=one\r\ntwo\r\n", "bom.txt=\xef\xbb\xbfold\n", "sjis.txt=" + sjis, "pic.png=\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "l => a.txt", "empty.txt="}
	for _, c := range []struct {
		what  string
		in    writeIn
		code  error
		file  string
		holds string
	}{
		{"a new file", writeIn{Path: "new.txt", Content: "text\n"}, nil, "new.txt", "text\n"},
		{"a new empty file", writeIn{Path: "new.txt"}, nil, "new.txt", ""},
		{"a new file in UTF-16", writeIn{Path: "new.txt", Content: "é", Encoding: "utf-16le"}, nil, "new.txt", "\xff\xfe\xe9\x00"},
		{"a new file in directories that are missing", writeIn{Path: "x/y/new.txt", Content: "text", Parents: true}, nil, "x/y/new.txt", "text"},
		{"the same without leave to make them", writeIn{Path: "x/y/new.txt", Content: "text"}, fault.NotFound, "x/y/new.txt", "<none>"},
		{"a file that exists", writeIn{Path: "a.txt", Content: "new"}, fault.Exists, "a.txt", "old\n"},
		{"a file that exists, to be overwritten", writeIn{Path: "a.txt", Content: "new", Overwrite: true}, nil, "a.txt", "new"},
		{"a file that does not exist, to be overwritten", writeIn{Path: "new.txt", Content: "new", Overwrite: true}, nil, "new.txt", "new"},
		{"the version that was expected", writeIn{Path: "a.txt", Content: "new", Overwrite: true, Expected: strings.ToUpper(sumOf("old\n"))}, nil, "a.txt", "new"},
		{"another version than was expected", writeIn{Path: "a.txt", Content: "new", Overwrite: true, Expected: sumOf("older\n")}, fault.Exists, "a.txt", "old\n"},
		{"an expected version of nothing", writeIn{Path: "new.txt", Content: "new", Overwrite: true, Expected: sumOf("old\n")}, fault.NotFound, "new.txt", "<none>"},
		{"an expected version that is none", writeIn{Path: "a.txt", Content: "new", Overwrite: true, Expected: "abc"}, fault.ParamMalformed, "a.txt", "old\n"},
		{"an expected version without overwriting", writeIn{Path: "new.txt", Content: "new", Expected: sumOf("")}, fault.ParamInvalid, "new.txt", "<none>"},
		{"at the end", writeIn{Path: "a.txt", Content: "more\n", Append: true}, nil, "a.txt", "old\nmore\n"},
		{"at the end of nothing", writeIn{Path: "new.txt", Content: "more\n", Append: true}, nil, "new.txt", "more\n"},
		{"at the end of an empty file", writeIn{Path: "empty.txt", Content: "more\n", Append: true}, nil, "empty.txt", "more\n"},
		{"at the end of a binary", writeIn{Path: "pic.png", Content: "more\n", Append: true}, fault.Forbidden, "l", "old\n"},
		{"over it and at its end", writeIn{Path: "a.txt", Content: "more\n", Append: true, Overwrite: true}, fault.ParamInvalid, "a.txt", "old\n"},
		{"over a binary", writeIn{Path: "pic.png", Content: "text\n", Overwrite: true}, nil, "pic.png", "text\n"},
		{"over a file with a byte-order mark, which stays", writeIn{Path: "bom.txt", Content: "new\n", Overwrite: true}, nil, "bom.txt", "\xef\xbb\xbfnew\n"},
		{"line ends as they are given", writeIn{Path: "crlf.txt", Content: "a\nb\r\n", Overwrite: true}, nil, "crlf.txt", "a\nb\r\n"},
		{"over a file in Shift_JIS, which it stays", writeIn{Path: "sjis.txt", Content: "世界\n", Overwrite: true}, nil, "sjis.txt", "\x90\xa2\x8aE\n"},
		{"at the end of a file in Shift_JIS", writeIn{Path: "sjis.txt", Content: "世界\n", Append: true}, nil, "sjis.txt", sjis + "\x90\xa2\x8aE\n"},
		{"what Shift_JIS cannot hold", writeIn{Path: "sjis.txt", Content: "한국\n", Overwrite: true}, fault.ParamInvalid, "sjis.txt", sjis},
		{"what Shift_JIS cannot hold, in UTF-8", writeIn{Path: "sjis.txt", Content: "한국\n", Overwrite: true, Encoding: "utf-8"}, nil, "sjis.txt", "한국\n"},
		{"an encoding that there is not", writeIn{Path: "new.txt", Encoding: "klingon"}, fault.ParamInvalid, "new.txt", "<none>"},
		{"through a link", writeIn{Path: "l", Content: "new", Overwrite: true}, fault.Forbidden, "a.txt", "old\n"},
		{"over a directory", writeIn{Path: "sub", Content: "new", Overwrite: true}, fault.ParamInvalid, "a.txt", "old\n"},
		{"over the allowed directory itself", writeIn{Path: ".", Content: "new", Overwrite: true}, fault.ParamInvalid, "a.txt", "old\n"},
		{"outside", writeIn{Path: "../out.txt", Content: "new"}, fault.OutsideAllowed, "a.txt", "old\n"},
		{"a script by its content", writeIn{Path: "run", Content: "#!/bin/sh\nid\n"}, fault.Forbidden, "run", "<none>"},
		{"a script by its name", writeIn{Path: "run.SH", Content: "id\n"}, fault.Forbidden, "run.SH", "<none>"},
		{"a program in base of another encoding", writeIn{Path: "a.txt", Content: "#!/bin/sh\nid\n", Overwrite: true}, fault.Forbidden, "a.txt", "old\n"},
		{"a script by what is appended to nothing", writeIn{Path: "empty.txt", Content: "#!/bin/sh\n", Append: true}, fault.Forbidden, "empty.txt", ""},
		{"a git hook", writeIn{Path: ".git/hooks/pre-commit", Content: "id\n", Parents: true}, fault.Forbidden, ".git/hooks/pre-commit", "<none>"},
		{"a git hook in other letters", writeIn{Path: "sub/.GIT/config", Content: "x\n", Parents: true}, fault.Forbidden, "sub/.GIT/config", "<none>"},
		{"the servers of an agent", writeIn{Path: ".mcp.json", Content: "{}"}, fault.Forbidden, ".mcp.json", "<none>"},
	} {
		w := newFixture(t, here...)
		before := w.names()
		out, err := w.write(t.Context(), c.in)
		is(t, c.what, err, c.code)
		w.holds(c.what, c.file, c.holds)
		if err != nil && w.names() != before {
			t.Errorf("%s: a refusal leaves %s, there was %s", c.what, w.names(), before)
		}
		if err == nil && out.SHA256 != sumOf(c.holds) {
			t.Errorf("%s: the hash told is that of something else", c.what)
		}

		dry := newFixture(t, here...)
		c.in.DryRun = true
		shown, dryErr := dry.write(t.Context(), c.in)
		if dry.names() != before {
			t.Errorf("%s, dry: there is %s now", c.what, dry.names())
		}
		if c.code == fault.NotFound && !c.in.Overwrite {
			continue // whether directories are missing is not looked at
		}
		if (dryErr == nil) != (err == nil) || err == nil && (shown.SHA256 != out.SHA256 || shown.Written != out.Written || shown.Diff != out.Diff) {
			t.Errorf("%s, dry: %+v, %v; in earnest %+v, %v", c.what, shown, dryErr, out, err)
		}
	}
}

func TestAWriteTellsWhatItDid(t *testing.T) {
	w := newFixture(t, "a.txt=one\ntwo\nthree\n")
	out, err := w.write(t.Context(), writeIn{Path: "a.txt", Content: "one\n2\nthree\n", Overwrite: true})
	is(t, "overwriting", err, nil)
	want := fmt.Sprintf("Replaced: a.txt (12 bytes written, sha256 %s)\n--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n", sumOf("one\n2\nthree\n"))
	if out.Text() != want {
		t.Errorf("told is %q, want %q", out.Text(), want)
	}
	same, err := w.write(t.Context(), writeIn{Path: "a.txt", Content: "one\n2\nthree\n", Overwrite: true})
	is(t, "the same again", err, nil)
	if same.ChangeID != "" || !strings.HasPrefix(same.Text(), "Left as it is: ") {
		t.Errorf("the same content again is told as %q, change %q", same.Text(), same.ChangeID)
	}
	more, err := w.write(t.Context(), writeIn{Path: "a.txt", Content: "four\n", Append: true})
	is(t, "appending", err, nil)
	if more.Written != 5 {
		t.Errorf("5 bytes were appended, %d are told", more.Written)
	}
}

func TestAFileWithFurtherNamesIsToldOf(t *testing.T) {
	w := newFixture(t, "a.txt=old")
	if err := os.Link(w.dir+"/a.txt", w.dir+"/b.txt"); err != nil {
		t.Skip("no hard links here: ", err)
	}
	out, err := w.write(t.Context(), writeIn{Path: "a.txt", Content: "new", Overwrite: true})
	is(t, "overwriting", err, nil)
	w.holds("the other name", "b.txt", "old")
	if !strings.Contains(out.Note, "hard links") {
		t.Errorf("nothing is said of the other name: %+v", out)
	}
}

func TestWhatWasOpenedMayBeWritten(t *testing.T) {
	w := worldWith(t, confine.Options{}, []string{"application/x-sh"}, []string{".vscode"}, "a.txt=x")
	_, err := w.write(t.Context(), writeIn{Path: "run.sh", Content: "#!/bin/sh\nid\n"})
	is(t, "a script whose type was opened", err, nil)
	if info, err := os.Stat(w.dir + "/run.sh"); err != nil || info.Mode()&0o111 != 0 {
		t.Errorf("a script that may be written can be executed: %v, %v", info.Mode(), err)
	}
	_, err = w.write(t.Context(), writeIn{Path: ".vscode/tasks.json", Content: "{}", Parents: true})
	is(t, "a protected path that was opened", err, nil)
	_, err = w.write(t.Context(), writeIn{Path: ".vscode/.git/config", Content: "x", Parents: true})
	is(t, "another protected path in it", err, fault.Forbidden)
	_, err = w.write(t.Context(), writeIn{Path: "run.bat", Content: "dir"})
	is(t, "a script of another type", err, fault.Forbidden)
}

func TestAProtectedPathIsSeenThroughALink(t *testing.T) {
	w := worldWith(t, confine.Options{Symlinks: confine.Within}, nil, nil, ".git/hooks/", "g => .git", "x/", "ok => x", "h.txt => .git/hooks/h")
	_, err := w.write(t.Context(), writeIn{Path: "g/hooks/pre-commit", Content: "id\n"})
	is(t, "through a link to a directory", err, fault.Forbidden)
	_, err = w.write(t.Context(), writeIn{Path: "h.txt", Content: "id\n", Overwrite: true})
	is(t, "through a link to a file", err, fault.Forbidden)
	_, err = w.createDirectory(t.Context(), directoryIn{Path: "g/new"})
	is(t, "a directory through a link", err, fault.Forbidden)
	_, err = w.write(t.Context(), writeIn{Path: "ok/a.txt", Content: "id\n"})
	is(t, "through a link to what is not protected", err, nil)
}

func TestDirectoriesMadeForAWriteThatFailsAreTakenAway(t *testing.T) {
	w := newFixture(t, "a.txt=x")
	for _, in := range []writeIn{
		{Path: "x/y/run.sh", Content: "id\n", Parents: true},
		{Path: "x/y/a.txt", Content: "#!/bin/sh\n", Parents: true},
		{Path: "x/.git/a.txt", Content: "x\n", Parents: true},
	} {
		_, err := w.write(t.Context(), in)
		is(t, in.Path, err, fault.Forbidden)
	}
	if got := w.names(); got != "a.txt" {
		t.Errorf("there is %s", got)
	}
}

func TestWhatIsTooLargeIsRefused(t *testing.T) {
	w := newFixture(t, "a.txt=old")
	_, err := w.write(t.Context(), writeIn{Path: "b.txt", Content: strings.Repeat("x", 100<<20+1)})
	is(t, "a new file of more than 100 MiB", err, fault.LimitReached)
	_, err = w.write(t.Context(), writeIn{Path: "a.txt", Content: strings.Repeat("x", 100<<20-2), Append: true})
	is(t, "what makes it more than 100 MiB", err, fault.LimitReached)
	w.holds("afterwards", "a.txt", "old")
}

func TestEveryFailureNamesThePathAndWhatToDo(t *testing.T) {
	w := newFixture(t, "a.txt=old")
	_, err := w.write(t.Context(), writeIn{Path: "a.txt", Content: "new"})
	var e *fault.Error
	if !errors.As(err, &e) || e.Details["path"] != "a.txt" || e.Do == "" || !strings.Contains(e.Do, "overwrite") {
		t.Errorf("got %+v", e)
	}
}

func TestTheDatedLayout(t *testing.T) {
	w := newFixture(t, "a.txt=x")
	l, err := newLayout("dated", "ada", func() time.Time { return time.Date(2026, 2, 3, 12, 0, 0, 0, time.Local) })
	if err != nil {
		t.Fatal(err)
	}
	w.layout = l
	for _, c := range []struct{ given, want string }{
		{"a.txt", "output/2026-02-03/user_ada/a.txt"},
		{"./sub/a.txt", "output/2026-02-03/user_ada/sub/a.txt"},
		{"output/2026-02-03/user_ada/a.txt", "output/2026-02-03/user_ada/a.txt"},
		{"output/2025-12-31/user_ada/a.txt", "output/2025-12-31/user_ada/a.txt"},
		{"output/2025-12-31/user_bob/a.txt", "output/2026-02-03/user_ada/output/2025-12-31/user_bob/a.txt"},
		{"output/a.txt", "output/2026-02-03/user_ada/output/a.txt"},
		{"/etc/passwd", "/etc/passwd"},
		{"~/x", "~/x"},
	} {
		if got := l.place(c.given); got != c.want {
			t.Errorf("%s is placed at %s, want %s", c.given, got, c.want)
		}
	}
	out, err := w.agentWrite(t.Context(), agentWriteIn{Path: "sub/a.txt", Content: "text"})
	is(t, "writing", err, nil)
	w.holds("written", "output/2026-02-03/user_ada/sub/a.txt", "text")
	if out.Result != "Created output/2026-02-03/user_ada/sub/a.txt (4 bytes)." {
		t.Errorf("told is %q", out.Result)
	}
	for _, user := range []string{"", "..", "a/b", "a b", strings.Repeat("a", 65)} {
		_, err := newLayout("dated", user, nil)
		is(t, "the user "+user, err, fault.Misconfigured)
	}
}
