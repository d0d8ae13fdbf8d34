package effect

import (
	"maps"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/multiollama/mcp-server/shell-exec/internal/cmdline"
	"github.com/multiollama/mcp-server/shell-exec/internal/cmdspec"
)

// call is one command with its arguments sorted.
type call struct {
	name   string // without its directory
	path   cmdline.Word
	local  bool
	row    *cmdspec.Program
	words  []cmdline.Word // its arguments, sub-commands' names aside
	args   cmdspec.Args
	global cmdspec.Args // the options before a sub-command
	span   cmdline.Span
	moved  bool   // an option said in which directory it runs
	from   string // the directory before
}

// move: an option names the directory that the program works in.
func (c *call) move(s *scope, dir string) {
	if !c.moved {
		c.moved, c.from = true, s.dir
	}
	s.dir = s.join(dir)
}

func (c *call) back(s *scope) {
	if c.moved {
		s.dir = c.from
	}
}

// call follows one command with expanded words.
func (r *reader) call(s *scope, argv []cmdline.Word, span cmdline.Span) {
	if len(argv) == 0 || !r.spend(s, 1+len(argv)) {
		return
	}
	if s.depth > maxDepth {
		r.flag(s, Unreadable, "commands are nested too deeply", span)
		return
	}
	outer := r.current
	defer func() { r.current = outer }()
	c := &call{path: argv[0], span: span, words: argv[1:]}
	c.name, c.local = programName(argv[0].Text)
	r.list(s, c)
	if c.path.Text == "" || r.unclearName(s, c) {
		return
	}
	external := r.external
	if r.external = false; !external && r.defined(s, c) {
		return
	}
	r.program(s, c)
}

// defined: the name is that of a function or of an alias. One that was defined earlier
// at the prompt, or may not have been, may be none by now, and then it is a program.
func (r *reader) defined(s *scope, c *call) bool {
	f, isFunction := s.functions[c.path.Text]
	if isFunction {
		r.report.Commands[r.current].Known = true
		for _, body := range f.bodies {
			r.callFunction(s, c, body)
		}
	}
	a, isAlias := s.aliases[c.path.Text]
	if isAlias {
		r.report.Commands[r.current].Known = true
		r.callAlias(s, c, a)
	}
	return isFunction && !f.past && !f.perhaps || isAlias && !a.past
}

func (r *reader) list(s *scope, c *call) {
	argv := append([]cmdline.Text{c.name}, cmdline.Texts(c.words)...)
	r.report.Commands = append(r.report.Commands, Command{Argv: argv, Path: c.path.Text, Local: c.local, Via: s.via, Span: c.span})
	r.current = len(r.report.Commands) - 1
}

// binaries are the directories of the system's programs.
var binaries = strings.Fields(`/bin /usr/bin /sbin /usr/sbin /usr/local/bin /usr/local/sbin /opt/homebrew/bin /snap/bin /usr/games /lib64 /lib`)

// programName is the name that is known, and whether it lies where anyone could have put it.
func programName(word string) (name string, local bool) {
	if !strings.Contains(word, "/") {
		return word, false
	}
	clean := path.Clean(word)
	return path.Base(clean), !slices.Contains(binaries, path.Dir(clean))
}

// often are programs whose names are looked for where a name is not certain.
var often = strings.Fields(`rm dd sh bash dash zsh sudo shred chmod chown mkfs mkfs.ext4 wipefs shutdown reboot poweroff halt nc mv find curl wget python
	python3 perl ruby node php xargs busybox rimraf`)

// classes writes a shell's pattern as package path has it.
var classes = strings.NewReplacer("[!", "[^", "[:alpha:]", "a-zA-Z", "[:lower:]", "a-z", "[:alnum:]", "a-zA-Z0-9", "[:graph:]", "a-zA-Z0-9", "[:print:]", "a-zA-Z0-9")

