package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
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
		Name:       "file-write",
		Title:      "Write files",
		Doc:        "An MCP server that creates, overwrites, edits, moves and copies files beneath the directories you allow, and keeps what was there before.",
		Version:    version,
		Flags:      flags(),
		Defaults:   defaults,
		Open:       open,
		MaxMessage: maxMessage,
	}
}

func flags() []settings.Flag {
	return []settings.Flag{
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
	}
}

// defaults are what a vocabulary changes for those who set nothing else.
func defaults(s *settings.Set) {
	usual := "write,edit,manage"
	switch s.Text("vocabulary") {
	case "agent": // document 004: ten calls a minute, a folder of its own, no paths of the host in messages
		s.SetDefault("rate-limit", "10/1m")
		s.SetDefault("hide-paths", "true")
		s.SetDefault("output-layout", "dated")
		usual = "write,edit"
	case "local-file":
		usual = "write"
	}
	s.SetDefault("toolsets", usual)
}

// open makes the writer with its guards: what may not be touched, run or protected.
func open(_ context.Context, s *settings.Set, own command.Own) (*command.Service, error) {
	at, err := newLayout(s.Text("output-layout"), s.Text("user-id"), time.Now)
	if err != nil {
		return nil, err
	}
	guards, err := newGuards(s.List("allow-mime"), s.List("allow-protected"))
	if err != nil {
		return nil, err
	}
	store, err := storeOf(s, own.State)
	if err != nil {
		return nil, err
	}
	roots, scope, err := command.OpenDirectories(s, store.unreachable(own.Files), at.dated || s.Text("vocabulary") == "agent")
	if err != nil {
		return nil, err
	}
	w := &writer{scope: scope, files: replace.New(guards.rules()), guards: guards, layout: at}
	return &command.Service{
		Roots:        roots,
		Vocabularies: vocabularies(w),
		Instructions: "Changes files beneath the allowed directories, each in one step or not at all. Edits are literal: the text to replace has to stand in the file exactly once. What was there before is kept.",
		Restrict:     store.rules(roots.Dirs()),
		Checks:       func() []command.Check { return checks(s, store) },
		Spares:       spares(s),
		Start: func(ctx context.Context) error {
			if w.past, err = store.open(); err != nil {
				return err
			}
			return w.sweep(ctx, roots)
		},
		Close: func() error { return w.close() },
	}, nil
}

// store is where what was there before a change is kept; the zero store keeps nothing.
type store struct {
	dir    string
	limits history.Limits
}

func storeOf(s *settings.Set, state string) (store, error) {
	dir := s.Text("history")
	switch {
	case dir == "off" && slices.ContainsFunc(s.List("toolsets"), func(set string) bool { return set == "delete" || set == "history" }):
		return store{}, fault.New(fault.Misconfigured, "the toolsets delete and history need the history, and it is off", "Leave --history out, or these toolsets")
	case dir == "off":
		return store{}, nil
	case dir == "auto" && state == "":
		return store{}, fault.New(fault.Misconfigured, "there is no home directory to keep the history in", "Name a directory with --history, or write --history off")
	case dir == "auto":
		dir = filepath.Join(state, "history")
	}
	return store{dir, history.Limits{Bytes: s.Size("history-size"), Age: s.Duration("history-age")}}, nil
}

func (st store) open() (*history.Store, error) {
	if st.dir == "" {
		return nil, nil
	}
	past, err := history.Open(st.dir, st.limits, time.Now)
	if err != nil {
		return nil, fault.New(fault.Misconfigured, "the history cannot be opened: "+fault.From(err).Msg,
			"Name another directory with --history, or write --history off to keep nothing").With("directory", st.dir).Because(err)
	}
	return past, nil
}

// unreachable is globs of what no tool may touch: the program's own files and what it
// keeps.
func (st store) unreachable(own []string) []string {
	if st.dir == "" {
		return own
	}
	return append(own, glob.Quote(st.dir))
}

// rules are what the process keeps: writing in the allowed directories and the
// history. Modes and owners must be changeable to keep those of a replaced file.
func (st store) rules(dirs []string) restrict.Rules {
	write := slices.Clone(dirs)
	if st.dir != "" {
		write = append(write, st.dir)
	}
	return restrict.Rules{Write: write, Attributes: true}
}

// guards are the two judges of what could run code: later by its place, or at once by
// what it is.
type guards struct {
	runs      guard.Executables
	protected guard.Protected
}

func newGuards(mime, paths []string) (guards, error) {
	runs, err := guard.NewExecutables(mime)
	if err != nil {
		return guards{}, err
	}
	places, err := guard.NewProtected(paths)
	return guards{runs, places}, err
}

// rules are the guards as package replace asks them about every change.
func (g guards) rules() replace.Rules {
	return replace.Rules{Entry: g.entry, Content: g.content}
}

func (g guards) entry(real confine.Path) error {
	if err := g.protected.Judge(real.Rel()); err != nil {
		return err
	}
	return g.protected.JudgePart(real.Rel(), func(up int) bool { return headed(real, up) })
}

// headed reports whether git would take the directory so many levels above p for a
// repository, as far as HEAD says. What cannot be looked at could be one.
func headed(p confine.Path, up int) bool {
	for range up {
		var ok bool
		if p, ok = p.Parent(); !ok {
			return true
		}
	}
	const head = "HEAD"
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

// absent says that an error means that there is no such entry, or no directory.
func absent(err error) bool {
	return errors.Is(err, fault.NotFound) || errors.Is(err, fault.ParamInvalid)
}

func (g guards) content(real confine.Path, content []byte, mode fs.FileMode) error {
	if err := g.runs.Judge(real.Base(), content, mode&0o111 != 0); err != nil {
		return err
	}
	return g.protected.JudgeHead(real.Rel(), content)
}
