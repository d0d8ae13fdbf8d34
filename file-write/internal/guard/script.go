package guard

import (
	"bytes"
	"path"
	"slices"
	"strings"
)

const longestLine = 4096 // bytes of a #! line that are looked at; Linux looks at 256

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

// scriptIn finds a #! line: at the very beginning, where the kernel looks for it, or
// after a byte-order mark or in UTF-16, where some shells and editors do.
//
// An inner attribute of Rust, as in #![no_std], is none: the kernel would look for a
// program of that name in the working directory. With a slash in its first word it
// could lead elsewhere, so then it counts as a script.
func scriptIn(content []byte) (finding, bool) {
	line, ok := strings.CutPrefix(firstLine(content), "#!")
	if !ok {
		return finding{}, false
	}
	words := strings.FieldsFunc(strings.TrimRight(line, "\r"), func(r rune) bool { return r == ' ' || r == '\t' }) // as the kernel
	if len(words) > 0 && strings.HasPrefix(words[0], "[") && !strings.Contains(words[0], "/") {
		return finding{}, false
	}
	return finding{typeOf(words), "the content is a script that can be run", "it begins with #!"}, true
}

// typeOf is the type of a script by the words after #!.
func typeOf(words []string) string {
	program := ""
	if len(words) > 0 {
		program = path.Base(words[0])
	}
	if program == "env" {
		program = ranByEnv(words[1:])
	}
	program = strings.TrimRight(program, "0123456789.-")
	for _, language := range interpreters {
		if slices.Contains(language.programs, program) {
			return language.mime
		}
	}
	return script
}

// ranByEnv is the program that env runs, or "" where its options make that hard to
// say: such a script must not pass as one of a type that was opened.
func ranByEnv(words []string) string {
	if len(words) > 0 && words[0] == "-S" {
		words = words[1:]
	}
	if len(words) == 0 || strings.HasPrefix(words[0], "-") || strings.ContainsAny(words[0], `=\"'$`) {
		return ""
	}
	return path.Base(words[0])
}

// firstLine is the first line without a byte-order mark, of UTF-16 only its ASCII.
func firstLine(content []byte) string {
	content = content[:min(len(content), longestLine)]
	switch {
	case bytes.HasPrefix(content, []byte("\xef\xbb\xbf")):
		content = content[3:]
	case bytes.HasPrefix(content, []byte("\xff\xfe")):
		content = narrow(content[2:], 0)
	case bytes.HasPrefix(content, []byte("\xfe\xff")):
		content = narrow(content[2:], 1)
	case bytes.HasPrefix(content, []byte("#\x00!\x00")):
		content = narrow(content, 0)
	case bytes.HasPrefix(content, []byte("\x00#\x00!")):
		content = narrow(content, 1)
	}
	line, _, _ := bytes.Cut(content, []byte("\n"))
	return string(line)
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
