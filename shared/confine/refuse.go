package confine

import (
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/multiollama/mcp-server/shared/fault"
)

// problem is why an attempt to open failed, as far as it decides what happens next.
type problem int

const (
	none        problem = iota
	throughLink         // a component is a symbolic link
	missing             // a component is not there
	throughFile         // a component that should be a directory is not one
	outside             // the kernel saw a step out of the kept directory
	special             // something that cannot be opened as a file, a socket for one
	failed              // anything else
)

// wrongType is the error for something that is there but is not what was asked for.
type wrongType Type

func (t wrongType) Error() string { return "it is a " + Type(t).String() }

// errNoLink is the error for an entry that is there and is no symbolic link.
var errNoLink = errors.New("it is not a symbolic link")

const longestShown = 256 // bytes of a name in a message

// shown is a name as messages carry it: quoted, so that it can hold neither a line
// break nor a mark that turns the writing direction, and cut when long.
func shown(name string) string {
	if len(name) > longestShown {
		cut := longestShown
		for cut > 0 && !utf8.RuneStart(name[cut]) {
			cut--
		}
		name = name[:cut] + "…"
	}
	return strconv.Quote(name)
}

// outside is the refusal of a name that lies under no allowed directory.
func (r *Roots) outside(words string) error {
	e := fault.New(fault.OutsideAllowed, "the path "+shown(words)+" is outside the allowed directories", r.whereInstead())
	if !r.opts.HidePaths {
		e = e.With("allowed", r.Dirs())
	}
	return e.With("path", words)
}

func (r *Roots) whereInstead() string {
	const most = 8
	dirs := r.Dirs()
	switch {
	case len(dirs) == 0:
		return "No directory is allowed here: ask the person who runs this server"
	case r.opts.HidePaths:
		return "Use a relative path; . is the allowed directory"
	case len(dirs) > most:
		return fmt.Sprintf("Use a path beneath %s or one of %d others", strings.Join(dirs[:most], ", "), len(dirs)-most)
	}
	return "Use a path beneath " + strings.Join(dirs, " or ")
}

// denied is the refusal of what the deny rules name, whether it exists or not.
func (p Path) denied() error {
	return fault.New(fault.OutsideAllowed, "the path "+shown(p.words)+" is denied by this server's configuration",
		"Work without it, or ask the person who runs this server").With("path", p.words).With("denied", true)
}

func (p Path) linkRefused(o obstacle, cause error) error {
	link := p.linkWords(o)
	return fault.New(fault.Forbidden, "the path goes through the symbolic link "+shown(link),
		"Name the file itself, without the link").With("link", link).With("path", p.words).Because(cause)
}

func (p Path) tooManyLinks(cause error) error {
	return fault.New(fault.Forbidden, fmt.Sprintf("the path %s goes through more than %d symbolic links", shown(p.words), maxLinks),
		"Name the file itself, without the links").With("link", p.words).With("path", p.words).Because(cause)
}

// linkWords names the component that is a link in the caller's words. Past a link
// that was followed there are no such words: then it is the host's name, or under
// HidePaths what the caller wrote.
func (p Path) linkWords(o obstacle) string {
	way := strings.Split(p.full(), "/")
	if o.kind != throughLink || p.followed && p.roots.opts.HidePaths {
		return p.words
	}
	if p.followed {
		return path.Join(append([]string{p.root.base}, way[:o.at+1]...)...)
	}
	return p.wordsUpTo(len(way) - 1 - o.at)
}

// wordsUpTo is the caller's words without their last n components.
func (p Path) wordsUpTo(n int) string {
	words := p.words
	for range n {
		i := strings.LastIndexByte(words, '/')
		switch {
		case i < 0:
			return "."
		case i == 0:
			return "/"
		}
		words = words[:i]
	}
	return words
}

// explain is the error for an attempt that failed and cannot be helped.
func (p Path) explain(err error) error {
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return f
	}
	if t, ok := errors.AsType[wrongType](err); ok {
		return p.wrongKind(Type(t), err)
	}
	switch problemOf(err) {
	case outside:
		return p.roots.outside(p.words)
	case special:
		return p.wrongKind(Other, err)
	case throughFile: // the path is no directory, or goes through a file
		info, failed := p.look()
		if failed == nil && info.Type != Directory {
			return p.wrongKind(info.Type, err)
		}
		return fault.New(fault.ParamInvalid, "the path "+shown(p.words)+" goes through a file as if it were a directory",
			"List the parent directory to see what is there").With("path", p.words).Because(err)
	}
	return about(p.words, err)
}

func (p Path) wrongKind(t Type, cause error) error {
	msg, do := shown(p.words)+" is neither a regular file nor a directory", "Name a regular file"
	switch t {
	case Directory:
		msg, do = shown(p.words)+" is a directory, not a file", "List it, or name a file in it"
	case File:
		msg, do = shown(p.words)+" is a file, not a directory", "Read it, or name a directory"
	}
	return fault.New(fault.ParamInvalid, msg, do).With("path", p.words).With("type", t.String()).Because(cause)
}

func (p Path) notFound(cause error) error {
	e := fault.New(fault.NotFound, "there is no "+shown(p.words), "List the parent directory to see what is there").
		With("path", p.words).Because(cause)
	near := p.nearest()
	if near == "" {
		return e
	}
	e.Do = "Did you mean " + shown(near) + "? If not, list the parent directory to see what is there"
	return e.With("did_you_mean", near)
}

// nearest is the path, in the caller's words, of the name that is there where p has a
// missing one and differs from it by a slip of the hand; "" where none does. What is
// denied is never suggested.
func (p Path) nearest() string {
	const (
		maxCandidates = 2000 // names of the parent directory that are looked at
		maxCandidate  = 64   // bytes; the comparison is quadratic
	)
	o := p.survey()
	full, way := strings.Split(p.full(), "/"), strings.Split(p.rel, "/")
	i := o.at - len(full) + len(way)
	if o.kind != missing || p.followed || i < 0 || len(full[o.at]) > maxCandidate {
		return ""
	}
	parent := p
	parent.rel, parent.words = path.Clean(path.Join(way[:i]...)), p.wordsUpTo(len(full)-o.at)
	d, err := parent.OpenDir()
	if err != nil {
		return ""
	}
	defer d.Close()
	var names []string
	for seen := 0; seen < maxCandidates; {
		entries, err := d.Next(256)
		for _, e := range entries {
			if len(e.Name) <= maxCandidate && !hasControl(e.Name) {
				names = append(names, e.Name)
			}
		}
		if seen += len(entries); err != nil {
			break
		}
	}
	n := utf8.RuneCountInString(full[o.at])
	best := fault.Nearest(full[o.at], names, 1+min(n-1, 1+n/5, 3), strings.ToLower) // in a single letter no slip is forgiven
	if best == "" {
		return ""
	}
	return joinWords(parent.words, best)
}
