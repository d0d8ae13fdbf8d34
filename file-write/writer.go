package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/multiollama/mcp-server/file-write/internal/diff"
	"github.com/multiollama/mcp-server/file-write/internal/history"
	"github.com/multiollama/mcp-server/shared/command"
	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/replace"
	"github.com/multiollama/mcp-server/shared/text"
	"github.com/multiollama/mcp-server/shared/toolkit"
)

// writer is what every operation of this server works on: names that may be written,
// the one way to change what is there, and what was there before.
type writer struct {
	scope  *confine.Scope
	files  *replace.Writer
	past   *history.Store // nil where nothing is kept
	guards guards
	layout layout
}

// path is the only way from a name that a client gave to something that can be
// changed.
func (w *writer) path(ctx context.Context, name string) (confine.Path, error) {
	return w.scope.Parse(ctx, w.layout.place(name))
}

// layout decides where the names of a client begin. The zero layout: where the allowed
// directories do.
type layout struct {
	dated bool
	user  string
	clock func() time.Time
}

func newLayout(name, user string, clock func() time.Time) (layout, error) {
	if name != "dated" {
		return layout{}, nil
	}
	return layout{dated: true, user: user, clock: clock}, command.CheckUserID(user)
}

var datedFolder = regexp.MustCompile(`^output/\d{4}-\d{2}-\d{2}/user_([A-Za-z0-9_-]+)(/|$)`)

// place is the name of what a client calls given (document 004): in today's folder of
// this user. A name that begins with one of the user's folders, as results name it, is
// left as it is, so that yesterday's file can still be edited.
func (l layout) place(given string) string {
	if !l.dated || given == "" {
		return given
	}
	given = strings.TrimPrefix(given, "./")
	if m := datedFolder.FindStringSubmatch(given); m != nil && m[1] == l.user {
		return given
	}
	if path.IsAbs(given) || strings.HasPrefix(given, "~") || strings.HasPrefix(given, "file:") {
		return given // refused by its form, in the client's own words
	}
	return command.UserFolder(l.clock(), l.user) + "/" + given
}

// withParents runs do, and where a directory above p is missing makes that and runs
// do again. If do fails then, what was made is removed, innermost first.
func (w *writer) withParents(ctx context.Context, p confine.Path, do func() error) error {
	err := do()
	up, ok := p.Parent()
	if !ok || !errors.Is(err, fault.NotFound) {
		return err
	}
	made, failed := w.files.MakeDirs(ctx, up)
	if failed != nil {
		return failed
	}
	if len(made) == 0 {
		return err // something else was missing
	}
	if err = do(); err != nil {
		for i := len(made) - 1; i >= 0; i-- {
			_ = w.files.RemoveDir(context.WithoutCancel(ctx), made[i]) // another may have put something in meanwhile
		}
	}
	return err
}

// undo is how one change can be undone: what was there is in the history before the
// change happens, and goes from it again if it does not happen.
type undo struct {
	past   *history.Store // nil keeps nothing
	change history.Change
}

// undoing is the undo of a change of p, of which nothing is kept yet.
func (w *writer) undoing(ctx context.Context, op string, p confine.Path) *undo {
	tool, request := toolkit.Caller(ctx)
	return &undo{past: w.past, change: history.Change{Path: p.Abs(), Op: op, Tool: tool, RequestID: request}}
}

// keep stores what was there. A change that begins again calls it again: then what was
// kept first is not what was lost. A move has no content, since it loses nothing.
func (u *undo) keep(ctx context.Context, old io.Reader, info confine.Info) error {
	if u.past == nil {
		return nil
	}
	u.forget(ctx)
	c := u.change
	c.Existed, c.Mode = true, info.Mode
	c, err := u.past.Keep(ctx, c, old)
	u.change.ID = c.ID
	return err
}

// ended takes the change as done, or as one that did not happen, and returns its id.
func (u *undo) ended(ctx context.Context, err error) string {
	if err != nil {
		u.forget(ctx)
	}
	return u.change.ID
}

// forget leaves a change in the list if it must: one too many is harmless.
func (u *undo) forget(ctx context.Context) {
	if u.change.ID != "" {
		_ = u.past.Forget(context.WithoutCancel(ctx), u.change.ID)
		u.change.ID = ""
	}
}

// changed is what came of a change of a file that exists.
type changed struct {
	SHA256   string // of the file now, or as it would be
	ChangeID string // "" where nothing changed
	Note     string
}

// errPreviewed ends an Update once all was checked and before anything is changed.
var errPreviewed = errors.New("only looked at")