// unclearName handles a program that is not known, or that is a pattern of files.
func (r *reader) unclearName(s *scope, c *call) bool {
	name := c.path.Text
	if strings.ContainsFunc(name, func(ch rune) bool { return ch > 126 && !cmdline.IsMark(ch) }) {
		r.flag(s, Lookalike, "the program's name has characters that look like others or cannot be seen", c.span)
	}
	switch {
	case cmdline.Unknown(name):
		return r.unknownName(s, c)
	case cmdline.Pattern(name):
		r.advise(s, RunUnknown, "the program's name is a pattern", "Write the program's name", c.span)
		r.steered = r.steered || s.prompt
		pattern := classes.Replace(cmdline.Plain(c.name))
		for _, n := range often {
			if ok, err := path.Match(pattern, n); ok && err == nil && strings.Trim(pattern, "*") != "" {
				r.call(s.within(cmdline.Show(name)), append([]cmdline.Word{c.path.With(n)}, c.words...), c.span)
			}
		}
		return true
	}
	return false
}

// unknownName: of "$x/bin/go" the name is known; of "$x rm" another word may be it.
func (r *reader) unknownName(s *scope, c *call) bool {
	name := c.path.Text
	known := strings.TrimLeft(name[strings.LastIndexAny(name, hole+gap):], hole+gap)
	if base := path.Base(known); strings.HasPrefix(known, "/") && base != "/" {
		c.path = c.path.With("./" + base)
		c.name, c.local = base, true
		r.report.Commands[r.current].Argv[0], r.report.Commands[r.current].Local = base, true
		return false
	}
	if r.connected && cmdline.OnlyUnknown(name) {
		r.flag(s, ConnectShell, "runs what comes from a network connection", c.span)
	}
	if r.downloaded && cmdline.OnlyUnknown(name) {
		r.flag(s, RunDownloaded, "runs what it downloads", c.span)
	}
	r.advise(s, RunUnknown, "the program is not known before it runs", "Write the program's name", c.span)
	r.steered = r.steered || s.prompt
	for _, hint := range r.hints {
		if name := strings.TrimSpace(hint); slices.Contains(often, name) {
			r.call(s.within("…"), append([]cmdline.Word{c.path.With(name)}, c.words...), c.span)
		}
	}
	if len(c.words) > 0 {
		if next, _ := programName(c.words[0].Text); slices.Contains(often, next) {
			r.call(s.within("…"), c.words, c.span)
		}
	}
	return true
}

// callFunction reads a function's body with its arguments. One that calls itself is
// read once for the same arguments, and a few times for others.
func (r *reader) callFunction(s *scope, c *call, body *syntax.Stmt) {
	name := c.path.Text
	r.called[name] = true
	key, depth := invocation{body, strings.Join(cmdline.Texts(c.words), "\x00")}, 0
	for _, outer := range r.calling {
		if outer == key {
			return
		}
		if outer.body == body {
			depth++
		}
	}
	if depth > 4 {
		return
	}
	inner := s.within(name + "()")
	inner.params = slices.Clone(c.words)
	if inner.params == nil {
		inner.params = []cmdline.Word{}
	}
	inner.shifts, inner.locals, inner.env = 0, map[string]*value{}, nil
	for name, v := range s.env {
		inner.local(name)
		inner.set(name, v)
	}
	r.calling = append(r.calling, key)
	r.statement(inner, body)
	inner.restore()
	r.calling = r.calling[:len(r.calling)-1]
	s.output.add(inner.output)
	s.dir = inner.dir
}

// program follows a program by its row of the table.
func (r *reader) program(s *scope, c *call) {
	if s.prompt && IsBuiltin(c.path.Text) {
		r.builtin(s, c)
	} else {
		defer func(was bool) { s.prompt = was }(s.prompt)
		s.prompt = false
	}
	if r.written(s, c) {
		return
	}
	if name := r.realName(s, c); name != "" {
		c.name = name
		r.report.Commands[r.current].Argv[0] = name
	}
	r.escapes(s, c)
	c.row, _ = r.table.Find([]cmdline.Word{c.path.With(c.name)})
	if c.row == nil {
		if c.local {
			r.flag(s, RunFile, "runs a program of the workspace, which has not been read", c.span)
		}
		r.handed(s, c)
		s.output.add(flow{kind: something, secret: s.input.secret})
		return
	}
	r.report.Commands[r.current].Known = true
	defer c.back(s)
	for r.subCommand(s, c) {
	}
	if len(c.words) > 0 && c.row.Nothing.Has(c.words[0].Text) {
		s.output.add(flow{kind: something})
		return
	}
	c.args = c.row.Split(c.words)
	outer := s.output
	s.output = flow{}
	r.acts(s, c)
	r.options(s, c)
	r.operands(s, c)
	if model := r.models[c.row.Model]; model != nil {
		model(r, s, c)
	}
	r.prints(s, c)
	printed := s.output
	s.output = outer
	s.output.add(printed)
}

