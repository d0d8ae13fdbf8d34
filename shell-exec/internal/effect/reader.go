package effect

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/multiollama/mcp-server/shell-exec/internal/cmdline"
	"github.com/multiollama/mcp-server/shell-exec/internal/cmdspec"
	"github.com/multiollama/mcp-server/shell-exec/internal/pathclass"
)

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
	world   World
	table   *cmdspec.Table
	places  *pathclass.Map
	report  Report
	seen    map[same]bool
	steps   int
	tooBig  bool
	models  map[string]model
	current int // index of the command that is looked at, or -1

	files        map[string]flow   // written earlier in the same script
	renamed      map[string]string // programs under a name that the script gave them
	processes    map[*syntax.ProcSubst]flow
	lastProcess  *syntax.ProcSubst
	called       map[string]bool // functions
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

// invocation is a function with the arguments that it is called with.
type invocation struct {
	body *syntax.Stmt
	args string
}

// same is what makes an effect the same as another.
type same struct {
	kind Kind
	why  string
	path string
	span cmdline.Span
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

func (r *reader) flag(s *scope, kind Kind, why string, span cmdline.Span) {
	r.advise(s, kind, why, "", span)
}

func (r *reader) advise(s *scope, kind Kind, why, do string, span cmdline.Span) {
	r.add(s, Effect{Kind: kind, Why: why, Do: do, Span: span})
}

// flagFile is flag for what happens to w when it is opened.
func (r *reader) flagFile(s *scope, kind Kind, why string, w cmdline.Word) {
	e := Effect{Kind: kind, Why: why, Span: w.Span}
	if p, all, ok := pathclass.Absolute(s.dir, w.Text); ok && !all && !strings.ContainsFunc(p, cmdline.IsMark) {
		e.Path = p
	}
	r.add(s, e)
}

func (r *reader) add(s *scope, e Effect) {
	if s.container && isFileKind(e.Kind) {
		e.Kind, e.Path = ContainerFiles, ""
	}
	key := same{e.Kind, e.Why, e.Path, e.Span}
	if r.seen[key] || len(r.report.Effects) >= maxEffects && e.Kind != TooLarge {
		if len(r.report.Effects) >= maxEffects && !r.tooBig {
			r.steps = maxSteps
			r.spend(s, 1)
		}
		return
	}
	r.seen[key] = true
	e.Command, e.Via = r.current, s.via
	r.report.Effects = append(r.report.Effects, e)
}

func isFileKind(k Kind) bool {
	return strings.HasPrefix(string(k), "delete.") || strings.HasPrefix(string(k), "write.") || strings.HasPrefix(string(k), "read.")
}

// whole reads the text that was given.
func (r *reader) whole(s *scope, text string) {
	err := error(nil)
	if r.world.Typed {
		err = cmdline.AtPrompt(text, s.grammar)
	}
	if r.lost {
		r.advise(s, Unreadable, "this shell's later lines cannot be read reliably because an earlier one may have changed what they mean",
			"Open a new terminal", cmdline.Span{End: len(text)})
	}
	if err == nil && r.world.Typed && s.grammar == cmdline.POSIX && containsAny(text, extensions...) {
		r.flag(s, Unreadable, "what shells named sh read differently", cmdline.Span{End: len(text)})
	}
	if err == nil {
		err = r.script(s, text)
	}
	if err == nil {
		r.uncalled(s)
		if len(r.report.Dirs) > 0 && r.waits && s.prompt {
			r.steer(s, "reading a line and changing the directory", cmdline.Span{End: len(text)})
		}
		return
	}
	r.report.Unreadable = err
	r.steered = r.steered || r.world.Typed
	span := cmdline.Span{End: len(text)}
	if u, ok := err.(*cmdline.Unreadable); ok {
		span.Start = u.Offset
	}
	r.flag(s, Unreadable, err.Error(), span)
	r.salvage(s, text)
}

func (r *reader) script(s *scope, text string) error {
	file, err := cmdline.Parse(text, s.grammar)
	if err != nil {
		return err
	}
	r.statements(s, file.Stmts)
	return nil
}

// salvage looks at the parts of a script that cannot be read as a whole: a stray quote
// must not soften what is plain.
func (r *reader) salvage(s *scope, text string) {
	if len(text) > cmdline.MaxLength {
		text = text[:cmdline.MaxLength]
	}
	parts := strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune("\n;\r\x00&|(){}`", c) || cmdline.IsMark(c) })
	for _, part := range parts {
		if !r.spend(s, 10) {
			return
		}
		file, err := cmdline.Parse(withoutKeywords(part), cmdline.Bash)
		if err != nil {
			file, err = cmdline.Parse(unquoted.Replace(withoutKeywords(part)), cmdline.Bash)
		}
		if err != nil {
			continue
		}
		inner := s.sub()
		inner.exact, inner.outer = false, cmdline.Span{End: len(text)}
		r.statements(inner, file.Stmts)
	}
}

