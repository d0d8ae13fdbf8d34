// Package effect says what a command line would do, without doing it: which commands
// would run, through whatever wraps them, and what each deletes, writes, sends or
// starts, and where.
//
// It follows the script as the shell would, with every variable as the set of texts
// that it may have. It decides nothing about whether an effect is allowed, runs nothing,
// and looks at the disk only through [Surroundings.Links]. What it cannot know is an
// effect too: a program that is only known when it runs is [RunUnknown]. It stops no
// attacker: code in files and in interpreters is not read; the sandbox must stop those.
//
// # Programs
//
// What is known about programs is a table, programs.toml: which of their options take a
// value, what their operands are (files to delete, to write, another command), and what
// they do by themselves. It says what a word is, not whether that is allowed. A program
// that is not in the table is not known, and nothing is assumed about it.
//
// # Paths
//
// Every path has a class: in the workspace or outside it, among the system's files, among
// credentials, on a disk. It is never guessed: a path whose beginning is not known is of
// no known class, and the zero class is that.
package effect

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/multiollama/mcp-server/shell-exec/internal/cmdline"
)

// Surroundings are what the command will find when it runs. A report means something only
// if the command runs in exactly these.
type Surroundings struct {
	Grammar   cmdline.Grammar
	Dir       string            // the working directory
	Home      string            // the user's home directory
	Workspace []string          // the directories that may be worked in
	Env       map[string]string // the whole environment
	Input     string            // what is on standard input
	Links     Links             // may be nil
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
	Path  cmdline.Text   // the first word as it is written
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
	Lasting    bool     // later texts at the same prompt must be checked with this one as their past
	Alone      []string // the words of a text that is one command and nothing else; see alone
	Dirs       []string // that the shell may change to; "" is one that is not known
	Steps      int      // the work that it took
}

// OfText reads a script.
func OfText(around Surroundings, text string) Report {
	around.Terminal = false
	r, s := newReader(around)
	r.guarded(s, len(text), func() {
		if around.Typed {
			r.recall(s)
		}
		r.whole(s, text)
		r.report.Lasting = r.defines || r.steered || containsAny(text, "IFS", "CDPATH")
		r.report.Alone = alone(text, around.Grammar)
	})
	return r.report
}

// OfArgv reads a program and its arguments as they are started without a shell.
func OfArgv(around Surroundings, argv []string) Report {
	r, s := newReader(around)
	words, at := make([]cmdline.Word, len(argv)), 0
	for i, a := range argv {
		words[i] = cmdline.Word{Text: a, Span: cmdline.Span{Start: at, End: at + len(a)}, Verbatim: at}
		at += len(a) + 1
	}
	s.exact, s.outer = false, cmdline.Span{End: max(at-1, 0)}
	r.guarded(s, at, func() {
		if i := slices.IndexFunc(argv, cmdline.HasMark); i >= 0 {
			r.flag(s, Unreadable, "a character of the private use area", words[i].Span)
			return
		}
		r.call(s, words, s.outer)
	})
	r.report.Alone = slices.Clone(argv)
	return r.report
}

