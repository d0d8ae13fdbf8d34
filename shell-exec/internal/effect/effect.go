// Package effect says what a command line would do, without doing it: which commands
// would run, through whatever wraps them, and what each deletes, writes, sends or
// starts, and where.
//
// It follows the script as the shell would, with every variable as the set of texts
// that it may have, and knows programs by the table of package cmdspec. It refuses to
// decide whether an effect is allowed, to run anything, and to look at the disk other
// than through [World.Links]. What it cannot know is an effect too: a program that is
// only known when it runs is [RunUnknown]. It holds no adversary: code in files and in
// interpreters is not read; the sandbox must hold those.
package effect

import (
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/multiollama/mcp-server/shell-exec/internal/cmdline"
	"github.com/multiollama/mcp-server/shell-exec/internal/cmdspec"
	"github.com/multiollama/mcp-server/shell-exec/internal/pathclass"
)

// World is what the command will find when it runs. The verdict means something only
// if it runs in exactly this world.
type World struct {
	Grammar   cmdline.Grammar
	Dir       string            // the working directory
	Home      string            // the person's home directory
	Workspace []string          // the directories that may be worked in
	Env       map[string]string // the whole environment
	Input     string            // what is on standard input
	Links     pathclass.Links   // may be nil
	Typed     bool              // the text is typed at the prompt of a shell that has a past
	Past      []string          // what was typed there before and defines something
	Terminal  bool              // a shell that is started is typed at
}

// Effect is one thing that a command does.
type Effect struct {
	Kind    Kind
	Why     string       // what exactly, for people
	Do      string       // what to do instead, where the table of programs says so
	Command int          // the index in Report.Commands, or -1
	Via     []string     // what wraps the command: "sudo", "bash -c"
	Span    cmdline.Span // in the text that was given

	// Path is the one file that would be opened, absolute and with its links, where
	// exactly one is known and opening it is all that is done.
	Path string
}

// Command is one program that would be started.
type Command struct {
	Argv  []cmdline.Text // the name without its directory first
	Path  cmdline.Text   // the first word as it stands
	Local bool           // it is named by a path outside the system's directories
	Known bool           // the table of programs has it, or the script defines it
	Via   []string
	Span  cmdline.Span
}

// Report is everything about a command line.
type Report struct {
	Effects    []Effect
	Commands   []Command
	Unreadable error    // why the text as a whole could not be read
	Lasting    bool     // later texts at the same prompt must be judged with this one as their past
	Alone      []string // the words of a text that is one command and nothing else; see alone
	Dirs       []string // that the shell may change to; "" is one that is not known
	Steps      int      // the work that it took
}

// OfText reads a script.
func OfText(w World, text string) (Report, error) {
	w.Terminal = false
	r, s, err := newReader(w)
	if err != nil {
		return Report{}, err
	}
	r.guarded(s, len(text), func() {
		if w.Typed {
			r.recall(s)
		}
		r.whole(s, text)
		r.report.Lasting = r.lasting(text)
		r.report.Alone = alone(text, w.Grammar)
	})
	return r.report, nil
}

// OfArgv reads a program and its arguments as they are started without a shell.
func OfArgv(w World, argv []string) (Report, error) {
	r, s, err := newReader(w)
	if err != nil {
		return Report{}, err
	}
	words, at := make([]cmdline.Word, len(argv)), 0
	for i, a := range argv {
		words[i] = cmdline.Word{Text: a, Span: cmdline.Span{Start: at, End: at + len(a)}, Verbatim: at}
		at += len(a) + 1
	}
	s.exact, s.outer = false, cmdline.Span{End: max(at-1, 0)}
	r.guarded(s, at, func() { r.argv(s, words) })
	r.report.Alone = slices.Clone(argv)
	return r.report, nil
}

func (r *reader) argv(s *scope, words []cmdline.Word) {
	for _, w := range words {
		if slices.ContainsFunc([]rune(w.Text), cmdline.IsMark) {
			r.flag(s, Unreadable, "a character of the private use area", w.Span)
			return
		}
	}
	r.call(s, words, s.outer)
}

func newReader(w World) (*reader, *scope, error) {
	table, err := cmdspec.Known()
	if err != nil {
		return nil, nil, err
	}
	if w.Dir != "" {
		w.Dir = path.Clean(w.Dir)
	}
	r := &reader{
		world: w, table: table, models: models(), places: places(w), current: -1,
		seen: map[same]bool{}, files: map[string]flow{}, renamed: map[string]string{}, called: map[string]bool{},
		decodedTexts: map[string]bool{},
	}
	s := &scope{vars: &variables{own: map[string]value{}}, functions: map[string]function{}, aliases: map[string]alias{},
		dir: w.Dir, params: []cmdline.Word{}, exact: true, grammar: w.Grammar, prompt: w.Typed}
	if w.Input != "" {
		s.input = flow{kind: literal, text: w.Input}
	}
	for _, name := range slices.Sorted(maps.Keys(w.Env)) {
		if name == "PATH" || name == "HOME" {
			continue // the server's own
		}
		r.exported(s, name, single(w.Env[name]), cmdline.Span{})
	}
	return r, s, nil
}

// places knows the roots by the names they were given and by those they lead to.
func places(w World) *pathclass.Map {
	m := &pathclass.Map{Home: path.Clean(w.Home), Links: w.Links, Temporary: []string{w.Env["TMPDIR"]}}
	if w.Home == "" {
		m.Home = ""
	}
	for _, root := range w.Workspace {
		root = path.Clean(root)
		m.Workspace = append(m.Workspace, root)
		if w.Links != nil {
			m.Workspace = append(m.Workspace, w.Links.Follow(root))
		}
	}
	return m
}

// guarded runs read; a fault in it is never taken for harmlessness.
func (r *reader) guarded(s *scope, length int, read func()) {
	defer func() {
		if fault := recover(); fault != nil {
			r.report.Unreadable = fmt.Errorf("a fault while reading: %v", fault)
			r.flag(s, Unreadable, "the command could not be analysed", cmdline.Span{End: length})
		}
		r.report.Steps = r.steps
	}()
	read()
}
