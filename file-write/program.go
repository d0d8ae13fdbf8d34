package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/multiollama/mcp-server/file-write/internal/guard"
	"github.com/multiollama/mcp-server/file-write/internal/history"
	"github.com/multiollama/mcp-server/shared/command"
	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/glob"
	"github.com/multiollama/mcp-server/shared/replace"
	"github.com/multiollama/mcp-server/shared/restrict"
	"github.com/multiollama/mcp-server/shared/settings"
)

// maxMessage holds a content of replace.MaxBytes in which every second byte had to be
// escaped, and all else a message has.
const maxMessage = 2*replace.MaxBytes + 16<<20

// program is what the command line makes this server of.
func program() command.Program {
	return command.Program{
		Name:  "file-write",
		Title: "Write files",
		Doc: "An MCP server that creates, overwrites, edits, moves and copies files beneath the directories you allow, " +
			"and keeps what was there before.",
		Version: version,
		Flags: []settings.Flag{
			{Name: "toolsets", Kind: settings.List, Doc: "offer the tools of these sets only; without it, all but delete and history"},
			{Name: "audit-required", Kind: settings.Bool, Default: "true", Doc: "refuse a call whose audit event cannot be stored"},
			{Name: "allow-mime", Kind: settings.List, Doc: "MIME types of executables that may be written too, such as application/x-sh"},
			{Name: "allow-protected", Kind: settings.Globs, Doc: "protected paths that may be written too, such as .vscode or .github/workflows"},
			{Name: "history", Kind: settings.Text, Dir: true, Choices: []string{"auto", "off"}, Default: "auto",
				Doc: "the directory in which what was there before a change is kept; auto is mcp-server/history in the user's state directory"},
			{Name: "history-size", Kind: settings.Size, Default: "1GiB", Min: 1 << 20, Doc: "bytes that are kept; the oldest go first"},
			{Name: "history-age", Kind: settings.Duration, Default: "720h", Doc: "how long it is kept"},
			{Name: "output-layout", Kind: settings.Choice, Choices: []string{"plain", "dated"}, Default: "plain",
				Doc: "where paths begin: at the allowed directory, or at output/DATE/user_ID in it"},
			{Name: "user-id", Kind: settings.Text, Default: "default", Doc: "the ID of that folder: letters, digits, - and _"},
		},
		Defaults:   defaults,
		Open:       open,
		MaxMessage: maxMessage,
	}
}

// defaults are what a vocabulary changes for those who set nothing else.
func defaults(s *settings.Set) {
	toolsets := "write,edit,manage"
	switch s.Text("vocabulary") {
	case "agent": // document 004: ten calls a minute, a folder of its own, no paths of the host in messages
		s.SetDefault("rate-limit", "10/1m")
		s.SetDefault("hide-paths", "true")
		s.SetDefault("output-layout", "dated")
		toolsets = "write,edit"
	case "local-file":
		toolsets = "write"
	}
	s.SetDefault("toolsets", toolsets)
}

// open makes the writer with its guards: what may not be accessed, run or protected.
func open(_ context.Context, s *settings.Set, own command.Own) (*command.Service, error) {
	at, err := newLayout(s.Text("output-layout"), s.Text("user-id"), time.Now)
	if err != nil {
		return nil, err
	}
	guards, err := newGuards(s.List("allow-mime"), s.List("allow-protected"))
	if err != nil {
		return nil, err
	}

	// No tool reaches the program's own files and what it keeps.
	dir, err := historyDir(s, own.State)
	if err != nil {
		return nil, err
	}
	hidden := own.Files
	if dir != "" {
		hidden = append(hidden, glob.Quote(dir))
	}
	roots, scope, err := command.OpenDirectories(s, hidden, at.dated || s.Text("vocabulary") == "agent")
	if err != nil {
		return nil, err
	}
	w := &writer{scope: scope, files: replace.New(guards.rules()), guards: guards, layout: at}

	writable := slices.Clone(roots.Dirs())
	if dir != "" {
		writable = append(writable, dir)
	}
	return &command.Service{
		Roots:        roots,
		Vocabularies: vocabularies(w),
		Instructions: "Changes files beneath the allowed directories, each in one step or not at all. " +
			"Edits are literal: the text to replace has to stand in the file exactly once. What was there before is kept.",
		Restrict: restrict.Rules{Write: writable, Attributes: true}, // a changed file keeps its mode and owner
		Checks:   func() []command.Check { return checks(s, dir) },
		Spares:   spares(s),
		Start: func(ctx context.Context) error {
			if dir != "" {
				limits := history.Limits{Bytes: s.Size("history-size"), Age: s.Duration("history-age")}
				if w.past, err = history.Open(dir, limits, time.Now); err != nil {
					return fault.New(fault.Misconfigured, "the history cannot be opened: "+fault.From(err).Msg,
						"Name another directory with --history, or write --history off to keep nothing").With("directory", dir).Because(err)
				}
			}
			return w.sweep(ctx, roots)
		},
		Close: func() error {
			if w.past == nil {
				return nil
			}
			return w.past.Close()
		},
	}, nil
}