// realName is the program that the script has copied or linked to this name.
func (r *reader) realName(s *scope, c *call) string {
	if len(r.renamed) == 0 {
		return ""
	}
	if c.local {
		return r.renamed[s.join(c.path.Text)]
	}
	for p, name := range r.renamed {
		if path.Base(p) == c.name && r.pathChanged {
			return name
		}
	}
	return ""
}

// handed looks for commands and code among the arguments of a program that nothing is
// known about, and in what it reads: it may be one of the many that run what they are given.
func (r *reader) handed(s *scope, c *call) {
	inner := s.within(c.name)
	inner.exact, inner.outer, inner.input = false, c.span, flow{}
	if s.input.kind == literal && spawning().MatchString(s.input.text) {
		r.code(inner, c, "script", cmdline.At(s.input.text, c.span))
	}
	for i, w := range c.words {
		text := strings.TrimLeft(w.Text, "!: ")
		if _, v, ok := strings.Cut(text, "="); ok && strings.HasPrefix(text, "-") {
			text = v
		}
		first, rest, several := strings.Cut(strings.TrimSpace(text), " ")
		name, _ := programName(first)
		switch {
		case w.Text == pipeName && r.lastProcess != nil && r.processes[r.lastProcess].kind == literal:
			r.hinted(inner, r.processes[r.lastProcess].text, c.name, c.span)
		case len(text) > 8 && strings.ContainsAny(text, "({`\"'") && spawning().MatchString(text):
			r.code(inner, c, "script", w.With(text))
		case !slices.Contains(often, name):
		case several && rest != "":
			r.perhapsShell(inner, text, c.name)
		case first == w.Text && i+1 < len(c.words):
			r.call(s.within(c.name), c.words[i:], c.span)
			return
		}
	}
}

// executing are the words in an option's name that say that its value is run.
var executing = strings.Fields("exec execute command cmd script hook run pipe program pager editor shell eval call on callback before after")

// executed looks at values of options that nothing is known about but their names.
func (r *reader) executed(s *scope, c *call, o cmdspec.Option) {
	names := strings.FieldsFunc(o.Name, func(ch rune) bool { return strings.ContainsRune("-_.:", ch) })
	first, _, several := strings.Cut(o.Value.Text, " ")
	name, _ := programName(first)
	if !several || !slices.Contains(often, name) || !slices.ContainsFunc(names, func(n string) bool { return slices.Contains(executing, n) }) {
		return
	}
	inner := s.within(c.row.Name + " " + o.Name)
	inner.exact, inner.outer, inner.input = false, o.Value.Span, flow{}
	r.perhapsShell(inner, o.Value.Text, c.row.Name)
}

// escapes: many programs run the rest of a line that begins with a !.
func (r *reader) escapes(s *scope, c *call) {
	if s.input.kind != literal || len(s.input.text) > maxHint || !strings.Contains(s.input.text, "!") {
		return
	}
	for _, line := range strings.Split(s.input.text, "\n") {
		rest, ok := strings.CutPrefix(line, "!")
		first, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
		if name, _ := programName(first); ok && slices.Contains(often, name) {
			inner := s.within(c.name)
			inner.exact, inner.outer, inner.input = false, c.span, flow{}
			r.perhapsShell(inner, rest, c.name)
		}
	}
}

