package effect

import (
	"maps"
	"slices"
	"strings"

	"github.com/multiollama/mcp-server/shell-exec/internal/cmdline"
)

func (r *reader) script(s *scope, text string) error {
	file, err := cmdline.Parse(text, s.grammar)
	if err != nil {
		return err
	}
	r.statements(s, file.Stmts)
	return nil
}

// notKnown is the variable that is written for what is not known in a nested script.
const notKnown = "__NOT_KNOWN__"

// shell reads a text that a shell in the script would run: bash -c, eval, ssh. It returns the scope at the end of it.
func (r *reader) shell(s *scope, w cmdline.Word, via string) *scope {
	if strings.TrimSpace(w.Text) == "" {
		return s
	}
	if s.depth > maxDepth {
		r.flag(s, Unreadable, "scripts are nested too deeply", w.Span)
		return s
	}
	for text := range r.decodedTexts {
		r.flagIf(s, strings.Contains(w.Text, text), RunDecoded, "decodes a text and runs it", w.Span)
	}
	inner, text := s.within(via), w.Text
	inner.outer, inner.exact, inner.base = w.Span, w.Verbatim >= 0, w.Verbatim
	if cmdline.Unknown(text) { // what is known of it is still looked at
		if strings.IndexAny(strings.TrimSpace(text), hole+gap) == 0 {
			r.flagIf(inner, r.decoded, RunDecoded, "decodes a text and runs it", w.Span)
			r.flagIf(inner, r.downloaded, RunDownloaded, "runs code from the network", w.Span)
			r.flag(inner, RunUnknownCode, via+" runs a text that is not known before", w.Span)
			for _, hint := range r.hints {
				r.hinted(inner, hint, via, w.Span)
			}
		}
		inner.exact = false
		inner.vars = inner.vars.layer()
		inner.vars.own[notKnown] = unknownValue
		text = strings.NewReplacer(hole, "${"+notKnown+"}", gap, "${"+notKnown+"}").Replace(text)
	}
	text = cmdline.Literal(text)
	if err := r.script(inner, text); err != nil {
		r.flag(s, Unreadable, "the text given to "+via+" cannot be read: "+err.Error(), w.Span)
		r.salvage(inner, text)
	}
	s.output.add(inner.output)
	return inner
}

// perhapsShell reads a text that may be a script: if it cannot be read it is a text.
func (r *reader) perhapsShell(s *scope, t, how string) {
	if _, err := cmdline.Parse(t, cmdline.Bash); err == nil {
		r.shell(s, cmdline.At(t, s.outer), how)
	}
}

// hinted looks at what may be among the lines that a shell is given.
func (r *reader) hinted(s *scope, hint, how string, span cmdline.Span) {
	inner := s.apart(how, span, flow{})
	inner.via = s.via
	for line := range strings.SplitSeq(hint, "\n") {
		if strings.TrimSpace(line) != "" {
			r.perhapsShell(inner, line, how)
		}
	}
}

// runs reports what it is to run what flows. What the script has in it, and what may be in it, is read.
func (r *reader) runs(s *scope, f flow, how string, span cmdline.Span, read, guess func(text string)) {
	switch f.kind {
	case literal:
		r.flagIf(s, f.decoded, RunDecoded, "decodes a text and runs it", span)
		read(f.text)
	case download:
		r.flag(s, RunDownloaded, how+" runs code straight from the network", span)
	case decoding:
		r.flag(s, RunDecoded, "decodes a text and runs it", span)
	case something, names:
		r.flag(s, RunOutput, how+" runs what another command prints", span)
		if f.hint != "" {
			guess(f.hint)
		}
	}
}

// shellInput is a shell that reads its script from standard input.
func (r *reader) shellInput(s *scope, how string, span cmdline.Span) {
	r.flagIf(s, r.connected && s.input.kind >= something, ConnectShell, how+" runs what comes from a network connection", span)
	r.runs(s, s.input, how, span, func(text string) {
		inner := s.inPlace(flow{})
		r.shell(inner, cmdline.At(text, span), how)
		s.output.add(inner.output)
	}, func(hint string) { r.hinted(s, hint, how, span) })
}

func (r *reader) shellFlow(s *scope, f flow, params []cmdline.Word, how string, span cmdline.Span) {
	inner := s.inPlace(f)
	if params != nil {
		inner.params = params
	}
	r.shellInput(inner, how, span)
	s.output.add(inner.output)
}

