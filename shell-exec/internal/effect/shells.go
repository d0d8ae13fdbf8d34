package effect

import (
	"maps"
	"slices"
	"strings"

	"github.com/multiollama/mcp-server/shell-exec/internal/cmdline"
)

// model is what the table of programs cannot say about a program.
type model = func(*reader, *scope, *call)

// models are the models by the names that the table has for them.
func models() map[string]model {
	return map[string]model{
		"shell": (*reader).shellProgram, "foreign": (*reader).foreignShell, "eval": (*reader).eval, "source": (*reader).source,
		"cd": (*reader).cd, "pwd": (*reader).pwd, "echo": (*reader).echo, "printf": (*reader).printf, "trap": (*reader).trap,
		"alias": (*reader).alias, "hash": (*reader).hash, "shift": (*reader).shift, "set": (*reader).setParams, "unset": (*reader).unset, "read": (*reader).readBuiltin,
		"declare": (*reader).declareBuiltin, "test": (*reader).testBuiltin, "kill": (*reader).kill, "pkill": (*reader).pkill,
		"xargs": (*reader).xargs, "parallel": (*reader).parallel, "expect": (*reader).expectInput, "loose": (*reader).loose, "daemon": (*reader).daemon,
		"find": (*reader).find, "fd": (*reader).fd, "copy": (*reader).copy, "rsync": (*reader).rsync, "remote-copy": (*reader).remoteCopy, "tee": (*reader).tee,
		"dd": (*reader).dd, "mode": (*reader).mode, "tar": (*reader).tar, "zip": (*reader).zip, "last-written": (*reader).lastWritten, "grep": (*reader).grep, "filter": (*reader).filter,
		"mktemp": (*reader).mktemp, "basename": (*reader).basename, "which": (*reader).which, "list": (*reader).listFiles,
		"disk": (*reader).disk, "sysctl": (*reader).sysctl, "schedule": (*reader).schedule, "terminal": (*reader).terminal,
		"interpreter": (*reader).interpreter, "awk": (*reader).awk, "sed": (*reader).sed, "editor": (*reader).editor,
		"sql": (*reader).sql, "make": (*reader).makeProgram, "cmake": (*reader).makeProgram,
		"ssh": (*reader).ssh, "download": (*reader).download, "netcat": (*reader).netcat,
		"git": (*reader).git, "git-all": (*reader).gitAll, "git-config": (*reader).gitConfig, "git-root": (*reader).gitRoot,
		"container": (*reader).container, "container-copy": (*reader).containerCopy, "unknown-operands": (*reader).unknownOperands,
		"kubectl": (*reader).kubectl, "npm-location": (*reader).npmLocation, "go-install": (*reader).goInstall, "forge": (*reader).forge,
	}
}