// written: the program is a file that the same script made.
func (r *reader) written(s *scope, c *call) bool {
	if !c.local && !r.pathChanged {
		return false
	}
	f, ok := r.file(s, c.path.Text)
	for _, p := range slices.Sorted(maps.Keys(r.files)) {
		if !c.local && path.Base(p) == c.name {
			f, ok = r.files[p], true
		}
	}
	if !ok {
		return false
	}
	r.report.Commands[r.current].Known = true
	inner := s.within(cmdline.Show(c.path.Text))
	inner.input = f
	inner.params = slices.Clone(c.words)
	r.shellInput(inner, cmdline.Show(c.path.Text), c.span)
	return true
}

// subCommand moves on to the row of "git push" when the row is that of git.
func (r *reader) subCommand(s *scope, c *call) bool {
	sub, rest, before := r.table.Sub(c.row, c.words)
	if sub == nil {
		return false
	}
	c.global.Options = append(c.global.Options, before.Options...)
	c.words = rest
	for _, o := range before.Options {
		if role := c.row.Options[o.Name]; role != "" && o.Valued {
			r.role(s, c, role, o.Value, c.name+" "+o.Name)
		}
	}
	c.row = sub
	return true
}

func (r *reader) acts(s *scope, c *call) {
	for i := range c.row.Acts {
		act := &c.row.Acts[i]
		if act.Effect != "none" && act.Does(c.args) {
			r.advise(s, Kind(act.Effect), c.row.Name+" "+act.Why, act.Do, c.span)
			s.output.secret = s.output.secret || Kind(act.Effect) == ReadSecret && strings.HasPrefix(c.name, "gpg")
		}
	}
}

func (r *reader) options(s *scope, c *call) {
	for _, o := range c.args.Options {
		if role := c.row.Options[o.Name]; role != "" && o.Valued {
			r.role(s, c, role, o.Value, c.row.Name+" "+o.Name)
		} else if o.Valued {
			r.executed(s, c, o)
		}
	}
}

// operands gives each operand its role.
func (r *reader) operands(s *scope, c *call) {
	operands := c.args.Operands
	if c.row.Assigns {
		if len(operands) > 0 && operands[0].Text == "-" { // env - is env -i
			operands = operands[1:]
		}
		operands = r.assignments(s, operands)
	}
	if c.row.First != "" && len(operands) > 0 && !(c.row.Model == "mode" && hasMode(c)) {
		r.role(s, c, c.row.First, operands[0], c.row.Name)
		operands = operands[1:]
	}
	c.args.Operands = operands
	switch c.row.Operands {
	case "", "ignore":
	case "command":
		r.wrapped(s, c, operands)
	case "package":
		r.packaged(s, c, operands)
	case "shell-words":
		if len(operands) > 0 {
			r.shell(s, cmdline.Join(operands, c.span), c.row.Name)
		}
	default:
		for _, w := range operands {
			r.role(s, c, c.row.Operands, w, c.row.Name)
		}
	}
}

// hasMode: chmod -x f and chmod --reference=a f have no mode among their operands.
func hasMode(c *call) bool {
	return c.args.Has("--reference") || c.name == "chmod" && c.args.Has("-x", "-w", "-r", "-X", "-s", "-t")
}

func (r *reader) assignments(s *scope, operands []cmdline.Word) []cmdline.Word {
	for i, w := range operands {
		name, v, ok := strings.Cut(w.Text, "=")
		if !ok || strings.ContainsAny(name, "/ ") {
			return operands[i:]
		}
		if strings.HasPrefix(name, "BASH_FUNC_") {
			r.shell(s, cmdline.At("x "+v, w.Span), "a function in the environment")
		}
		r.exported(s, name, single(v), w.Span)
		s.give(name, single(v))
	}
	return nil
}

