package guard_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/file-write/internal/guard"
	"github.com/multiollama/mcp-server/shared/fault"
)

const (
	ole      = "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
	msiClass = "\x84\x10\x0c\x00\x00\x00\x00\x00\xc0\x00\x00\x00\x00\x00\x00\x46"
	docClass = "\x06\x09\x02\x00\x00\x00\x00\x00\xc0\x00\x00\x00\x00\x00\x00\x46"
)

// compound is an OLE file with sectors of 512 bytes whose root has a class.
func compound(class string) string {
	header := ole + strings.Repeat("\x00", 22) + "\x09\x00" + strings.Repeat("\x00", 16) + "\x01\x00\x00\x00"
	header += strings.Repeat("\x00", 512-len(header))
	return header + strings.Repeat("\x00", 512) + strings.Repeat("\x00", 80) + class + strings.Repeat("\x00", 32)
}

// member is the local header of a zip archive for a name.
func member(name string) string {
	return "PK\x03\x04" + strings.Repeat("\x00", 22) + string(rune(len(name))) + "\x00\x00\x00" + name
}

// windows is the header of a program of Windows whose PE part begins at 0x80.
const windows = "MZ\x90\x00\x03\x00\x00\x00\x04\x00\x00\x00\xff\xff\x00\x00\xb8\x00\x00\x00\x00\x00\x00\x00\x40\x00\x00\x00\x00\x00\x00\x00" +
	"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80\x00\x00\x00"