// change replaces a file by what become makes of it, after what was there is kept.
// With dry it only checks what would be refused. A file that stays as it is keeps nothing.
func (w *writer) change(
	ctx context.Context, op string, p confine.Path, dry bool, become func(old []byte, info confine.Info) ([]byte, error),
) (changed, error) {
	u := w.undoing(ctx, op, p)
	preview := ""
	res, err := w.files.Update(ctx, p, func(old []byte, info confine.Info) ([]byte, error) {
		content, err := become(old, info)
		if err != nil || !dry && bytes.Equal(old, content) {
			return content, err
		}
		if !dry {
			return content, u.keep(ctx, bytes.NewReader(old), info)
		}
		if err := w.guards.content(p, content, info.Mode); err != nil {
			return nil, err
		}
		preview = hashOf(content)
		return nil, errPreviewed
	})
	done := changed{SHA256: res.SHA256, ChangeID: u.ended(ctx, err)}
	if res.BrokeLinks {
		done.Note = "The file had further names (hard links); they keep the old content."
	}
	if errors.Is(err, errPreviewed) {
		return changed{SHA256: preview}, nil
	}
	return done, err
}

func hashOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// maxSwept bounds the directories that are looked at when the server starts.
const maxSwept = 1000

// sweep removes what a killed server may have left: in the allowed directories, and
// where the last changes were.
func (w *writer) sweep(ctx context.Context, roots *confine.Roots) error {
	dirs := map[string]bool{}
	for _, dir := range roots.Dirs() {
		dirs[dir] = true
	}
	if w.past != nil {
		changes, err := w.past.List(history.Filter{Beneath: roots.Dirs(), Limit: maxSwept})
		if err != nil {
			return err
		}
		for _, c := range changes {
			dirs[filepath.Dir(c.Path)] = true
			if c.To != "" { // where a copy was made, if it went to another file system
				dirs[filepath.Dir(c.To)] = true
			}
		}
	}
	for dir := range dirs {
		_, _ = w.files.Sweep(ctx, operators(roots, dir)) // a directory that is gone or cannot be locked has nothing for us to remove
	}
	return nil
}

// operators is the path of a directory that no client named, where clients may name
// relative ones only. The zero Path, which refuses, where it is not allowed.
func operators(roots *confine.Roots, dir string) confine.Path {
	p, err := roots.Parse(dir)
	if err == nil {
		return p
	}
	for _, root := range roots.Dirs() {
		if rel, err := filepath.Rel(root, dir); err == nil && filepath.IsLocal(rel) {
			p, _ = roots.Parse(rel)
		}
	}
	return p
}

const (
	headBytes   = 64 << 10 // bytes that are examined to detect an encoding
	diffBytes   = 16 << 10 // bytes of a difference in a result
	diffContext = 3        // lines around a change, as diff -u has them
	maxCompared = 16 << 20 // bytes of a content whose difference is shown
)

// detect examines the beginning of a content, or where that is ASCII only, the place
// where it stops being that. Eight bytes a step, since every edit searches its file.
func detect(content []byte) text.Detected {
	if len(content) <= headBytes {
		return text.Detect(content, true)
	}
	const high = 0x8080808080808080
	at := 0
	for at+8 <= len(content) && binary.LittleEndian.Uint64(content[at:])&high == 0 {
		at += 8
	}
	for at < len(content) && content[at] < 0x80 {
		at++
	}
	if at <= headBytes/2 || at == len(content) {
		return text.Detect(content[:headBytes], false)
	}
	line := bytes.LastIndexByte(content[:at], '\n') + 1
	from := max(line, at-headBytes/2)
	return text.Detect(content[from:min(len(content), from+headBytes)], false)
}

// refuseBinary refuses what is not text, where text would be put into it.
func refuseBinary(found text.Detected) error {
	if !found.Binary {
		return nil
	}
	return fault.New(fault.Forbidden, "the file is binary ("+found.MIME+"), and only text can be changed in part",
		"Leave it as it is, or replace all of it").With("mimeType", found.MIME)
}

// difference is what changed, as people read it: decoded, and not too long. What is
// binary or very large has none to show.
func difference(p confine.Path, found text.Detected, old, content []byte) (shown string, cut bool) {
	if found.Binary || bytes.Equal(old, content) {
		return "", false
	}
	if len(old)+len(content) > 2*maxCompared {
		return "", true
	}
	name := strings.TrimLeft(text.Escape(p.String()), "/") // as git writes an absolute path
	return diff.Unified("a/"+name, "b/"+name, readable(found.Encoding, old), readable(found.Encoding, content), diffContext, diffBytes)
}

// readable is a content in UTF-8; as it is where it cannot be decoded.
func readable(enc text.Encoding, content []byte) []byte {
	if enc.IsUTF8() {
		return content
	}
	s, err := enc.Decode(content)
	if err != nil {
		return content
	}
	return []byte(s)
}

// report is the text of a result: what happened in a line, a note, and the difference.
func report(line string, dry bool, note, diff string, cut bool) string {
	if dry {
		line = "[dry run, nothing was changed] " + line
	}
	if note != "" {
		note += "\n"
	}
	if cut {
		diff += cutNote
	}
	return line + "\n" + note + diff
}

const cutNote = "[the rest of the difference is left out]\n"