// historyDir is where what was there before a change is kept; "" keeps nothing.
func historyDir(s *settings.Set, state string) (string, error) {
	dir := s.Text("history")
	needs := func(set string) bool { return set == "delete" || set == "history" }
	switch {
	case dir == "off" && slices.ContainsFunc(s.List("toolsets"), needs):
		return "", fault.New(fault.Misconfigured, "the toolsets delete and history need the history, and it is off",
			"Leave --history out, or these toolsets")
	case dir == "off":
		return "", nil
	case dir == "auto" && state == "":
		return "", fault.New(fault.Misconfigured, "there is no home directory to keep the history in",
			"Name a directory with --history, or write --history off")
	case dir == "auto":
		return filepath.Join(state, "history"), nil
	}
	return dir, nil
}

// guards refuse what could run code: later by its path, or at once by what it is.
// Package replace asks them about every change.
type guards struct {
	runs      guard.Executables
	protected guard.Protected
}

func newGuards(mime, paths []string) (g guards, err error) {
	if g.runs, err = guard.NewExecutables(mime); err != nil {
		return g, err
	}
	g.protected, err = guard.NewProtected(paths)
	return g, err
}

func (g guards) rules() replace.Rules { return replace.Rules{Entry: g.entry, Content: g.content} }

func (g guards) entry(real confine.Path) error {
	if err := g.protected.Judge(real.Rel()); err != nil {
		return err
	}
	return g.protected.JudgePart(real.Rel(), func(up int) bool { return headed(real, up) })
}

func (g guards) content(real confine.Path, content []byte, mode fs.FileMode) error {
	if err := g.runs.Judge(real.Base(), content, mode&0o111 != 0); err != nil {
		return err
	}
	return g.protected.JudgeHead(real.Rel(), content)
}

// headed reports whether git would take the directory so many levels above p for a
// repository, as far as HEAD shows. What cannot be read could be one.
func headed(p confine.Path, up int) bool {
	for range up {
		var ok bool
		if p, ok = p.Parent(); !ok {
			return true
		}
	}
	const head = "HEAD"
	absent := func(err error) bool { return errors.Is(err, fault.NotFound) || errors.Is(err, fault.ParamInvalid) }
	dir, err := p.OpenDir()
	if err != nil {
		return !absent(err)
	}
	defer dir.Close() // only for reading
	info, err := dir.Info(head)
	switch {
	case err != nil:
		return !absent(err)
	case info.Type != confine.File:
		return info.Type != confine.Directory // a link can be a HEAD
	}
	f, _, err := dir.Open(head)
	if err != nil {
		return !absent(err)
	}
	defer f.Close() // only for reading
	content, err := io.ReadAll(io.LimitReader(f, 64))
	return err != nil || guard.IsHead(content)
}

// checks are the lines of doctor about what this server refuses, and what it keeps in
// history, if that is not "".
func checks(s *settings.Set, history string) []command.Check {
	var all []command.Check
	ok := func(subject, text string) {
		all = append(all, command.Check{Verdict: command.OK, Subject: subject, Text: text})
	}
	warn := func(subject, text, fix string) {
		all = append(all, command.Check{Verdict: command.Warn, Subject: subject, Text: text, Fix: fix})
	}

	var patterns []string
	rows := guard.Paths()
	for i, row := range rows {
		patterns = append(patterns, row.Pattern)
		if i+1 == len(rows) || rows[i+1].Why != row.Why {
			ok("protected", strings.Join(patterns, " ")+": "+row.Why)
			patterns = nil
		}
	}
	ok("protected", guard.Repository.Pattern+": "+guard.Repository.Why)
	if opened := s.List("allow-protected"); len(opened) > 0 {
		warn("protected", "except "+strings.Join(opened, ", ")+", which may be written", "Leave --allow-protected out where that is not meant")
	}

	var names []string
	for _, row := range guard.Extensions() {
		names = append(names, row.Ext)
	}
	refused := "are refused by content, where a file has an executable bit, and by name: " + strings.Join(names, " ")
	if opened := s.List("allow-mime"); len(opened) > 0 {
		warn("executables", refused+"; except "+strings.Join(opened, ", "), "Leave --allow-mime out where that is not meant")
	} else {
		ok("executables", refused)
	}

	if history == "" {
		warn("history", "is off: what is overwritten is lost", "Leave --history out")
	} else {
		ok("history", fmt.Sprintf("keeps what was there before a change in %s, up to %d bytes and for %s; "+
			"where it cannot be opened the server does not start", history, s.Size("history-size"), s.Duration("history-age")))
	}
	return all
}

// spares are, in plain words, what nobody opened to changes.
func spares(s *settings.Set) []string {
	var all []string
	if len(s.List("allow-mime")) == 0 {
		all = append(all, "programs and scripts")
	}
	if len(s.List("allow-protected")) == 0 {
		all = append(all, "protected paths that run code later")
	}
	return all
}
