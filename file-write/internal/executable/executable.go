// Package executable says whether content, or a name, is something that can be run.
//
// Content is judged by its first bytes, as operating systems judge it; a name by its
// extension, as desktops and Windows do. What either finds is refused unless the
// person who runs the server has opened its MIME type, one by one.
//
// It refuses to call source code executable: what only runs when somebody hands it
// to an interpreter or a compiler (.js, .py, Makefile) is what a file server is for.
// A #! line is the difference, since with it the file asks to be run by itself, and so is
// an executable bit. And it refuses to decide by a wildcard: a type is opened by its full
// name. It touches memory only.
package executable

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/text"
)

// Head is how many bytes at the beginning of a file are enough for [Guard.Content],
// with two exceptions: the mark of an Apple disk image stands in the last 512 bytes of
// the file, and an archive may keep what makes it a program further on. So whole
// content is judged better where it is at hand.
const Head = 64 << 10

// Guard refuses what can be run. The zero Guard refuses all of it.
type Guard struct{ opened map[string]bool }

// New is a Guard that lets through the MIME types in allow, in any case and with
// parameters left out; some other usual names of the same types are understood. A
// type that is not in the tables is fault.Misconfigured: it would open nothing.
func New(allow []string) (Guard, error) {
	g := Guard{opened: map[string]bool{}}
	known := Types()
	for _, given := range allow {
		essence, _, _ := strings.Cut(given, ";")
		mime := strings.ToLower(strings.TrimSpace(essence))
		if other, ok := otherNames[mime]; ok {
			mime = other
		}
		if !slices.Contains(known, mime) {
			return Guard{}, fault.New(fault.Misconfigured, "there is no type "+shown(given)+" among those that can be run",
				"Use one of "+strings.Join(known, ", ")).With("mimeType", given).With("known", known)
		}
		g.opened[mime] = true
	}
	return g, nil
}

// otherNames are names of types in use elsewhere.
var otherNames = map[string]string{
	"text/x-sh":                                   shell,
	"text/x-shellscript":                          shell,
	"application/x-shellscript":                   shell,
	"application/x-msdownload":                    portable,
	"application/x-dosexec":                       portable,
	"application/x-executable":                    elf,
	"application/x-pie-executable":                elf,
	"application/javascript":                      javascript,
	"application/x-python":                        python,
	"application/x-msdos-program":                 dos,
	"application/x-ms-installer":                  installer,
	"application/x-debian-package":                debian,
	"application/vnd.debian.binary-package+x-deb": debian,
	"application/x-redhat-package-manager":        redhat,
	"application/x-java-archive":                  jar,
	"application/x-xar":                           applePackage,
}

// Types are the MIME types that can be opened, sorted.
func Types() []string {
	types := []string{script}
	for _, row := range names {
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
// would run it. Like them it answers nil where nothing is wrong; that nil is a
// *fault.Error and must not be returned as an error unasked.
func (g Guard) Judge(base string, content []byte, bit bool) *fault.Error {
	err := g.Content(content)
	if err == nil && bit {
		err = g.withBit(content)
	}
	if err != nil {
		return err.With("name", base)
	}
	return g.Name(base)
}

// withBit judges content that Content let through, of a file that has an executable bit.
// What the kernel runs itself was judged there. All else it hands back to the shell, which
// runs it as a script of its own, whatever it was meant to be.
func (g Guard) withBit(content []byte) *fault.Error {
	if g.opened[shell] || bytes.HasPrefix(content, []byte("#!")) {
		return nil
	}
	for _, sign := range signatures {
		if slices.Contains([]string{elf, appImage, mach}, sign.mime) && sign.in(content) {
			return nil
		}
	}
	return finding{shell, "the file has an executable bit, and a shell runs any text in such a file as a script", "its mode"}.
		refusal("Have a person take the bit away with chmod -x")
}

// Content judges the beginning of a file ([Head]) or all of it, in the encoding it
// has on disk. A refusal is fault.Forbidden with the mimeType and what it was
// recognized_by in its details.
func (g Guard) Content(content []byte) *fault.Error {
	if found, ok := scriptIn(content); ok && !g.opened[found.mime] {
		return found.refusal("Leave out the line that begins with #!: such a file is run by naming its interpreter")
	}
	for _, sign := range signatures {
		if !g.opened[sign.mime] && sign.in(content) {
			return finding{sign.mime, "the content is " + sign.what, sign.mark}.refusal("Write source or data")
		}
	}
	return nil
}

// finding is something that can be run.
type finding struct {
	mime string
	what string // a sentence
	mark string // what it was recognised by
}

// refusal also says which flag would let it through; only a person can set that.
func (f finding) refusal(instead string) *fault.Error {
	return fault.New(fault.Forbidden, fmt.Sprintf("%s (%s), and what can be run is not written here", f.what, f.mark),
		instead+", or ask the person who runs this server for --allow-mime "+f.mime).
		With("mimeType", f.mime).With("recognized_by", f.mark)
}

const longestShown = 128 // bytes of a name in a message

// shown is a name as messages carry it: quoted and cut when long.
func shown(name string) string { return strconv.Quote(text.Cut(name, longestShown)) }
