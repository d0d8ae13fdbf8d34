// Package guard refuses what could run code: content and names that are executable
// ([Executables]), and paths at which a file is run later, on an occasion at which nobody
// asks for it ([Protected]). The administrator opens both one by one.
//
// Content is judged by its first bytes, as operating systems judge it; a name by its
// extension, as desktops and Windows do. Source code is not executable: what only runs
// when somebody hands it to an interpreter or a compiler (.js, .py, Makefile) is what a
// file server is for. A #! line is the difference, since with it the file asks to be run by
// itself, and so is an executable bit. A type is opened by its full name, never by a
// wildcard.
//
// A path is protected whether it exists or not, and so is everything in it. Of content,
// only that of a HEAD of git is looked at for it. Opening a directory does not open what is
// protected for itself deeper down.
//
// The package accesses memory only.
package guard

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/text"
)

// Head is how many bytes at the beginning of a file are enough for [Executables.Content],
// with two exceptions: the mark of an Apple disk image is in the last 512 bytes of the
// file, and an archive may keep what makes it a program further on. So whole content is
// judged better where it is at hand.
const Head = 64 << 10

// Executables refuses what can be run. The zero value refuses all of it.
type Executables struct{ opened map[string]bool }

// NewExecutables lets through the MIME types in allow, in any case and with
// parameters left out; some other usual names of the same types are understood. A
// type that is not in the tables is fault.Misconfigured: it would open nothing.
func NewExecutables(allow []string) (Executables, error) {
	g := Executables{opened: map[string]bool{}}
	known := Types()
	for _, given := range allow {
		essence, _, _ := strings.Cut(given, ";")
		mime := strings.ToLower(strings.TrimSpace(essence))
		if other, ok := otherNames[mime]; ok {
			mime = other
		}
		if !slices.Contains(known, mime) {
			return Executables{}, fault.New(fault.Misconfigured, "there is no type "+shown(given, maxName)+" among those that can be run",
				"Use one of "+strings.Join(known, ", ")).With("mimeType", given).With("known", known)
		}
		g.opened[mime] = true
	}
	return g, nil
}

// Types are the MIME types that can be opened, sorted.
func Types() []string {
	types := []string{script}
	for _, row := range extensions {
		types = append(types, row.MIME)
	}
	for _, sign := range signatures {
		types = append(types, sign.mime)
	}
	for _, language := range interpreters {
		types = append(types, language.mime)
	}
	slices.Sort(types)
	return slices.Compact(types)
}

// Judge is Content and then Name, and for a file that has an executable bit asks what
// would run it: what the kernel runs itself was judged by Content, and all else the kernel
// hands back to the shell, which runs it as a script, whatever it was meant to be.
func (g Executables) Judge(base string, content []byte, bit bool) error {
	err := g.Content(content)
	if err == nil && bit && !g.opened[shell] {
		kernelRuns := bytes.HasPrefix(content, []byte("#!")) || slices.ContainsFunc(signatures, func(s signature) bool {
			return (s.mime == elf || s.mime == appImage || s.mime == mach) && s.in(content)
		})
		if !kernelRuns {
			err = runs(shell, "the file has an executable bit, and a shell runs any text in such a file as a script", "its mode",
				"Have a person take the bit away with chmod -x")
		}
	}
	if err != nil {
		return fault.From(err).With("name", base)
	}
	return g.Name(base)
}

// Content judges the beginning of a file ([Head]) or all of it, in the encoding it
// has on disk. A refusal is fault.Forbidden with the mimeType and what it was
// recognized_by in its details.
func (g Executables) Content(content []byte) error {
	if mime := scriptType(content); mime != "" && !g.opened[mime] {
		return runs(mime, "the content is a script that can be run", "it begins with #!",
			"Leave out the line that begins with #!: such a file is run by naming its interpreter")
	}
	for _, sign := range signatures {
		if !g.opened[sign.mime] && sign.in(content) {
			return runs(sign.mime, "the content is "+sign.what, sign.mark, "Write source or data")
		}
	}
	return nil
}

// Name judges the last component of a path, which need not exist. Case, dots and
// spaces at the end, and alternate streams of Windows (x.exe::$DATA, x.txt:y.exe) are
// seen through; only the last extension counts, as in x.txt.exe. A refusal is
// fault.Forbidden with the mimeType and what it was recognized_by in its details.
func (g Executables) Name(base string) error {
	for part := range strings.SplitSeq(base, ":") {
		plain := Plain(part)
		ext := path.Ext(plain)

		// A shared library may have its version behind the extension, as in libz.so.1.3.
		rest := plain
		for e := path.Ext(rest); len(e) > 1 && strings.Trim(e[1:], "0123456789") == ""; e = path.Ext(rest) {
			rest = strings.TrimSuffix(rest, e)
		}
		if path.Ext(rest) == ".so" {
			ext = ".so"
		}

		short := IsShort(plain)
		for _, row := range extensions {
			// An 8.3 name, which has at most three letters of the extension, may mean several.
			known := strings.ToLower(row.Ext)
			if (known == ext || short && len(known) > 4 && known[:4] == ext) && !g.opened[row.MIME] {
				what := "the name " + shown(base, maxName) + " is that of a file which can be run: " + row.Why
				err := runs(row.MIME, what, "its extension "+row.Ext, "Use the extension of what it is as text, or .txt")
				return fault.From(err).With("name", base)
			}
		}
	}
	return nil
}

// runs refuses what can be run, recognized by mark, and names the flag that would let it
// through, which only a person can set.
func runs(mime, what, mark, instead string) error {
	return fault.New(fault.Forbidden, fmt.Sprintf("%s (%s), and what can be run is not written here", what, mark),
		instead+", or ask the person who runs this server for --allow-mime "+mime).
		With("mimeType", mime).With("recognized_by", mark)
}

// shown quotes a name or a path for a message, cut after that many bytes.
func shown(name string, maxBytes int) string { return strconv.Quote(text.Cut(name, maxBytes)) }

const (
	maxName = 128
	maxPath = 256
)
