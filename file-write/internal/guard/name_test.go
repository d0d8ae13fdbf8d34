package guard_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/file-write/internal/guard"
	"github.com/multiollama/mcp-server/shared/fault"
)

func TestEveryExtensionOfTheTableIsRefusedAndItsTypeOpensIt(t *testing.T) {
	seen := map[string]bool{}
	for _, row := range guard.Extensions() {
		if seen[row.Ext] || row.Why == "" || !strings.HasPrefix(row.Ext, ".") {
			t.Errorf("%q stands twice, or without a reason or dot", row.Ext)
		}
		seen[row.Ext] = true
		for _, name := range []string{
			"x" + row.Ext, "x" + strings.ToUpper(row.Ext), "x.txt" + row.Ext, row.Ext, "x" + row.Ext + ".", "x" + row.Ext + ". .",
			"x" + row.Ext + "::$DATA", "x" + row.Ext + ":y", "x.txt:y" + row.Ext, "x.txt:y" + row.Ext + ":$DATA", "x" + row.Ext + "\u200c",
		} {
			err := guard.Executables{}.Name(name)
			if err == nil || !errors.Is(err, fault.Forbidden) || fault.From(err).Details["mimeType"] != row.MIME || fault.From(err).Details["recognized_by"] != "its extension "+row.Ext {
				t.Errorf("%q: %v, want %s", name, err, row.MIME)
			}
			if err := opened(t, row.MIME).Name(name); err != nil {
				t.Errorf("%q is not opened by its type: %v", name, err)
			}
			if err := openedBut(t, row.MIME).Name(name); err == nil {
				t.Errorf("%q is opened by other types", name)
			}
		}
	}
}

func TestNamesAreSeenThrough(t *testing.T) {
	for _, c := range []struct{ what, name, ext string }{
		{"a library with its version", "libz.so.1.3", ".so"},
		{"a letter that folds to s", "x.\u017fh", ".sh"},
		{"a letter that folds to k", "x.\u212ash", ".ksh"},
		{"a mark that turns the direction of writing", "invoice\u202etxt.exe", ".exe"},
		{"spaces before the extension", "x.pdf          .exe", ".exe"},
		{"an 8.3 name, whose extension is cut", "x~1.psm", ".psm1"},
		{"one that could be of several", "deploy~1.bas", ".bash"},
		{"one with its whole extension", "EVIL~1.EXE", ".exe"},
		{"a stream with a number", "notes:1.ps1", ".ps1"},
	} {
		err := guard.Executables{}.Name(c.name)
		if err == nil || fault.From(err).Details["recognized_by"] != "its extension "+c.ext {
			t.Errorf("%s: %q: %v, want %s", c.what, c.name, err, c.ext)
		}
	}
}

func TestNamesOfSourceAndDataAreWritten(t *testing.T) {
	for _, c := range []struct{ why, name string }{
		{"no extension", "Makefile"},
		{"no extension", "exe"},
		{"JavaScript is source, though Windows runs it on a double click", "a.js"},
		{"Python is source", "a.py"},
		{"Python without a console is source", "a.pyw"},
		{"Perl is source", "a.pl"},
		{"Ruby is source", "a.rb"},
		{"PHP is source", "a.php"},
		{"Visual Basic .NET is source", "a.vb"},
		{"AppleScript is source until it is compiled", "a.applescript"},
		{"Go is source", "a.go"},
		{"C is source", "a.c"},
		{"a page is read in a browser", "a.html"},
		{"a picture may hold script, which browsers confine", "a.svg"},
		{"output of programs is called that", "a.out"},
		{"data of all kinds is called that", "a.bin"},
		{"an object is linked first", "a.o"},
		{"a library of objects too", "a.a"},
		{"a module of the kernel would be ELF, and README.ko is Korean", "README.ko"},
		{"a driver's description runs only on being installed", "a.inf"},
		{"a document asks before it runs macros", "a.docm"},
		{"an archive is unpacked first", "a.zip"},
		{"the module manifest of PowerShell is data", "a.psd1"},
		{"the extension is not the last", "a.exe.txt"},
		{"a template", "deploy.sh.tmpl"},
		{"a version behind another extension", "a.sh.1"},
		{"only the beginning of an extension", "a.ex"},
		{"an extension that only begins like one", "a.show"},
		{"no 8.3 name", "a~b.bas"},
		{"Basic is source", "a.bas"},
		{"dots alone", ".."},
		{"nothing", ""},
	} {
		if err := (guard.Executables{}).Name(c.name); err != nil {
			t.Errorf("%s: %v", c.why, err)
		}
	}
}

func TestJudgeLooksAtContentBeforeTheName(t *testing.T) {
	for _, c := range []struct{ what, name, content, by string }{
		{"content under a harmless name", "notes.txt", "\x7fELF", "the mark of ELF"},
		{"a name over harmless content", "x.exe", "hello", "its extension .exe"},
		{"both", "x.exe", "\x7fELF", "the mark of ELF"},
		{"neither", "notes.txt", "hello", ""},
	} {
		err := guard.Executables{}.Judge(c.name, []byte(c.content), false)
		switch {
		case c.by == "" && err != nil:
			t.Errorf("%s: %v", c.what, err)
		case c.by != "" && (err == nil || fault.From(err).Details["recognized_by"] != c.by || fault.From(err).Details["name"] != c.name):
			t.Errorf("%s: %v, want %s", c.what, err, c.by)
		}
	}
}