func (r *reader) codeFlow(s *scope, c *call, f flow) {
	read := func(text string) { r.code(s, c, c.row.Language, cmdline.At(text, c.span)) }
	r.runs(s, f, c.name, c.span, read, read)
	r.flagIf(s, f.kind == content, RunFile, c.name+" runs a file that has not been read", c.span)
	r.flagIf(s, f.kind == nothing, RunTerminal, c.name+" without a script", c.span)
}

// scriptFile is a file that is run: one that the script has just made is read.
func (r *reader) scriptFile(s *scope, c *call, w cmdline.Word) {
	f, known := r.contentOrInput(s, w.Text)
	if !known && strings.HasPrefix(w.Text, "/dev/fd/") {
		f, known = flow{kind: something}, true // a descriptor that a redirection has opened
	}
	switch {
	case !known || f.kind == content:
		r.flag(s, RunFile, c.name+" runs a file that has not been read", c.span)
		s.output.add(flow{kind: something})
	case c.row.Language != "":
		r.codeFlow(s, c, f)
	default:
		var params []cmdline.Word
		if i := slices.Index(c.words, w); i >= 0 {
			params = append([]cmdline.Word{}, c.words[i+1:]...)
		}
		r.shellFlow(s, f, params, c.name, c.span)
	}
}

func isStandardInput(t string) bool {
	return t == "/dev/stdin" || t == "/dev/fd/0" || t == "/proc/self/fd/0"
}

// shellProgram is sh, bash and their like: a script, a file, or standard input.
func (r *reader) shellProgram(s *scope, c *call) {
	if r.promptShell(s, c) {
		return
	}
	o := readShellOptions(c.words)
	if o.done {
		return
	}
	if len(s.env) > 0 {
		vars, env := s.vars, s.env
		defer func() { s.vars, s.env = vars, env }()
		s.vars, s.env = vars.layer(), nil
		maps.Copy(s.vars.own, env)
	}
	if c.name == "zsh" && len(c.words) > 0 {
		r.advise(s, Unreadable, "zsh expands words in another way than what is read here", "Use bash", c.span)
	}
	r.flagIf(s, cmdline.Unknown(o.letters), RunUnknownCode, c.name+"'s options are not known before", c.span)
	if known, ok := r.file(s, o.startup); ok {
		r.shellFlow(s, known, nil, c.name+" --rcfile", c.span)
	}
	switch interactive := strings.Contains(o.letters, "i"); {
	case o.command && len(o.rest) == 0:
	case o.command:
		inner := s.inPlace(s.input)
		inner.vars = s.vars.layer()
		inner.functions, inner.aliases = map[string]function{}, map[string]alias{}
		inner.arg0, inner.params = c.name, []cmdline.Word{}
		if len(o.rest) > 1 {
			inner.arg0, inner.params = o.rest[1].Text, slices.Clone(o.rest[2:])
		}
		// sh may be bash or something simpler, and a script is read in both ways where that can make a difference.
		inner.grammar = cmdline.Bash
		r.shell(inner, o.rest[0], c.name+" -c")
		if c.name != "bash" && containsAny(o.rest[0].Text, extensions...) {
			inner.grammar = cmdline.POSIX
			r.shell(inner, o.rest[0], c.name+" -c")
		}
		s.output.add(inner.output)
	case len(o.rest) > 0 && !strings.Contains(o.letters, "s"):
		r.scriptFile(s, c, o.rest[0])
	default: // it has no script
		s.output.interactive = s.output.interactive || interactive
		r.flagIf(s, interactive && r.connected, ConnectShell, "an interactive shell on a network connection", c.span)
		switch s.input.kind {
		case nothing:
			r.flagIf(s, r.connected, ConnectShell, "a shell beside a network connection", c.span)
			r.flag(s, RunTerminal, c.name+" without a script waits for commands that nobody has judged", c.span)
		case content:
			r.flag(s, RunFile, c.name+" runs a file that has not been read", c.span)
		default:
			r.shellInput(s, c.name, c.span)
		}
	}
}

type shellOptions struct {
	command, done bool
	letters       string
	startup       string
	rest          []cmdline.Word
}

func readShellOptions(words []cmdline.Word) shellOptions {
	var o shellOptions
	for ; len(words) > 0; words = words[1:] {
		t, valued := words[0].Text, len(words) > 1
		switch {
		case t == "--" || t == "-":
			o.rest = words[1:]
			return o
		case len(t) < 2 || t[0] != '-' && t[0] != '+':
			o.rest = words
			return o
		case t == "--version" || t == "--help":
			o.done = true
			return o
		case t == "--rcfile" || t == "--init-file":
			if valued {
				o.startup, words = words[1].Text, words[1:]
			}
		case !strings.HasPrefix(t, "--"):
			o.letters += t
			o.command = o.command || strings.Contains(t, "c") && t[0] == '-'
			if last := t[len(t)-1]; valued && (last == 'o' || last == 'O') {
				words = words[1:]
			}
		}
	}
	return o
}