// wrapped follows the command that a program is given to run.
func (r *reader) wrapped(s *scope, c *call, argv []cmdline.Word) {
	if len(argv) == 0 {
		if s.input.kind != nothing && (c.name == "sudo" || c.name == "unshare" || c.name == "chroot") {
			r.shellInput(s, c.name, c.span)
		}
		return
	}
	if c.row.Model == "command" && c.args.Has("-v", "-V") {
		s.output.add(flow{kind: literal, text: "/usr/bin/" + path.Base(cmdline.Show(argv[0].Text)) + "\n"})
		return
	}
	inner := s.within(c.row.Name)
	if c.row.Model == "flock" && (argv[0].Text == "-c" || argv[0].Text == "--command") {
		argv = append([]cmdline.Word{c.path.With("sh")}, argv...)
	}
	if c.row.Model == "setarch" && !strings.Contains(argv[0].Text, "/") && len(argv) > 1 && r.isArchitecture(argv[0].Text) {
		argv = argv[1:]
	}
	r.external = true
	r.call(inner, argv, c.span)
	r.external = false
	s.output.add(inner.output)
	if c.name == "builtin" || c.name == "command" || c.name == "exec" {
		s.dir = inner.dir
	}
}

func (r *reader) isArchitecture(name string) bool {
	return slices.Contains(strings.Fields("linux32 linux64 i386 i686 x86_64 aarch64 arm64 armv7l ppc64le s390x uname26"), name)
}

// packaged: npx and its like run a package's program, which is only known if it has
// the name of a program that is.
func (r *reader) packaged(s *scope, c *call, argv []cmdline.Word) {
	for len(argv) > 0 && strings.HasPrefix(argv[0].Text, "-") {
		argv = argv[1:]
	}
	if len(argv) == 0 {
		return
	}
	if strings.Contains(argv[0].Text, " ") {
		r.shell(s, cmdline.Join(argv, c.span), c.row.Name)
	}
	if row, _ := r.table.Find(argv); row != nil {
		r.wrapped(s, c, argv)
	}
}

// join is a path seen from the scope's directory, or "" where that is not known.
func (s *scope) join(t string) string {
	switch {
	case strings.ContainsFunc(t, cmdline.IsMark) || s.dir == "" && !strings.HasPrefix(t, "/"):
		return ""
	case strings.HasPrefix(t, "/"):
		return path.Clean(t)
	}
	return path.Clean(s.dir + "/" + t)
}

// prints is what comes out of the program, where its model has not said so.
func (r *reader) prints(s *scope, c *call) {
	if s.input.secret && c.name != "wc" && c.row.Prints != "nothing" {
		s.output.secret = true
	}
	if s.output.kind != nothing || c.row.Operands == "command" {
		return
	}
	switch c.row.Prints {
	case "nothing":
	case "word":
		s.output.add(flow{kind: literal, text: "1"})
	case "download":
		s.output.add(flow{kind: download})
	case "list":
		s.output.add(flow{kind: names, root: s.dir, filtered: true})
	case "content":
		r.printsContent(s, c)
	case "passes":
		r.passes(s)
	default:
		r.unforeseenOutput(s)
	}
}

func (r *reader) unforeseenOutput(s *scope) {
	switch in := s.input; {
	case in.kind == download || in.kind == decoding:
		s.output.add(flow{kind: in.kind})
	case in.kind == literal && in.decoded:
		s.output.add(flow{kind: decoding, hint: in.text})
	case in.kind == literal && len(in.text) <= maxHint:
		s.output.add(flow{kind: something, hint: in.text})
	default:
		s.output.add(flow{kind: something, hint: in.hint})
	}
}

// passes: what goes in comes out, in part.
func (r *reader) passes(s *scope) {
	if s.input.kind == names {
		s.output.add(s.input)
		return
	}
	r.unforeseenOutput(s)
}

func (r *reader) printsContent(s *scope, c *call) {
	if len(c.args.Operands) > 0 && c.args.Operands[0].Text != "-" && !isStandardInput(c.args.Operands[0].Text) {
		out := flow{kind: content, root: c.args.Operands[0].Text}
		if len(c.args.Operands) == 1 {
			if c.args.Operands[0].Text == pipeName && r.lastProcess != nil {
				out = r.processes[r.lastProcess]
			} else if known, ok := r.file(s, c.args.Operands[0].Text); ok {
				out = known
			}
		}
		out.secret = out.secret || s.output.secret
		s.output.add(out)
		return
	}
	if s.input.kind == nothing {
		s.output.add(flow{kind: something})
		return
	}
	s.output.add(s.input)
}
