package guard

import (
	"bytes"
	"encoding/binary"
	"path"
	"slices"
	"strings"
)

// signature is one kind of content that can be run.
type signature struct {
	mime string
	what string // "a program of Windows"
	mark string // what it is recognized by
	in   func(content []byte) bool
}

// signatures is the table. No content is of two rows, so that opening a type opens
// what its row is about; only the mark at the end of a disk image may be added to
// anything, and then both rows speak.
var signatures = []signature{
	{elf, "a program or library of Linux or Unix", "the mark of ELF", func(b []byte) bool { return begins("\x7fELF")(b) && !isAppImage(b) }},
	{appImage, "an AppImage", "the mark AI within that of ELF", isAppImage},
	{portable, "a program or library of Windows or DOS", "the mark MZ of Windows programs", isMZ},
	{mach, "a program or library of macOS", "the mark of Mach-O", isMach},
	{class, "compiled Java", "the mark CAFEBABE and a version of Java", isClass},
	{wasm, "compiled WebAssembly", "the mark of WebAssembly", begins("\x00asm")},
	{dalvik, "compiled code of Android", "the mark of DEX", func(b []byte) bool {
		// The version and the NUL behind it tell it from text; dey is optimized, cdex compact.
		return len(b) >= 8 && b[7] == 0 && (begins("dex\n")(b) || begins("dey\n")(b) || begins("cdex")(b))
	}},
	{jar, "a Java archive", "the manifest in the archive", func(b []byte) bool {
		return archives(b, "META-INF/MANIFEST.MF") && !isAndroid(b)
	}},
	{android, "a package of Android", "the Android manifest in the archive", isAndroid},
	{installer, "an installer of Windows", "an OLE file of Windows Installer, or one that does not show what it is", isInstaller},
	{debian, "a package of Debian", "the member debian-binary", begins("!<arch>\ndebian-binary")},
	{redhat, "a package of RPM", "the mark of RPM", begins("\xed\xab\xee\xdb")},
	{applePackage, "an installer of macOS", "the mark of a xar archive", begins("xar!\x00")},
	{diskImage, "a disk image of macOS", "the mark koly at its end", func(b []byte) bool {
		const trailer = 512 // of a UDIF image
		return len(b) >= trailer && bytes.HasPrefix(b[len(b)-trailer:], []byte("koly\x00\x00\x00\x04"))
	}},
	{shortcut, "a shortcut of Windows", "the mark of shortcuts",
		begins("L\x00\x00\x00\x01\x14\x02\x00\x00\x00\x00\x00\xc0\x00\x00\x00\x00\x00\x00\x46")},
	{help, "a help file of Windows, which runs script", "the mark ITSF", begins("ITSF\x03\x00\x00\x00")},
	{htmlApplication, "a page that Windows runs with full rights", "the tag hta:application", func(b []byte) bool {
		// Markup from the first character on: a text that explains the tag is none.
		page := bytes.TrimLeft(bytes.TrimPrefix(b[:min(len(b), Head)], []byte("\xef\xbb\xbf")), " \t\r\n")
		return bytes.HasPrefix(page, []byte("<")) && bytes.Contains(bytes.ToLower(page), []byte("<hta:application"))
	}},
	{desktopEntry, "a launcher of the desktop", "its first group [Desktop Entry]", isDesktopEntry},
}

func begins(mark string) func([]byte) bool {
	return func(content []byte) bool { return bytes.HasPrefix(content, []byte(mark)) }
}

// isAppImage finds type 1 and 2 of the AppImage specification.
func isAppImage(b []byte) bool {
	return begins("\x7fELF")(b) && len(b) > 10 && b[8] == 'A' && b[9] == 'I' && (b[10] == 1 || b[10] == 2)
}

// isMZ tells a program from text that begins with the letters MZ (or ZM, which DOS
// takes as well). The header of a program has 64 bytes, and the last four of them are
// an offset that Windows wants below 256 MiB: its highest byte is below 0x10.
// Elsewhere in it, text has no other control characters than those of line ends.
func isMZ(b []byte) bool {
	if !bytes.HasPrefix(b, []byte("MZ")) && !bytes.HasPrefix(b, []byte("ZM")) {
		return false
	}
	const header = 64
	if len(b) >= header && b[header-1] < 0x10 {
		return true
	}
	return bytes.IndexFunc(b[:min(len(b), header)], func(r rune) bool {
		return r < ' ' && r != '\t' && r != '\n' && r != '\r'
	}) >= 0
}

// cafebabe is the mark that Java and fat Mach-O files share. What follows it is the
// version of Java, which began at 45, or the number of architectures, which is small.
const (
	cafebabe  = 0xcafebabe
	firstJava = 45
)

func isClass(b []byte) bool {
	return len(b) >= 8 && binary.BigEndian.Uint32(b) == cafebabe && binary.BigEndian.Uint16(b[6:]) >= firstJava
}

// isMach knows both orders of bytes and both widths, thin and fat.
func isMach(b []byte) bool {
	if len(b) < 4 {
		return false
	}
	switch binary.BigEndian.Uint32(b) {
	case 0xfeedface, 0xfeedfacf, 0xcefaedfe, 0xcffaedfe, 0xcafebabf, 0xbebafeca, 0xbfbafeca:
		return true
	case cafebabe:
		return !isClass(b)
	}
	return false
}