func TestTypesAreOpenedByTheirUsualNamesOneByOne(t *testing.T) {
	g := opened(t, "Text/X-ShellScript; charset=utf-8")
	if err := g.Judge("x.sh", []byte("#!/bin/sh\n"), false); err != nil {
		t.Errorf("another name of the type does not open it: %v", err)
	}
	if err := g.Name("x.fish"); err == nil {
		t.Error("a script of another type is open too")
	}
	for _, bad := range []string{"", "*", "*/*", "application/*", "image/png", "x-sh"} {
		_, err := guard.NewExecutables([]string{"application/x-sh", bad})
		if !errors.Is(err, fault.Misconfigured) {
			t.Errorf("%q: %v, want %s", bad, err, fault.Misconfigured)
		}
	}
	if _, err := guard.NewExecutables(nil); err != nil {
		t.Errorf("nothing to open: %v", err)
	}
}

func TestOtherNamesMeanTypesThatExist(t *testing.T) {
	for other := range guard.OtherNames() {
		if _, err := guard.NewExecutables([]string{other}); err != nil {
			t.Errorf("%s: %v", other, err)
		}
	}
}

// FuzzJudge holds that nothing panics; that a name stays refused in any case, with
// what Windows drops and in a stream; and that a script stays one behind a
// byte-order mark.
func FuzzJudge(f *testing.F) {
	for _, c := range contents {
		f.Add("x.txt", []byte(c.content))
	}
	for _, name := range []string{"x.exe", "x.txt:y.sh", "LIB.SO.1", "X~1.PSM", "x.\u017fh", "x.exe. ::$DATA", "\xff.exe"} {
		f.Add(name, []byte("hello"))
	}
	f.Fuzz(func(t *testing.T, name string, content []byte) {
		var g guard.Executables
		content, mark := content[:len(content):len(content)], []byte("\xef\xbb\xbf")
		if err := g.Content(content); err != nil && fault.From(err).Details["recognized_by"] == "it begins with #!" && content[0] == '#' && content[1] == '!' {
			if g.Content(append(mark, content...)) == nil {
				t.Errorf("%q is no script behind a byte-order mark", content)
			}
		}
		if (g.Judge(name, content, false) == nil) != (g.Content(content) == nil && g.Name(name) == nil) {
			t.Errorf("%q, %q: Judge is not both together", name, content)
		}
		if g.Name(name) == nil {
			return
		}
		for _, other := range []string{strings.ToUpper(name), strings.ToLower(name), name + ".", name + " .", name + "::$DATA", name + "\u200d"} {
			if g.Name(other) == nil {
				t.Errorf("%q is refused, but %q is not", name, other)
			}
		}
	})
}

func TestAnExecutableBitMakesAScriptOfAnyText(t *testing.T) {
	guards := map[string]guard.Executables{"nothing": {}}
	for _, mime := range []string{"application/x-sh", "text/x-python", "application/x-elf", "application/x-desktop", "application/java-archive"} {
		g, err := guard.NewExecutables([]string{mime})
		if err != nil {
			t.Fatal(err)
		}
		guards[mime] = g
	}
	const python, wide, launcher, program = "#!/usr/bin/python3\n", "\xef\xbb\xbf#!/usr/bin/python3\nid\n", "[Desktop Entry]\n", "\x7fELF\x02\x01\x01"
	for _, c := range []struct {
		what, opened, content string
		written               bool // with the bit
	}{
		{"text", "nothing", "rm -rf x\n", false},
		{"nothing", "nothing", "", false},
		{"text, with shell scripts allowed", "application/x-sh", "rm -rf x\n", true},
		{"text, with another type allowed", "text/x-python", "rm -rf x\n", false},
		{"a script, with its type allowed", "text/x-python", python, true},
		{"a script that the kernel does not know as one", "text/x-python", wide, false},
		{"a #! line that is not the first", "text/x-python", "\n" + python, false},
		{"an attribute of Rust", "nothing", "#[no_std]\n", false},
		{"a program, with its type allowed", "application/x-elf", program, true},
		{"a launcher, with its type allowed", "application/x-desktop", launcher, false},
		{"an archive, with its type allowed", "application/java-archive", member("META-INF/MANIFEST.MF"), false},
	} {
		g := guards[c.opened]
		if err := g.Judge("x", []byte(c.content), false); err != nil {
			t.Errorf("%s: refused without the bit: %v", c.what, err)
		}
		err := g.Judge("x", []byte(c.content), true)
		if (err == nil) != c.written || err != nil && (!errors.Is(err, fault.Forbidden) || fault.From(err).Details["mimeType"] != "application/x-sh") {
			t.Errorf("%s: %v", c.what, err)
		}
	}
}