var unquoted = strings.NewReplacer("'", "", `"`, "", `\`, "")

// withoutKeywords is a part of a broken construct as the command in it.
func withoutKeywords(part string) string {
	for {
		part = strings.TrimSpace(part)
		word, rest, _ := strings.Cut(part, " ")
		if !slices.Contains(reserved, word) {
			return part
		}
		part = rest
	}
}

// uncalled looks at functions that the script defines and never calls.
func (r *reader) uncalled(s *scope) {
	var names []string
	for name := range s.functions {
		if !r.called[name] && !s.functions[name].past {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		inner := s.within(name + "()")
		inner.params = nil
		r.called[name] = true
		for _, body := range s.functions[name].bodies {
			r.statement(inner, body)
		}
	}
}

// shell reads a text that a shell in the script would run: bash -c, eval, ssh. It
// answers the scope at the end of it.
func (r *reader) shell(s *scope, w cmdline.Word, via string) *scope {
	if strings.TrimSpace(w.Text) == "" {
		return s
	}
	if s.depth > maxDepth {
		r.flag(s, Unreadable, "scripts are nested too deeply", w.Span)
		return s
	}
	for text := range r.decodedTexts {
		if strings.Contains(w.Text, text) {
			r.flag(s, RunDecoded, "decodes a text and runs it", w.Span)
		}
	}
	inner := s.within(via)
	inner.outer, inner.exact, inner.base = w.Span, w.Verbatim >= 0, w.Verbatim
	text := w.Text
	if cmdline.Unknown(text) {
		text = r.partlyKnown(inner, text, via)
	}
	text = cmdline.Plain(text)
	if err := r.script(inner, text); err != nil {
		r.flag(s, Unreadable, "the text given to "+via+" cannot be read: "+err.Error(), w.Span)
		r.salvage(inner, text)
	}
	s.output.add(inner.output)
	return inner
}

// notKnown is the variable that stands for what is not known in a nested script.
const notKnown = "__NOT_KNOWN__"

// partlyKnown makes a script of a text with holes: what is known of it is still looked at.
func (r *reader) partlyKnown(s *scope, text, via string) string {
	first := strings.IndexFunc(strings.TrimSpace(text), func(c rune) bool { return c == cmdline.Hole || c == cmdline.Gap })
	if first == 0 {
		if r.decoded {
			r.flag(s, RunDecoded, "decodes a text and runs it", s.outer)
		}
		if r.downloaded {
			r.flag(s, RunDownloaded, "runs code from the network", s.outer)
		}
		r.flag(s, RunUnknownCode, via+" runs a text that is not known before", s.outer)
		for _, hint := range r.hints {
			r.hinted(s, hint, via, s.outer)
		}
	}
	s.exact = false
	s.vars = s.vars.layer()
	s.vars.own[notKnown] = unknownValue
	return strings.NewReplacer(string(cmdline.Hole), "${"+notKnown+"}", string(cmdline.Gap), "${"+notKnown+"}").Replace(text)
}