var contents = []struct{ what, content, mime, mark string }{
	{"a program of Linux", "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x3e\x00", "application/x-elf", "the mark of ELF"},
	{"four bytes of one are enough", "\x7fELF", "application/x-elf", "the mark of ELF"},
	{"an AppImage", "\x7fELF\x02\x01\x01\x00AI\x02\x00\x00\x00\x00\x00\x02\x00", "application/vnd.appimage", "the mark AI within that of ELF"},
	{"a program of Windows", windows, "application/vnd.microsoft.portable-executable", "the mark MZ of Windows programs"},
	{"the beginning of one", "MZ\x90\x00", "application/vnd.microsoft.portable-executable", "the mark MZ of Windows programs"},
	{"one with letters instead of a DOS part", "MZ" + strings.Repeat("a", 58) + "\x40aa\x09", "application/vnd.microsoft.portable-executable", "the mark MZ of Windows programs"},
	{"the other mark of DOS", "ZM\x90\x00", "application/vnd.microsoft.portable-executable", "the mark MZ of Windows programs"},
	{"a program of macOS, 32 bits", "\xce\xfa\xed\xfe\x07\x00\x00\x00", "application/x-mach-binary", "the mark of Mach-O"},
	{"64 bits", "\xcf\xfa\xed\xfe\x0c\x00\x00\x01", "application/x-mach-binary", "the mark of Mach-O"},
	{"32 bits, big-endian", "\xfe\xed\xfa\xce\x00\x00\x00\x12", "application/x-mach-binary", "the mark of Mach-O"},
	{"64 bits, big-endian", "\xfe\xed\xfa\xcf\x01\x00\x00\x12", "application/x-mach-binary", "the mark of Mach-O"},
	{"for two processors", "\xca\xfe\xba\xbe\x00\x00\x00\x02", "application/x-mach-binary", "the mark of Mach-O"},
	{"the same, little-endian", "\xbe\xba\xfe\xca\x02\x00\x00\x00", "application/x-mach-binary", "the mark of Mach-O"},
	{"for two processors with long offsets", "\xca\xfe\xba\xbf\x00\x00\x00\x02", "application/x-mach-binary", "the mark of Mach-O"},
	{"the same, little-endian", "\xbf\xba\xfe\xca\x02\x00\x00\x00", "application/x-mach-binary", "the mark of Mach-O"},
	{"compiled Java", "\xca\xfe\xba\xbe\x00\x00\x00\x41", "application/java-vm", "the mark CAFEBABE and a version of Java"},
	{"the oldest Java", "\xca\xfe\xba\xbe\x00\x03\x00\x2d", "application/java-vm", "the mark CAFEBABE and a version of Java"},
	{"WebAssembly", "\x00asm\x01\x00\x00\x00", "application/wasm", "the mark of WebAssembly"},
	{"code of Android", "dex\n035\x00", "application/vnd.android.dex", "the mark of DEX"},
	{"optimised code of Android", "dey\n036\x00", "application/vnd.android.dex", "the mark of DEX"},
	{"compact code of Android", "cdex001\x00", "application/vnd.android.dex", "the mark of DEX"},
	{"a Java archive", member("META-INF/") + member("META-INF/MANIFEST.MF"), "application/java-archive", "the manifest in the archive"},
	{"with its manifest in other case", member("meta-inf/manifest.mf"), "application/java-archive", "the manifest in the archive"},
	{"a package of Android", member("META-INF/MANIFEST.MF") + member("AndroidManifest.xml"), "application/vnd.android.package-archive", "the Android manifest in the archive"},
	{"an installer of Windows", compound(msiClass), "application/x-msi", "an OLE file of Windows Installer, or one that does not show what it is"},
	{"a patch for Windows Installer", compound("\x86" + msiClass[1:]), "application/x-msi", "an OLE file of Windows Installer, or one that does not show what it is"},
	{"an OLE file cut before its root", compound(docClass)[:1100], "application/x-msi", "an OLE file of Windows Installer, or one that does not show what it is"},
	{"an OLE file cut within its header", ole, "application/x-msi", "an OLE file of Windows Installer, or one that does not show what it is"},
	{"an OLE file with sectors of no known size", ole + strings.Repeat("\x00", 600), "application/x-msi", "an OLE file of Windows Installer, or one that does not show what it is"},
	{"a package of Debian", "!<arch>\ndebian-binary   1410122664  0     0", "application/vnd.debian.binary-package", "the member debian-binary"},
	{"a package of RPM", "\xed\xab\xee\xdb\x03\x00", "application/x-rpm", "the mark of RPM"},
	{"an installer of macOS", "xar!\x00\x1c\x00\x01", "application/vnd.apple.installer+xml", "the mark of a xar archive"},
	{"a disk image of macOS", "\x78\x01anything" + "koly\x00\x00\x00\x04" + strings.Repeat("\x00", 504), "application/x-apple-diskimage", "the mark koly at its end"},
	{"a shortcut of Windows", "L\x00\x00\x00\x01\x14\x02\x00\x00\x00\x00\x00\xc0\x00\x00\x00\x00\x00\x00\x46\x9b", "application/x-ms-shortcut", "the mark of shortcuts"},
	{"a help file", "ITSF\x03\x00\x00\x00\x60", "application/vnd.ms-htmlhelp", "the mark ITSF"},
	{"a page with full rights", "\xef\xbb\xbf\r\n<html><head><HTA:Application id=x>", "application/hta", "the tag hta:application"},
	{"a launcher", "[Desktop Entry]\nExec=x", "application/x-desktop", "its first group [Desktop Entry]"},
	{"a launcher with a comment first", "# a comment\n\n # hi\r\n[Desktop Entry]\r\n", "application/x-desktop", "its first group [Desktop Entry]"},
	{"an old launcher", "[KDE Desktop Entry]\n", "application/x-desktop", "its first group [Desktop Entry]"},

	{"a shell script", "#!/bin/sh\n", "application/x-sh", "it begins with #!"},
	{"with a space", "#! /bin/bash -eu\n", "application/x-sh", "it begins with #!"},
	{"with a tab and line ends of Windows", "#!\t/bin/bash\r\n", "application/x-sh", "it begins with #!"},
	{"through env", "#!/usr/bin/env bash\n", "application/x-sh", "it begins with #!"},
	{"through env with arguments", "#!/usr/bin/env -S python3.12 -u\n", "text/x-python", "it begins with #!"},
	{"through options of env that hide the program", "#!/usr/bin/env -S -u python sh\n", "text/x-script", "it begins with #!"},
	{"through a variable of env", "#!/usr/bin/env -S A=python sh\n", "text/x-script", "it begins with #!"},
	{"through env alone", "#!/usr/bin/env\n", "text/x-script", "it begins with #!"},
	{"after a byte-order mark", "\xef\xbb\xbf#!/bin/sh\n", "application/x-sh", "it begins with #!"},
	{"in UTF-16", "\xff\xfe#\x00!\x00/\x00b\x00i\x00n\x00/\x00s\x00h\x00\n\x00", "application/x-sh", "it begins with #!"},
	{"in UTF-16, big-endian", "\xfe\xff\x00#\x00!\x00/\x00b\x00i\x00n\x00/\x00s\x00h\x00\n", "application/x-sh", "it begins with #!"},
	{"in UTF-16 without a mark", "#\x00!\x00s\x00h\x00", "application/x-sh", "it begins with #!"},
	{"big-endian", "\x00#\x00!\x00s\x00h", "application/x-sh", "it begins with #!"},
	{"of a program nobody knows", "#!/opt/x\n", "text/x-script", "it begins with #!"},
	{"of no program", "#!", "text/x-script", "it begins with #!"},
	{"dressed as an attribute of Rust", "#![a/../../../bin/sh\n", "application/x-sh", "it begins with #!"},
	{"the same with a form feed", "#![a\f/../../../bin/sh\n", "application/x-sh", "it begins with #!"},
}