// shellProgram is sh, bash and their like: a script, a file, or standard input.
func (r *reader) shellProgram(s *scope, c *call) {
	if r.promptShell(s, c) {
		return
	}
	f := readShellOptions(c.words)
	if f.done {
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
	if f.unknown {
		r.flag(s, RunUnknownCode, c.name+"'s options are not known before", c.span)
	}
	if known, ok := r.file(s, f.startup); ok && f.startup != "" {
		r.shellFlow(s, known, nil, c.name+" --rcfile", c.span)
	}
	switch {
	case f.command:
		r.shellCommand(s, c, f.rest)
	case len(f.rest) > 0 && !f.stdin:
		r.scriptFile(s, c, f.rest[0])
	default:
		r.bareShell(s, c, f.interactive)
	}
}

type shellOptions struct {
	command, stdin, interactive, unknown, done bool
	startup                                    string
	rest                                       []cmdline.Word
}

func readShellOptions(words []cmdline.Word) shellOptions {
	var o shellOptions
	for len(words) > 0 {
		t := words[0].Text
		if t == "--" || t == "-" {
			words = words[1:]
			break
		}
		if len(t) < 2 || t[0] != '-' && t[0] != '+' {
			break
		}
		words = words[1:]
		switch {
		case t == "--version" || t == "--help":
			o.done = true
			return o
		case t == "--rcfile" || t == "--init-file":
			if len(words) > 0 {
				o.startup, words = words[0].Text, words[1:]
			}
		case !strings.HasPrefix(t, "--"):
			words = o.letters(t, words)
		}
	}
	o.rest = words
	return o
}

func (o *shellOptions) letters(t string, words []cmdline.Word) []cmdline.Word {
	o.command = o.command || strings.Contains(t, "c") && t[0] == '-'
	o.stdin = o.stdin || strings.Contains(t, "s")
	o.interactive = o.interactive || strings.Contains(t, "i")
	o.unknown = o.unknown || cmdline.Unknown(t)
	if last := t[len(t)-1]; (last == 'o' || last == 'O') && len(words) > 0 {
		return words[1:]
	}
	return words
}

func (r *reader) shellCommand(s *scope, c *call, rest []cmdline.Word) {
	if len(rest) == 0 {
		return
	}
	inner := s.within(c.name)
	inner.depth--
	inner.vars = s.vars.layer()
	inner.functions, inner.aliases = map[string]function{}, map[string]alias{}
	inner.via = s.via
	inner.arg0, inner.params = c.name, []cmdline.Word{}
	if len(rest) > 1 {
		inner.arg0, inner.params = rest[1].Text, slices.Clone(rest[2:])
	}
	for _, g := range grammars(c.name, rest[0].Text) {
		inner.grammar = g
		r.shell(inner, rest[0], c.name+" -c")
	}
	s.output.add(inner.output)
}

// extensions of bash, which some shells named sh have, and some do not.
var extensions = []string{"&>", "$'", "|&", "<(", ">(", "[[", "((", "function"}

// grammars: sh may be bash or something simpler, and a script is read in both ways
// where that can make a difference.
func grammars(name, text string) []cmdline.Grammar {
	if name == "bash" || !containsAny(text, extensions...) {
		return []cmdline.Grammar{cmdline.Bash}
	}
	return []cmdline.Grammar{cmdline.Bash, cmdline.POSIX}
}

// scriptFile is a file that is run: one that the script has just made is read.
func (r *reader) scriptFile(s *scope, c *call, w cmdline.Word) {
	f, known := r.file(s, w.Text)
	switch {
	case isStandardInput(w.Text):
		f, known = s.input, true
	case w.Text == pipeName && r.lastProcess != nil:
		f, known = r.processes[r.lastProcess], true
	}
	if !known && strings.HasPrefix(w.Text, "/dev/fd/") {
		f, known = flow{kind: something}, true // a descriptor that a redirection has opened
	}
	if !known || f.kind == content {
		r.flag(s, RunFile, c.name+" runs a file that has not been read", c.span)
		s.output.add(flow{kind: something})
		return
	}
	if c.row.Language != "" {
		r.codeFlow(s, c, f)
		return
	}
	var params []cmdline.Word
	if i := slices.IndexFunc(c.words, func(word cmdline.Word) bool { return word == w }); i >= 0 {
		params = append([]cmdline.Word{}, c.words[i+1:]...)
	}
	r.shellFlow(s, f, params, c.name, c.span)
}

func isStandardInput(t string) bool {
	return t == "/dev/stdin" || t == "/dev/fd/0" || t == "/proc/self/fd/0"
}

func (r *reader) shellFlow(s *scope, f flow, params []cmdline.Word, how string, span cmdline.Span) {
	inner := s.within(how)
	inner.depth--
	inner.via = s.via
	inner.input = f
	if params != nil {
		inner.params = params
	}
	r.shellInput(inner, how, span)
	s.output.add(inner.output)
}

// bareShell has no script: it is told what to do.
func (r *reader) bareShell(s *scope, c *call, interactive bool) {
	s.output.interactive = s.output.interactive || interactive
	if interactive && r.connected {
		r.flag(s, ConnectShell, "an interactive shell on a network connection", c.span)
	}
	switch s.input.kind {
	case nothing:
		if r.connected {
			r.flag(s, ConnectShell, "a shell beside a network connection", c.span)
		}
		r.flag(s, RunTerminal, c.name+" without a script waits for commands that nobody has judged", c.span)
	case content:
		r.flag(s, RunFile, c.name+" runs a file that has not been read", c.span)
	default:
		r.shellInput(s, c.name, c.span)
	}
}

// shellInput is a shell that reads its script from standard input.
func (r *reader) shellInput(s *scope, how string, span cmdline.Span) {
	if r.connected && s.input.kind >= something {
		r.flag(s, ConnectShell, how+" runs what comes from a network connection", span)
	}
	switch in := s.input; in.kind {
	case literal:
		if in.decoded {
			r.flag(s, RunDecoded, "decodes a text and runs it", span)
		}
		inner := s.within(how)
		inner.depth--
		inner.via, inner.input = s.via, flow{}
		r.shell(inner, cmdline.At(in.text, span), how)
		s.output.add(inner.output)
	case download:
		r.flag(s, RunDownloaded, how+" runs code straight from the network", span)
	case decoding:
		r.flag(s, RunDecoded, "decodes a text and runs it", span)
	case something, names:
		r.flag(s, RunOutput, how+" runs what another command prints", span)
		r.hinted(s, in.hint, how, span)
	}
}

// hinted looks at what may be among the lines that a shell is given.
func (r *reader) hinted(s *scope, hint, how string, span cmdline.Span) {
	inner := s.within(how)
	inner.via, inner.input, inner.exact, inner.outer = s.via, flow{}, false, span
	for _, line := range strings.Split(hint, "\n") {
		if strings.TrimSpace(line) != "" {
			r.perhapsShell(inner, line, how)
		}
	}
}

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
	for i := len(all) - 2; i >= max(len(all)-4, 0); i-- {
		if all[i].Span.Start >= span.Start && all[i].Span.End <= span.End && slices.Contains(setups, all[i].Argv[0]) {
			return true
		}
	}
	return false
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
	if c.words[0].Text == pipeName && r.lastProcess != nil && r.processes[r.lastProcess].kind == something && r.fromSetup(cmdline.Span{End: c.span.End}) {
		return
	}
	r.scriptFile(s, c, c.words[0])
}

// foreignShell has a grammar that is not read here.
func (r *reader) foreignShell(s *scope, c *call) {
	if r.promptShell(s, c) {
		return
	}
	text := cmdline.Join(c.words, c.span).Text
	if foreignDestruction().MatchString(text) {
		r.flag(s, DeleteVital, c.name+" destroys something", c.span)
	}
	if foreignEncoding().MatchString(text) {
		r.flag(s, RunDecoded, c.name+" runs a text that is encoded", c.span)
	}
	switch text {
	case "--version", "-v":
	case "":
		r.flag(s, RunTerminal, c.name+" without a script", c.span)
	default:
		r.advise(s, Unreadable, c.name+" has a grammar that is not read here", "Use bash", c.span)
	}
}