// alone is the words of a text that is one simple command and nothing else: no list, no
// pipe, nothing in the background, no redirection or assignment, and no word that a shell
// would expand. Started without a shell, they do what the text does. Else it is nil.
func alone(text string, g cmdline.Grammar) []string {
	file, err := cmdline.Parse(text, g)
	if err != nil || len(file.Stmts) != 1 {
		return nil
	}
	st := file.Stmts[0]
	c, ok := st.Cmd.(*syntax.CallExpr)
	if !ok || st.Negated || st.Background || st.Coprocess || st.Disown || len(st.Redirs) > 0 || len(c.Assigns) > 0 {
		return nil
	}
	var words []string
	for _, w := range c.Args {
		word, ok := asWritten(w.Parts, `~*?[{\`)
		if !ok {
			return nil
		}
		words = append(words, word)
	}
	return words
}

// asWritten is the parts of a word without their quotes, where they mean themselves: none of the special characters is in
// a literal.
func asWritten(parts []syntax.WordPart, special string) (text string, ok bool) {
	for _, part := range parts {
		var more string
		ok := true
		switch p := part.(type) {
		case *syntax.Lit:
			more, ok = p.Value, !strings.ContainsAny(p.Value, special)
		case *syntax.SglQuoted:
			more, ok = p.Value, !p.Dollar
		case *syntax.DblQuoted:
			more, ok = asWritten(p.Parts, `\`)
			ok = ok && !(p.Dollar && len(p.Parts) > 0)
		default:
			return "", false
		}
		if !ok {
			return "", false
		}
		text += more
	}
	return text, true
}

// The bounds of the work for one command line.
const (
	maxSteps   = 200_000
	maxDepth   = 40       // scripts in scripts
	maxText    = 64 << 10 // bytes of a variable or of an output that is followed
	maxTexts   = 16       // alternatives of a variable or a word
	maxWords   = 64       // words that a brace expansion or xargs makes
	maxItems   = 10_000   // of a list
	maxEffects = 2_000
)

// reader follows one command line.
type reader struct {
	around  Surroundings
	paths   *classifier
	report  Report
	seen    map[same]bool
	steps   int
	tooBig  bool
	current int // index of the command that is looked at, or -1

	files        map[string]flow   // written earlier in the same script
	renamed      map[string]string // programs under a name that the script gave them
	lastProcess  *flow             // what the last process substitution prints
	called       map[string]bool   // functions
	calling      []invocation
	separators   string          // IFS of this command only
	pathChanged  bool            // PATH has been set
	integers     map[string]bool // variables whose values are evaluated
	external     bool            // the next call is not of a function or an alias
	recalling    bool            // what is read has been typed before
	steered      bool            // it changes how later lines at the prompt are read
	waits        bool            // it reads what is typed
	defines      bool            // it has defined a function or an alias
	rewrites     bool            // an alias changes the grammar
	lost         bool            // it is not known which names mean something else by now
	connected    bool            // a raw connection has been opened
	decodedTexts map[string]bool // what decoders printed
	decoded      bool            // a decoder printed something that is not known
	downloaded   bool            // a download is part of some word
	secret       bool            // credentials are part of some word
	hints        []string        // what may be in the output of substitutions
}

// same is what makes an effect the same as another.
type same struct {
	kind Kind
	why  string
	path string
	span cmdline.Span
}

func newReader(around Surroundings) (*reader, *scope) {
	if around.Dir != "" {
		around.Dir = path.Clean(around.Dir)
	}
	// The roots are known by the names they were given and by those they lead to.
	paths := &classifier{Links: around.Links, Temporary: []string{around.Env["TMPDIR"]}}
	if around.Home != "" {
		paths.Home = path.Clean(around.Home)
	}
	for _, root := range around.Workspace {
		root = path.Clean(root)
		paths.Workspace = append(paths.Workspace, root)
		if around.Links != nil {
			paths.Workspace = append(paths.Workspace, around.Links.Follow(root))
		}
	}
	r := &reader{
		around: around, paths: paths, current: -1, seen: map[same]bool{}, files: map[string]flow{},
		renamed: map[string]string{}, called: map[string]bool{}, decodedTexts: map[string]bool{}, integers: map[string]bool{},
	}
	s := &scope{vars: &variables{own: map[string]value{}}, functions: map[string]function{}, aliases: map[string]alias{},
		dir: around.Dir, params: []cmdline.Word{}, exact: true, grammar: around.Grammar, prompt: around.Typed}
	if around.Input != "" {
		s.input = flow{kind: literal, text: around.Input}
	}
	for _, name := range slices.Sorted(maps.Keys(around.Env)) {
		if name != "PATH" && name != "HOME" { // these are the server's own
			r.exported(s, name, single(around.Env[name]), cmdline.Span{})
		}
	}
	return r, s
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

// spend counts work, and says whether any is left.
func (r *reader) spend(s *scope, steps int) bool {
	r.steps += steps
	if r.steps <= maxSteps {
		return true
	}
	if !r.tooBig {
		r.tooBig = true
		r.flag(s, TooLarge, "it takes more work to analyse than is done for one command", s.outer)
	}
	return false
}

// flag reports an effect. Here and in the methods below, an effect is about the command that is looked at.
func (r *reader) flag(s *scope, kind Kind, why string, span cmdline.Span) {
	r.add(s, Effect{Kind: kind, Why: why, Span: span})
}

func (r *reader) flagIf(s *scope, is bool, kind Kind, why string, span cmdline.Span) {
	if is {
		r.flag(s, kind, why, span)
	}
}

func (r *reader) advise(s *scope, kind Kind, why, do string, span cmdline.Span) {
	r.add(s, Effect{Kind: kind, Why: why, Do: do, Span: span})
}

// flagFile is flag for what happens to w when it is opened.
func (r *reader) flagFile(s *scope, kind Kind, why string, w cmdline.Word) {
	e := Effect{Kind: kind, Why: why, Span: w.Span}
	if p, all, ok := absolute(s.dir, w.Text); ok && !all && !cmdline.HasMark(p) {
		e.Path = p
	}
	r.add(s, e)
}

// add reports an effect once. The zero Kind is none.
func (r *reader) add(s *scope, e Effect) {
	if on, _, _ := strings.Cut(string(e.Kind), "."); s.container && (on == "delete" || on == "write" || on == "read") {
		e.Kind, e.Path = ContainerFiles, ""
	}
	key, full := same{e.Kind, e.Why, e.Path, e.Span}, len(r.report.Effects) >= maxEffects
	if e.Kind == "" || r.seen[key] || full && e.Kind != TooLarge {
		if full && !r.tooBig {
			r.steps = maxSteps
			r.spend(s, 1)
		}
		return
	}
	r.seen[key] = true
	e.Command, e.Via = r.current, s.via
	r.report.Effects = append(r.report.Effects, e)
}

// whole reads the text that was given.
func (r *reader) whole(s *scope, text string) {
	span, err := cmdline.Span{End: len(text)}, error(nil)
	if r.around.Typed {
		err = cmdline.AtPrompt(text, s.grammar)
	}
	if r.lost {
		r.advise(s, Unreadable, "this shell's later lines cannot be read reliably because an earlier one may have changed what they mean",
			"Open a new terminal", span)
	}
	r.flagIf(s, err == nil && r.around.Typed && s.grammar == cmdline.POSIX && containsAny(text, extensions...),
		Unreadable, "what shells named sh read differently", span)
	if err == nil {
		err = r.script(s, text)
	}
	if err == nil {
		isDone := func(name string) bool { return r.called[name] || s.functions[name].past }
		for _, name := range slices.DeleteFunc(slices.Sorted(maps.Keys(s.functions)), isDone) { // defined and never called
			inner := s.within(name + "()")
			inner.params = nil
			r.called[name] = true
			for _, body := range s.functions[name].bodies {
				r.statement(inner, body)
			}
		}
		if len(r.report.Dirs) > 0 && r.waits && s.prompt {
			r.steer(s, "reading a line and changing the directory", span)
		}
		return
	}
	r.report.Unreadable = err
	r.steered = r.steered || r.around.Typed
	if u, ok := err.(*cmdline.Unreadable); ok {
		span.Start = u.Offset
	}
	r.flag(s, Unreadable, err.Error(), span)
	r.salvage(s, text)
}

var unquoted = strings.NewReplacer("'", "", `"`, "", `\`, "")

// salvage looks at the parts of a script that cannot be read as a whole, without the keywords of a broken construct: a
// stray quote must not soften what is plain.
func (r *reader) salvage(s *scope, text string) {
	text = text[:min(len(text), cmdline.MaxLength)]
	parts := strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune("\n;\r\x00&|(){}`", c) || cmdline.IsMark(c) })
	for _, part := range parts {
		if !r.spend(s, 10) {
			return
		}
		word, rest := "", part
		for first := true; first || slices.Contains(reserved, word); first = false {
			part = strings.TrimSpace(rest)
			word, rest, _ = strings.Cut(part, " ")
		}
		file, err := cmdline.Parse(part, cmdline.Bash)
		if err != nil {
			file, err = cmdline.Parse(unquoted.Replace(part), cmdline.Bash)
		}
		if err == nil {
			inner := s.sub()
			inner.exact, inner.outer = false, cmdline.Span{End: len(text)}
			r.statements(inner, file.Stmts)
		}
	}
}
