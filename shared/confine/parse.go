package confine

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/multiollama/mcp-server/shared/fault"
)

// maxName is the longest name that is read at all, in bytes (that of Windows;
// Linux allows 4096 and says so itself).
const maxName = 32 << 10

// Parse reads a name as a client writes it: relative, absolute, ~ and ~/… for the
// home of the current user, or a file: URI. A relative name means the first allowed
// directory in which it exists; for something new, the first. .. is resolved
// lexically. It looks at no file except to choose among several directories.
//
// Errors: fault.ParamInvalid for an empty name, fault.ParamMalformed for one that
// cannot be a path here, fault.OutsideAllowed for one that lies outside or is denied.
func (r *Roots) Parse(name string) (Path, error) {
	s, err := r.spell(name)
	if err != nil {
		return Path{}, err.With("path", name)
	}
	p, ok := r.place(s)
	if !ok {
		return Path{}, r.outside(s.words)
	}
	if err := p.judge(); err != nil {
		return Path{}, err
	}
	return p, nil
}

// Locate is the absolute form of a name for the audit log, whether or not it is
// allowed. It is lexical, never fails, and returns a name it cannot read as it is.
func (r *Roots) Locate(name string) string {
	s, err := r.spell(name)
	if err != nil {
		return name
	}
	if p, ok := r.place(s); ok {
		return p.Abs()
	}
	if s.abs == "" && len(r.list) > 0 {
		s.abs = path.Join(r.list[0].name, s.rel)
	}
	if s.abs == "" {
		return name
	}
	return filepath.FromSlash(s.abs)
}

// spelling is a name that has been read but not yet placed. Either abs or rel is
// set; both are clean and in slash form, and rel may begin with "..".
type spelling struct {
	words string // in the caller's own words, cleaned
	abs   string
	rel   string
}

func (r *Roots) spell(name string) (spelling, *fault.Error) {
	if err := checkName(name); err != nil {
		return spelling{}, err
	}
	text, isURI, err := fromURI(name)
	if err != nil {
		return spelling{}, err
	}
	if text, err = hostSpelling(text); err != nil {
		return spelling{}, err
	}
	s := r.sort(text)
	if isURI && s.abs == "" {
		return spelling{}, malformed("a file: URI needs an absolute path", "Write file:///directory/file")
	}
	if r.opts.RelativeOnly && (s.abs != "" || hasDotDot(text)) {
		return spelling{}, fault.New(fault.OutsideAllowed, "only relative paths without .. are accepted here",
			"Write the path relative to the working directory, as in src/main.go")
	}
	return s, nil
}

// sort tells absolute names from relative ones. In text, slashes separate.
func (r *Roots) sort(text string) spelling {
	if full := r.expandHome(text); full != text {
		words, abs := path.Clean(text), cleanHost(full)
		if !strings.HasPrefix(words, "~") { // ~/.. and further up
			words = abs
		}
		return spelling{words: words, abs: abs}
	}
	if isAbsolute(text) {
		abs := cleanHost(text)
		return spelling{words: abs, abs: abs}
	}
	rel := path.Clean(text)
	return spelling{words: relativeWords(rel), rel: rel}
}

// relativeWords is rel so that it reads as the same path again: without ./ in
// front, ~/x would be the home and file:x a URI.
func relativeWords(rel string) string {
	first, _, _ := strings.Cut(rel, "/")
	if first != "" && (first[0] == '~' || first[0] == '\\' || strings.Contains(first, ":")) {
		return "./" + rel
	}
	return rel
}

// joinWords is the words for name in the directory called words. It does not clean
// a leading ./ away, as path.Join would.
func joinWords(words, name string) string {
	switch words {
	case ".":
		return relativeWords(name)
	case "/":
		return "/" + name
	}
	return words + "/" + name
}

// expandHome reads ~ and ~/… only: ~other is a name like any other.
func (r *Roots) expandHome(text string) string {
	if r.home != "" && (text == "~" || strings.HasPrefix(text, "~/")) {
		return r.home + text[1:]
	}
	return text
}

// place finds the allowed directory for a spelling.
func (r *Roots) place(s spelling) (Path, bool) {
	if len(r.list) == 0 {
		return Path{}, false
	}
	if s.abs == "" && s.rel != ".." && !strings.HasPrefix(s.rel, "../") {
		return Path{roots: r, root: r.firstWith(s.rel), rel: s.rel, words: s.words}, true
	}
	abs := s.abs
	if abs == "" {
		abs = path.Join(r.list[0].name, s.rel)
	}
	in, rel, ok := r.find(abs)
	return Path{roots: r, root: in, rel: rel, words: s.words}, ok
}

// firstWith is the first allowed directory in which rel exists, else the first.
func (r *Roots) firstWith(rel string) *root {
	if len(r.list) > 1 {
		for _, one := range r.list {
			if (Path{roots: r, root: one, rel: rel, words: rel}).exists() {
				return one
			}
		}
	}
	return r.list[0]
}

func hasDotDot(text string) bool { return slices.Contains(strings.Split(text, "/"), "..") }

func checkName(name string) *fault.Error {
	switch {
	case name == "":
		return fault.New(fault.ParamInvalid, "the path is empty", "Name a file or directory; . is the allowed directory itself")
	case len(name) > maxName:
		return fault.New(fault.ParamInvalid, "the path is longer than 32768 bytes", "Use a shorter path")
	case hasControl(name):
		return malformed("the path contains a control character", "Remove line breaks, tabs and NUL from the path")
	}
	return nil
}

// hasControl finds NUL, line breaks, escape and the other characters of category Cc.
func hasControl(s string) bool { return strings.IndexFunc(s, unicode.IsControl) >= 0 }

func malformed(msg, do string) *fault.Error { return fault.New(fault.ParamMalformed, msg, do) }
