// Package protected says which paths are protected: a file there can run code later,
// on an occasion at which nobody asks for it.
//
// It refuses to look at content, that of a HEAD of git aside, and to be told more than
// a path: what is protected is protected whether it exists or not, and everything beneath
// it too. The person who runs the server opens one thing after the other; a name that
// opens a directory does not open what is protected for itself deeper down. It touches
// memory only.
package protected

import (
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/multiollama/mcp-server/file-write/internal/spelling"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/glob"
	"github.com/multiollama/mcp-server/shared/text"
)

// Guard refuses what the table protects. The zero Guard refuses all of it.
type Guard struct{ opened []opening }

// opening is one thing that is not protected after all.
type opening struct {
	pattern glob.Pattern
	byName  bool // against the name of what is protected rather than a path
}

// New is a Guard that lets through what the globs in allow match, case aside: one
// without a slash is matched against the name of what is protected, at any depth, one
// with a slash against the path, from the allowed directory, of that or of something
// beneath it. What lies beneath an opened directory is open with it, except what is
// protected for itself: .vscode does not open .vscode/.git, though .vscode/** does,
// since that matches it. A glob that cannot be read, or could match nothing, is
// fault.Misconfigured.
func New(allow []string) (Guard, error) {
	var g Guard
	for _, given := range allow {
		o, err := newOpening(given)
		if err != nil {
			return Guard{}, fault.New(fault.Misconfigured, "the pattern "+shown(given)+" cannot be used: "+fault.From(err).Msg,
				"Correct --allow-protected").With("pattern", given).Because(err)
		}
		g.opened = append(g.opened, o)
	}
	return g, nil
}

func newOpening(given string) (opening, error) {
	pattern := strings.TrimPrefix(norm.NFC.String(given), "./")
	if strings.HasPrefix(pattern, "/") || strings.HasPrefix(pattern, "~/") || slices.Contains(strings.Split(pattern, "/"), "..") {
		return opening{}, fault.New(fault.ParamInvalid, "it is not relative to the allowed directory", "")
	}
	pattern = strings.TrimRight(pattern, "/")
	compiled, err := glob.CompileFold(pattern)
	return opening{pattern: compiled, byName: !strings.Contains(pattern, "/")}, err
}

// Judge looks at a path with slashes, relative to the allowed directory, and at every
// directory on its way: none of them needs to exist. Case, normal forms, short names
// of Windows (GIT~1), streams, and dots and spaces at the end are seen through. A
// refusal is fault.Forbidden with the path, and under protected the pattern and why,
// in its details. Where nothing is wrong the answer is nil; that nil is a
// *fault.Error and must not be returned as an error unasked.
//
// What stands above the allowed directory is not in rel and so not looked at: who
// allows ~/.config has allowed ~/.config/autostart, unless the caller passes a path
// that begins further up.
func (g Guard) Judge(rel string) *fault.Error {
	way := components(rel)
	for end := 1; end <= len(way); end++ {
		for _, r := range rules() {
			if r.match(way[:end]) && !g.opens(way, end) {
				return refusal(rel, r.Row)
			}
		}
	}
	return nil
}

// opens says whether the protected thing that ends before end was opened by its name
// or path, or something beneath it on the way by its path. A name opens nothing beneath
// what is protected: .vscode must not open .git/.vscode. Only what is spelled out is
// open: a short name may mean another file.
func (g Guard) opens(way []string, end int) bool {
	for _, o := range g.opened {
		if o.byName {
			if o.pattern.Match(way[end-1]) {
				return true
			}
			continue
		}
		for e := end; e <= len(way); e++ {
			if o.pattern.Match(strings.Join(way[:e], "/")) {
				return true
			}
		}
	}
	return false
}

func refusal(rel string, r Row) *fault.Error {
	return fault.New(fault.Forbidden, "the path "+shown(rel)+" is protected, since "+r.Why,
		"Leave it to the person who runs this server, or ask them for --allow-protected with a pattern that names it").
		With("path", rel).With("protected", map[string]any{"pattern": r.Pattern, "why": r.Why})
}

// components are the names on the way, in their plain form. A backslash separates
// too: some system may take it for that.
func components(rel string) []string {
	var way []string
	for name := range strings.SplitSeq(strings.ReplaceAll(rel, `\`, "/"), "/") {
		if name != "" && name != "." {
			way = append(way, spelling.Plain(name))
		}
	}
	return way
}

const longestShown = 256 // bytes of a path in a message

// shown is a path as messages carry it: quoted and cut when long.
func shown(rel string) string { return strconv.Quote(text.Cut(rel, longestShown)) }