// isInstaller looks at the class of an OLE file's root, which Windows Installer
// keeps at 000C1080 and following, so that old office documents are not refused. A
// root that cannot be seen in b may be anything, and is taken for an installer.
// The layout is that of [MS-CFB] 2.2 and 2.6.
func isInstaller(b []byte) bool {
	if !bytes.HasPrefix(b, []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")) {
		return false
	}
	const header, classAt, classLen = 512, 80, 16
	if len(b) < header {
		return true
	}
	shift := binary.LittleEndian.Uint16(b[30:])
	if shift != 9 && shift != 12 {
		return true
	}
	class := (int64(binary.LittleEndian.Uint32(b[48:]))+1)<<shift + classAt
	if class+classLen > int64(len(b)) {
		return true
	}
	root := string(b[class : class+classLen])
	return root[0]&0xf0 == 0x80 && root[1:] == "\x10\x0c\x00\x00\x00\x00\x00\xc0\x00\x00\x00\x00\x00\x00\x46"
}

func isAndroid(b []byte) bool { return archives(b, "AndroidManifest.xml") }

// archives says whether a zip archive, as far as it is in b, has a member of that
// name. A script may stand before the archive: Java skips it. Headers are looked for
// everywhere rather than by the sizes that they tell, which may lie; so an archive in
// which another is stored as it is counts as both.
func archives(b []byte, member string) bool {
	const local, nameLen, nameAt = "PK\x03\x04", 26, 30
	if !bytes.HasPrefix(b, []byte(local)) && !bytes.HasPrefix(b, []byte("#!")) {
		return false
	}
	for {
		i := bytes.Index(b, []byte(local))
		if i < 0 || len(b)-i < nameAt {
			return false
		}
		b = b[i:]
		end := nameAt + int(binary.LittleEndian.Uint16(b[nameLen:]))
		if end <= len(b) && strings.EqualFold(string(b[nameAt:end]), member) {
			return true
		}
		b = b[len(local):]
	}
}

// isDesktopEntry wants the group to come first, as the Desktop Entry Specification
// does; only comments and empty lines may stand before it.
func isDesktopEntry(b []byte) bool {
	for line := range bytes.Lines(bytes.TrimPrefix(b, []byte("\xef\xbb\xbf"))) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		return bytes.HasPrefix(line, []byte("[Desktop Entry]")) || bytes.HasPrefix(line, []byte("[KDE Desktop Entry]"))
	}
	return false
}

// interpreters says which type a script is by the program that runs it, digits of a
// version left out. A script of any other program is of the type text/x-script.
var interpreters = []struct {
	mime     string
	programs []string
}{
	{shell, []string{"sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "rbash"}},
	{cshell, []string{"csh", "tcsh"}},
	{fish, []string{"fish"}},
	{powershell, []string{"pwsh", "powershell"}},
	{python, []string{"python", "pypy"}},
	{javascript, []string{"node", "nodejs", "deno", "bun"}},
	{"text/x-perl", []string{"perl"}},
	{"text/x-ruby", []string{"ruby"}},
	{"text/x-php", []string{"php"}},
	{"text/x-lua", []string{"lua", "luajit"}},
	{"text/x-tcl", []string{"tclsh", "wish", "expect"}},
	{"text/x-awk", []string{"awk", "gawk", "mawk"}},
	{"text/x-makefile", []string{"make", "gmake"}},
}

// scriptType is the type of a script, or "" of what is none: it has a #! line at the very
// beginning, where the kernel looks for it, or after a byte-order mark or in UTF-16, where
// some shells and editors do.
//
// An inner attribute of Rust, as in #![no_std], is none: the kernel would look for a
// program of that name in the working directory. With a slash in its first word it
// could lead elsewhere, so then it counts as a script.
func scriptType(content []byte) string {
	const maxLine = 4096 // bytes of a #! line; Linux looks at 256
	content = content[:min(len(content), maxLine)]
	switch {
	case begins("\xef\xbb\xbf")(content):
		content = content[3:]
	case begins("\xff\xfe")(content):
		content = narrow(content[2:], 0)
	case begins("\xfe\xff")(content):
		content = narrow(content[2:], 1)
	case begins("#\x00!\x00")(content):
		content = narrow(content, 0)
	case begins("\x00#\x00!")(content):
		content = narrow(content, 1)
	}
	line, _, _ := strings.Cut(string(content), "\n")
	line, ok := strings.CutPrefix(line, "#!")
	words := strings.FieldsFunc(strings.TrimRight(line, "\r"), func(r rune) bool { return r == ' ' || r == '\t' }) // as the kernel
	if !ok || len(words) > 0 && strings.HasPrefix(words[0], "[") && !strings.Contains(words[0], "/") {
		return ""
	}

	program := ""
	if len(words) > 0 {
		program = path.Base(words[0])
	}
	if program == "env" {
		// Where options make it hard to see what env runs, the script must not pass as one of
		// a type that was opened.
		program = ""
		words = words[1:]
		if len(words) > 0 && words[0] == "-S" {
			words = words[1:]
		}
		if len(words) > 0 && !strings.HasPrefix(words[0], "-") && !strings.ContainsAny(words[0], `=\"'$`) {
			program = path.Base(words[0])
		}
	}
	program = strings.TrimRight(program, "0123456789.-")
	for _, language := range interpreters {
		if slices.Contains(language.programs, program) {
			return language.mime
		}
	}
	return script
}

// narrow makes bytes of UTF-16 whose low byte is the first (0) or second (1) of two.
func narrow(wide []byte, low int) []byte {
	letters := make([]byte, 0, len(wide)/2)
	for i := 0; i+1 < len(wide); i += 2 {
		letter := wide[i+low]
		if wide[i+1-low] != 0 {
			letter = '?'
		}
		letters = append(letters, letter)
	}
	return letters
}
