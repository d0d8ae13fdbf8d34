package confine

import (
	"net/url"
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
		return Path{}, about(name, err)
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

// spell reads a name and looks at no file.
func (r *Roots) spell(name string) (spelling, error) {
	if err := checkName(name); err != nil {
		return spelling{}, err
	}
	text, isURI, err := fromURI(name)
	if err == nil {
		text, err = hostSpelling(text)
	}
	if err != nil {
		return spelling{}, err
	}

	var s spelling
	if full := r.expandHome(text); full != text {
		s.words, s.abs = path.Clean(text), cleanHost(full)
		if !strings.HasPrefix(s.words, "~") { // ~/.. and further up
			s.words = s.abs
		}
	} else if isAbsolute(text) {
		s.abs = cleanHost(text)
		s.words = s.abs
	} else {
		s.rel = path.Clean(text)
		s.words = relativeWords(s.rel)
	}

	if isURI && s.abs == "" {
		return spelling{}, malformed("a file: URI needs an absolute path", "Write file:///directory/file")
	}
	if r.opts.RelativeOnly && (s.abs != "" || hasDotDot(text)) {
		return spelling{}, fault.New(fault.OutsideAllowed, "only relative paths without .. are accepted here",
			"Write the path relative to the working directory, as in src/main.go")
	}
	return s, nil
}

// fromURI reads a file: URI (RFC 8089) as the path it names, percent-decoded. Any
// other name is returned as it is; other schemes are refused, since
// https://host/x is no file here and would only be "not found".
func fromURI(name string) (text string, isURI bool, err error) {
	scheme, rest, found := strings.Cut(name, ":")
	if !found || !strings.EqualFold(scheme, "file") {
		if found && isScheme(scheme) && strings.HasPrefix(rest, "//") {
			return "", false, malformed("only file: URIs name files here, not "+strings.ToLower(scheme)+":", "Use a path or a file: URI")
		}
		return name, false, nil
	}
	if after, has := strings.CutPrefix(rest, "//"); has {
		host, path, _ := strings.Cut(after, "/")
		if host != "" && !strings.EqualFold(host, "localhost") {
			return "", true, malformed("the file: URI names another host", "Write file:///directory/file")
		}
		rest = "/" + path
	}
	if strings.ContainsAny(rest, "?#") {
		return "", true, malformed("a file: URI has no query and no fragment", "Write ? as %3F and # as %23")
	}
	text, cause := url.PathUnescape(rest)
	if cause != nil {
		return "", true, fault.New(fault.ParamMalformed, "the file: URI has a bad percent-encoding", "Write % as %25").Because(cause)
	}
	if hasControl(text) {
		return "", true, malformed("the file: URI contains an encoded control character", "Remove it from the path")
	}
	return dropDriveSlash(text), true, nil
}

// isScheme is the syntax of RFC 3986, section 3.1, for two characters and more: one
// is a drive letter.
func isScheme(s string) bool {
	for i, c := range s {
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && (i == 0 || !strings.ContainsRune("0123456789+-.", c)) {
			return false
		}
	}
	return len(s) > 1
}

// URI is the file: URI (RFC 8089) of the path. [Roots.Parse] reads it back.
func (p Path) URI() string {
	abs := filepath.ToSlash(p.Abs())
	if !strings.HasPrefix(abs, "/") {
		abs = "/" + abs // C:/x on Windows
	}
	return (&url.URL{Scheme: "file", Path: abs}).String()
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

// place finds the allowed directory for a spelling: for a relative one, the first in
// which it exists, else the first.
func (r *Roots) place(s spelling) (Path, bool) {
	if len(r.list) == 0 {
		return Path{}, false
	}
	if s.abs == "" && s.rel != ".." && !strings.HasPrefix(s.rel, "../") {
		p := Path{roots: r, root: r.list[0], rel: s.rel, words: s.words}
		for i := 0; len(r.list) > 1 && i < len(r.list); i++ { // a single one needs no look
			if in := (Path{roots: r, root: r.list[i], rel: s.rel, words: s.rel}); in.exists() {
				p.root = in.root
				break
			}
		}
		return p, true
	}
	abs := s.abs
	if abs == "" {
		abs = path.Join(r.list[0].name, s.rel)
	}
	in, rel, ok := r.find(abs)
	return Path{roots: r, root: in, rel: rel, words: s.words}, ok
}

func hasDotDot(text string) bool { return slices.Contains(strings.Split(text, "/"), "..") }

func checkName(name string) error {
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

func malformed(msg, do string) error { return fault.New(fault.ParamMalformed, msg, do) }

// about is a refusal of a path, which its details name.
func about(path string, err error) error { return fault.From(err).With("path", path) }