// extensions of bash, which some shells named sh have, and some do not.
var extensions = []string{"&>", "$'", "|&", "<(", ">(", "[[", "((", "function"}

// setups print text for eval: tools that people set their shells up with.
var setups = strings.Fields(`ssh-agent direnv brew pyenv rbenv nodenv fnm starship zoxide conda mise asdf opam minikube dircolors keychain
	docker-machine goenv jenv thefuck gh kubectl poetry hatch register-python-argcomplete luarocks perlbrew plenv rustup volta atuin fzf
	resize gnome-keyring-daemon aws go npm pip cargo uv helm git`)

func (r *reader) eval(s *scope, c *call) {
	r.flag(s, Eval, "eval", c.span)
	words := c.words
	if len(words) > 0 && words[0].Text == "--" {
		words = words[1:]
	}
	if len(words) == 0 {
		return
	}
	text := cmdline.Join(words, c.span)
	if cmdline.Unknown(text.Text) {
		s.tainted, r.steered = true, r.steered || s.prompt
	}
	if cmdline.OnlyUnknown(text.Text) && r.fromSetup(c.span) {
		r.flag(s, RunFile, "eval of the text that sets a tool up", c.span)
		return
	}
	s.dir = r.shell(s, text, "eval").dir
}

// fromSetup: the commands right before, within the span, are tools of setups.
func (r *reader) fromSetup(span cmdline.Span) bool {
	all := r.report.Commands
	return slices.ContainsFunc(all[max(len(all)-4, 0):len(all)-1], func(c Command) bool {
		return c.Span.Start >= span.Start && c.Span.End <= span.End && slices.Contains(setups, c.Argv[0])
	})
}

func (r *reader) source(s *scope, c *call) {
	if len(c.words) == 0 {
		return
	}
	s.tainted = true
	// What a virtual environment sets is known: PATH, a prompt, and the function deactivate.
	if _, known := r.file(s, c.words[0].Text); s.prompt && !known && !strings.HasSuffix(c.words[0].Text, "/bin/activate") {
		r.steered = true
	}
	if c.words[0].Text == pipeName && r.lastProcess != nil && r.lastProcess.kind == something && r.fromSetup(cmdline.Span{End: c.span.End}) {
		return
	}
	r.scriptFile(s, c, c.words[0])
}

// What shells with other grammars are searched for: destruction that is plain.
var (
	foreignDestruction = late(`(?i)(remove-item|\brm\b|\bri\b|\bdel\b|\berase\b|\brd\b|\brmdir\b).*(-recurse|-r\b|/s).*` +
		`([a-z]:\\(\s|$|\*|"|')|\$home|\$env:userprofile|\$env:systemroot|~|\\windows|/\s*$)|format-volume|clear-disk|initialize-disk|` +
		`stop-computer|restart-computer|\bshutdown(\.exe)?\s+/[srp]|\bformat(\.com)?\s+[a-z]:|diskpart|vssadmin\s+delete|bcdedit|` +
		`cipher\s+/w|rm -[a-z]*[rf][a-z]* (/|~)(\s|$|\*|;|'|")|\b(shutdown|reboot|poweroff|mkfs)\b`)
	foreignEncoding = late(`(?i)-e(nc|ncodedcommand|c)?\s+[A-Za-z0-9+/=]{16,}|frombase64string|(\biex\b|invoke-expression)`)
)

// foreignShell has a grammar that is not read here.
func (r *reader) foreignShell(s *scope, c *call) {
	if r.promptShell(s, c) {
		return
	}
	text := cmdline.Join(c.words, c.span).Text
	r.flagIf(s, foreignDestruction().MatchString(text), DeleteVital, c.name+" destroys something", c.span)
	r.flagIf(s, foreignEncoding().MatchString(text), RunDecoded, c.name+" runs a text that is encoded", c.span)
	switch text {
	case "--version", "-v":
	case "":
		r.flag(s, RunTerminal, c.name+" without a script", c.span)
	default:
		r.advise(s, Unreadable, c.name+" has a grammar that is not read here", "Use bash", c.span)
	}
}