func TestContentThatCanBeRunIsRefusedAndItsTypeOpensIt(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range contents {
		err := guard.Executables{}.Content([]byte(c.content))
		if err == nil || !errors.Is(err, fault.Forbidden) {
			t.Errorf("%s: %v, want %s", c.what, err, fault.Forbidden)
			continue
		}
		if fault.From(err).Details["mimeType"] != c.mime || fault.From(err).Details["recognized_by"] != c.mark {
			t.Errorf("%s: %v, want %s by %s", c.what, fault.From(err).Details, c.mime, c.mark)
		}
		if !strings.Contains(fault.From(err).Do, "--allow-mime "+c.mime) {
			t.Errorf("%s: nothing says how to allow it: %s", c.what, fault.From(err).Do)
		}
		if err := opened(t, c.mime).Content([]byte(c.content)); err != nil {
			t.Errorf("%s: not opened by its type: %v", c.what, err)
		}
		if err := openedBut(t, c.mime).Content([]byte(c.content)); err == nil {
			t.Errorf("%s: opened by other types", c.what)
		}
		seen[c.mark] = true
	}
	for _, mark := range guard.SignatureMarks() {
		if !seen[mark] {
			t.Errorf("no test shows %q", mark)
		}
	}
}

func opened(t *testing.T, types ...string) guard.Executables {
	t.Helper()
	g, err := guard.NewExecutables(types)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// openedBut opens every type but one.
func openedBut(t *testing.T, mime string) guard.Executables {
	t.Helper()
	return opened(t, slices.DeleteFunc(guard.Types(), func(other string) bool { return other == mime })...)
}

func TestEveryInterpreterGivesItsScriptsAType(t *testing.T) {
	for program, mime := range guard.Interpreters() {
		for _, line := range []string{"#!/usr/bin/" + program, "#!/usr/bin/env " + program + "\n", "#!/opt/bin/" + program + "-3.1 -x\n"} {
			err := guard.Executables{}.Content([]byte(line))
			if err == nil || fault.From(err).Details["mimeType"] != mime {
				t.Errorf("%q: %v, want %s", line, err, mime)
			}
		}
	}
}

func TestContentThatIsNotRunByItselfIsWritten(t *testing.T) {
	for _, c := range []struct{ what, content string }{
		{"nothing", ""},
		{"text", "hello\n"},
		{"source code", "import os\nos.system('x')\n"},
		{"a comment that is no #! line", "# !/bin/sh\n"},
		{"a #! line further down", "\n#!/bin/sh\n"},
		{"an inner attribute of Rust", "#![no_std]\nfn main() {}\n"},
		{"one with an address in it", "#![doc = \"https://example.org/\"]\n"},
		{"text that begins with MZ", "MZ is what programs of DOS begin with, and this is longer than their header.\n"},
		{"short text that begins with MZ", "MZ\n"},
		{"text that begins like code of Android", "dex\nis short for dexterity\n"},
		{"text that begins like a help file", "ITSF is the mark of help files\n"},
		{"text that begins like a library of objects", "!<arch>\nfoo.o/          0 "},
		{"text about launchers", "A file with [Desktop Entry] in it\n[Desktop Entry]\n"},
		{"another ini file", "# comment\n[Unit]\n[Desktop Entry]\n"},
		{"text about pages with full rights", "The tag <hta:application> is old\n"},
		{"a page without them", "<html><body>hta:application</body></html>"},
		{"an archive without a manifest", member("a.txt") + member("META-INF/MANIFEST.MF.txt")},
		{"an archive cut in a name", member("META-INF/MANIFEST.MF")[:40]},
		{"an archive cut in a header", "PK\x03\x04\x00"},
		{"an archive in other data", "data" + member("META-INF/MANIFEST.MF")},
		{"an old office document", compound(docClass)},
		{"the mark of a disk image elsewhere", "koly\x00\x00\x00\x04" + strings.Repeat("\x00", 505)},
		{"a picture", "\x89PNG\r\n\x1a\n\x00"},
		{"UTF-16 in characters that have the same low bytes", "\xff\xfe\x23\x4e\x21\x4e"},
		{"a mark and nothing else", "\xfe\xff"},
		{"the other", "\xff\xfe"},
		{"an odd byte in UTF-16", "\xff\xfe#\x00!"},
	} {
		if err := (guard.Executables{}).Content([]byte(c.content)); err != nil {
			t.Errorf("%s: %v", c.what, err)
		}
	}
}

func TestAnArchiveBehindAScriptIsFoundThoughTheScriptIsAllowed(t *testing.T) {
	both := "#!/bin/sh\nexec java -jar $0\n" + member("META-INF/MANIFEST.MF")
	if err := opened(t, "application/x-sh").Content([]byte(both)); err == nil || fault.From(err).Details["mimeType"] != "application/java-archive" {
		t.Errorf("only the script was looked at: %v", err)
	}
	if err := opened(t, "application/x-sh", "application/java-archive").Content([]byte(both)); err != nil {
		t.Errorf("both are open: %v", err)
	}
}
