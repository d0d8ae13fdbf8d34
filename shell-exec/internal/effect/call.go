package effect

import (
	"maps"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/multiollama/mcp-server/shell-exec/internal/cmdline"
)

// call is one command with its arguments sorted.
type call struct {
	name  string // without its directory
	path  cmdline.Word
	local bool
	row   *program
	words []cmdline.Word // its arguments, sub-commands' names aside
	args  arguments
	span  cmdline.Span
	moved bool // an option said in which directory it runs
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
	outer, external := r.current, r.external
	defer func() { r.current = outer }()
	c := &call{path: argv[0], span: span, words: argv[1:]}
	c.name, c.local = programName(argv[0].Text)
	r.report.Commands = append(r.report.Commands, Command{Argv: append([]cmdline.Text{c.name}, cmdline.Texts(c.words)...),
		Path: c.path.Text, Local: c.local, Via: s.via, Span: c.span})
	r.current = len(r.report.Commands) - 1
	name := c.path.Text
	if name == "" || r.unclearName(s, c) {
		return
	}
	if r.external = false; external {
		r.program(s, c)
		return
	}

	// A function or an alias that was defined earlier at the prompt, or may not have been, may be gone by now: then
	// the name is a program's.
	f, isFunction := s.functions[name]
	a, isAlias := s.aliases[name]
	if isFunction || isAlias {
		r.report.Commands[r.current].Known = true
	}
	for _, body := range f.bodies {
		r.callFunction(s, c, body)
	}
	if isAlias {
		r.callAlias(s, c, a)
	}
	if !(isFunction && !f.past && !f.perhaps || isAlias && !a.past) {
		r.program(s, c)
	}
}

// binaries are the directories of the system's programs.
var binaries = strings.Fields(`/bin /usr/bin /sbin /usr/sbin /usr/local/bin /usr/local/sbin /opt/homebrew/bin /snap/bin /usr/games
	/lib64 /lib`)

// programName is the name that is known, and whether it is where anyone could have put it.
func programName(word string) (name string, local bool) {
	if !strings.Contains(word, "/") {
		return word, false
	}
	clean := path.Clean(word)
	return path.Base(clean), !slices.Contains(binaries, path.Dir(clean))
}

// suspects are programs whose names are looked for where a name is not certain.
var suspects = strings.Fields(`rm dd sh bash dash zsh sudo shred chmod chown mkfs mkfs.ext4 wipefs shutdown reboot poweroff halt nc mv find
	curl wget python python3 perl ruby node php xargs busybox rimraf`)

func isSuspect(word string) bool {
	name, _ := programName(word)
	return slices.Contains(suspects, name)
}

// classes writes a shell's pattern as package path has it.
var classes = strings.NewReplacer("[!", "[^", "[:alpha:]", "a-zA-Z", "[:lower:]", "a-z", "[:alnum:]", "a-zA-Z0-9",
	"[:graph:]", "a-zA-Z0-9", "[:print:]", "a-zA-Z0-9")

// unclearName handles a program that is not known, or that is a pattern of files.
func (r *reader) unclearName(s *scope, c *call) bool {
	name := c.path.Text
	r.flagIf(s, strings.ContainsFunc(name, func(ch rune) bool { return ch > 126 && !cmdline.IsMark(ch) }),
		Lookalike, "the program's name has characters that look like others or cannot be seen", c.span)
	if !cmdline.Unknown(name) && !cmdline.Pattern(name) {
		return false
	}
	if !cmdline.Unknown(name) {
		r.advise(s, RunUnknown, "the program's name is a pattern", "Write the program's name", c.span)
		r.steered = r.steered || s.prompt
		pattern := classes.Replace(cmdline.Literal(c.name))
		for _, n := range suspects {
			if matches, _ := path.Match(pattern, n); matches && strings.Trim(pattern, "*") != "" { // a pattern that is wrong matches nothing
				r.call(s.within(cmdline.Show(name)), append([]cmdline.Word{c.path.With(n)}, c.words...), c.span)
			}
		}
		return true
	}

	// Of "$x/bin/go" the name is known; of "$x rm" another word may be it.
	known := strings.TrimLeft(name[strings.LastIndexAny(name, hole+gap):], hole+gap)
	if base := path.Base(known); strings.HasPrefix(known, "/") && base != "/" {
		c.path, c.name, c.local = c.path.With("./"+base), base, true
		r.report.Commands[r.current].Argv[0], r.report.Commands[r.current].Local = base, true
		return false
	}
	if cmdline.OnlyUnknown(name) {
		r.flagIf(s, r.connected, ConnectShell, "runs what comes from a network connection", c.span)
		r.flagIf(s, r.downloaded, RunDownloaded, "runs what it downloads", c.span)
	}
	r.advise(s, RunUnknown, "the program is not known before it runs", "Write the program's name", c.span)
	r.steered = r.steered || s.prompt
	for _, hint := range r.hints {
		if name := strings.TrimSpace(hint); slices.Contains(suspects, name) {
			r.call(s.within("…"), append([]cmdline.Word{c.path.With(name)}, c.words...), c.span)
		}
	}
	if len(c.words) > 0 && isSuspect(c.words[0].Text) {
		r.call(s.within("…"), c.words, c.span)
	}
	return true
}

// invocation is a function with the arguments that it is called with.
type invocation struct {
	body *syntax.Stmt
	args string
}

// callFunction reads a function's body with its arguments. One that calls itself is read once for the same arguments,
// and a few times for others.
func (r *reader) callFunction(s *scope, c *call, body *syntax.Stmt) {
	name := c.path.Text
	r.called[name] = true
	key, depth := invocation{body, strings.Join(cmdline.Texts(c.words), "\x00")}, 0
	for _, outer := range r.calling {
		if outer.body == body {
			depth++
		}
	}
	if depth > 4 || slices.Contains(r.calling, key) {
		return
	}
	inner := s.within(name + "()")
	inner.params = append([]cmdline.Word{}, c.words...)
	inner.shifts, inner.locals, inner.env = 0, map[string]*value{}, nil
	for name, v := range s.env {
		inner.local(name)
		inner.set(name, v)
	}
	r.calling = append(r.calling, key)
	r.statement(inner, body)
	r.calling = r.calling[:len(r.calling)-1]
	for name, v := range inner.locals {
		if v.texts == nil && !v.list {
			delete(inner.vars.own, name)
		} else {
			inner.set(name, *v)
		}
	}
	s.output.add(inner.output)
	s.dir = inner.dir
}

// program follows a program by its row of the table.
func (r *reader) program(s *scope, c *call) {
	prompt := s.prompt
	if s.prompt && IsBuiltin(c.path.Text) {
		r.builtin(s, c)
	} else {
		s.prompt = false
	}
	defer func(dir string) {
		s.prompt = prompt
		if c.moved {
			s.dir = dir
		}
	}(s.dir)
	if r.madeByScript(s, c) {
		return
	}
	command := &r.report.Commands[r.current]
	if name := r.realName(s, c); name != "" {
		c.name, command.Argv[0] = name, name
	}
	r.shellEscapes(s, c)
	if c.row = findProgram(c.name); c.row == nil {
		r.flagIf(s, c.local, RunFile, "runs a program of the workspace, which has not been read", c.span)
		r.searchArguments(s, c)
		s.output.add(flow{kind: something, secret: s.input.secret})
		return
	}
	r.report.Commands[r.current].Known = true
	for sub, rest, before := c.row.sub(c.words); sub != nil; sub, rest, before = c.row.sub(c.words) { // git push
		c.words = rest
		for _, o := range before.Options {
			if role := c.row.Options[o.Name]; role != "" && o.Valued {
				r.role(s, c, role, o.Value, c.name+" "+o.Name)
			}
		}
		c.row = sub
	}
	if len(c.words) > 0 && c.row.Nothing.Has(c.words[0].Text) {
		s.output.add(flow{kind: something})
		return
	}
	outer := s.output
	s.output = flow{}
	r.arguments(s, c)
	if model := models[c.row.Model]; model != nil {
		model(r, s, c)
	}
	r.prints(s, c)
	printed := s.output
	s.output = outer
	s.output.add(printed)
}

// shellEscapes: many programs run the rest of a line that begins with a !.
func (r *reader) shellEscapes(s *scope, c *call) {
	if len(s.input.text) > maxHint || !strings.Contains(s.input.text, "!") {
		return
	}
	for _, line := range s.input.lines() {
		rest, ok := strings.CutPrefix(line, "!")
		if first, _, _ := strings.Cut(strings.TrimSpace(rest), " "); ok && isSuspect(first) {
			r.perhapsShell(s.apart(c.name, c.span, flow{}), rest, c.name)
		}
	}
}

// madeByScript: the program is a file that the same script made.
func (r *reader) madeByScript(s *scope, c *call) bool {
	if !c.local && !r.pathChanged {
		return false
	}
	f, ok := r.file(s, c.path.Text)
	for _, p := range slices.Sorted(maps.Keys(r.files)) {
		if !c.local && path.Base(p) == c.name {
			f, ok = r.files[p], true
		}
	}
	if ok {
		r.report.Commands[r.current].Known = true
		inner := s.within(cmdline.Show(c.path.Text))
		inner.input, inner.params = f, slices.Clone(c.words)
		r.shellInput(inner, cmdline.Show(c.path.Text), c.span)
	}
	return ok
}

// realName is the program that the script has copied or linked to this name.
func (r *reader) realName(s *scope, c *call) string {
	if c.local && len(r.renamed) > 0 {
		return r.renamed[s.join(c.path.Text)]
	}
	for p, name := range r.renamed {
		if path.Base(p) == c.name && r.pathChanged {
			return name
		}
	}
	return ""
}

// searchArguments looks for commands and code among the arguments of a program that nothing is known about, and in what it
// reads: it may be one of the many that run what they are given.
func (r *reader) searchArguments(s *scope, c *call) {
	inner := s.apart(c.name, c.span, flow{})
	if s.input.kind == literal && spawning().MatchString(s.input.text) {
		r.code(inner, c, "script", cmdline.At(s.input.text, c.span))
	}
	for i, w := range c.words {
		text := strings.TrimLeft(w.Text, "!: ")
		if _, v, ok := strings.Cut(text, "="); ok && strings.HasPrefix(text, "-") {
			text = v
		}
		first, rest, several := strings.Cut(strings.TrimSpace(text), " ")
		switch {
		case w.Text == pipeName && r.lastProcess != nil && r.lastProcess.kind == literal:
			r.hinted(inner, r.lastProcess.text, c.name, c.span)
		case len(text) > 8 && strings.ContainsAny(text, "({`\"'") && spawning().MatchString(text):
			r.code(inner, c, "script", w.With(text))
		case !isSuspect(first):
		case several && rest != "":
			r.perhapsShell(inner, text, c.name)
		case first == w.Text && i+1 < len(c.words):
			r.call(s.within(c.name), c.words[i:], c.span)
			return
		}
	}
}

// executing are the words in an option's name that say that its value is run.
var executing = strings.Fields(`exec execute command cmd script hook run pipe program pager editor shell eval call on callback
	before after`)

// options does what the table says about the values of options. Of those that it says nothing about, the names are
// all that is known.
func (r *reader) options(s *scope, c *call) {
	for _, o := range c.args.Options {
		if role := c.row.Options[o.Name]; role != "" && o.Valued {
			r.role(s, c, role, o.Value, c.row.Name+" "+o.Name)
			continue
		}
		first, _, several := strings.Cut(o.Value.Text, " ")
		runs := slices.ContainsFunc(strings.FieldsFunc(o.Name, func(ch rune) bool { return strings.ContainsRune("-_.:", ch) }),
			func(n string) bool { return slices.Contains(executing, n) })
		if several && runs && isSuspect(first) {
			r.perhapsShell(s.apart(c.row.Name+" "+o.Name, o.Value.Span, flow{}), o.Value.Text, c.row.Name)
		}
	}
}

// arguments follows what the program does by itself, and gives each option's value and each operand its role.
func (r *reader) arguments(s *scope, c *call) {
	c.args = c.row.Split(c.words)
	for i := range c.row.Acts {
		act := &c.row.Acts[i]
		if act.Effect != "none" && act.Does(c.args) {
			r.advise(s, Kind(act.Effect), c.row.Name+" "+act.Why, act.Do, c.span)
			s.output.secret = s.output.secret || Kind(act.Effect) == ReadSecret && strings.HasPrefix(c.name, "gpg")
		}
	}
	r.options(s, c)
	operands := c.args.Operands
	if c.row.Assigns {
		if len(operands) > 0 && operands[0].Text == "-" { // env - is env -i
			operands = operands[1:]
		}
		operands = r.assignments(s, operands)
	}
	// chmod -x f and chmod --reference=a f have no mode among their operands.
	modeGiven := c.row.Model == "mode" && (c.args.Has("--reference") || c.name == "chmod" && c.args.Has("-x", "-w", "-r", "-X", "-s", "-t"))
	if c.row.First != "" && len(operands) > 0 && !modeGiven {
		r.role(s, c, c.row.First, operands[0], c.row.Name)
		operands = operands[1:]
	}
	c.args.Operands = operands
	switch role := c.row.Operands; {
	case role == "" || role == "ignore":
	case role == "command":
		r.wrappedCommand(s, c, operands)
	case role == "package":
		r.packageProgram(s, c, operands)
	case role != "shell-words":
		for _, w := range operands {
			r.role(s, c, role, w, c.row.Name)
		}
	case len(operands) > 0:
		r.shell(s, cmdline.Join(operands, c.span), c.row.Name)
	}
}

// assignments reads NAME=value words before operands.
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

var architectures = strings.Fields("linux32 linux64 i386 i686 x86_64 aarch64 arm64 armv7l ppc64le s390x uname26")

// wrappedCommand follows the command that a program is given to run.
func (r *reader) wrappedCommand(s *scope, c *call, argv []cmdline.Word) {
	if len(argv) == 0 {
		if s.input.kind != nothing && (c.name == "sudo" || c.name == "unshare" || c.name == "chroot") {
			r.shellInput(s, c.name, c.span)
		}
		return
	}
	first := argv[0].Text
	switch {
	case c.row.Model == "command" && c.args.Has("-v", "-V"):
		s.prints("/usr/bin/" + path.Base(cmdline.Show(first)) + "\n")
		return
	case c.row.Model == "flock" && (first == "-c" || first == "--command"):
		argv = append([]cmdline.Word{c.path.With("sh")}, argv...)
	case c.row.Model == "setarch" && len(argv) > 1 && slices.Contains(architectures, first):
		argv = argv[1:]
	}
	inner := s.within(c.row.Name)
	r.external = true
	r.call(inner, argv, c.span)
	r.external = false
	s.output.add(inner.output)
	if c.name == "builtin" || c.name == "command" || c.name == "exec" {
		s.dir = inner.dir
	}
}

// packageProgram: npx and its like run a package's program, which is only known if it has the name of a program that is.
func (r *reader) packageProgram(s *scope, c *call, argv []cmdline.Word) {
	for len(argv) > 0 && strings.HasPrefix(argv[0].Text, "-") {
		argv = argv[1:]
	}
	if len(argv) > 0 && strings.Contains(argv[0].Text, " ") {
		r.shell(s, cmdline.Join(argv, c.span), c.row.Name)
	}
	if len(argv) > 0 && findProgram(argv[0].Text) != nil {
		r.wrappedCommand(s, c, argv)
	}
}

// join is a path seen from the scope's directory, or "" where that is not known.
func (s *scope) join(t string) string {
	switch {
	case cmdline.HasMark(t) || s.dir == "" && !strings.HasPrefix(t, "/"):
		return ""
	case strings.HasPrefix(t, "/"):
		return path.Clean(t)
	}
	return path.Clean(s.dir + "/" + t)
}

// prints is what comes out of the program, where its model has not said so.
func (r *reader) prints(s *scope, c *call) {
	in := s.input
	if in.secret && c.name != "wc" && c.row.Prints != "nothing" {
		s.output.secret = true
	}
	if s.output.kind != nothing || c.row.Operands == "command" {
		return
	}
	switch c.row.Prints {
	case "nothing":
		return
	case "word":
		s.prints("1")
		return
	case "download":
		s.output.add(flow{kind: download})
		return
	case "list":
		s.output.add(flow{kind: names, root: s.dir, filtered: true})
		return
	case "content":
		s.output.add(r.contentOf(s, c.args.Operands))
		return
	case "passes": // what goes in comes out, in part
		if in.kind == names {
			s.output.add(in)
			return
		}
	}
	switch {
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

// contentOf is what cat and its like print.
func (r *reader) contentOf(s *scope, operands []cmdline.Word) flow {
	if len(operands) == 0 || operands[0].Text == "-" || isStandardInput(operands[0].Text) {
		if s.input.kind == nothing {
			return flow{kind: something}
		}
		return s.input
	}
	out := flow{kind: content, root: operands[0].Text}
	if known, ok := r.content(s, operands[0].Text); ok && len(operands) == 1 {
		out = known
	}
	out.secret = out.secret || s.output.secret
	return out
}

// role does what the table of programs says about one word. how names the program and the option, for people.
func (r *reader) role(s *scope, c *call, role string, w cmdline.Word, how string) {
	switch role {
	case "delete":
		r.delete(s, w, c.args.Has(c.row.Deep...), how, c.span)
	case "delete-all":
		r.delete(s, w.With(cmdline.Patterned(w.Text)), true, how, c.span)
	case "write":
		if w.Text != "-" {
			r.write(s, w, how)
		}
	case "read":
		r.readArgument(s, w)
	case "attribute":
		r.attribute(s, w, c.args.Has(c.row.Deep...), how, c.span)
	case "shell", "program":
		r.shell(s, w, how)
	case "hijack":
		r.shell(s, w, how)
		r.flag(s, RunHijacked, how+" makes it run a program", c.span)
	case "hijack-path":
		r.flag(s, RunHijacked, how+" makes it run other programs", c.span)
	case "split": // env -S: a string that becomes words, before the others
		text := w.Text
		for _, rest := range c.args.Operands {
			text += " " + cmdline.Quote(rest.Text)
		}
		c.args.Operands = nil
		r.shell(s, cmdline.At(text, c.span), "env -S")
	case "directory":
		c.moved, s.dir = true, s.join(w.Text)
	case "unpack":
		c.moved, s.dir = true, s.join(w.Text)
		if extracts(c) {
			r.write(s, cmdline.At(".", w.Span), "tar unpacks into")
		}
	case "script":
		r.scriptFile(s, c, w)
	case "code":
		r.code(s, c, c.row.Language, w)
	case "awk":
		r.awkCode(s, c, w)
	case "sed":
		r.sedCode(s, c, w)
	case "editor":
		r.editorCommand(s, c, w)
	case "editor-file": // one that the script has made is read
		f, _ := r.content(s, w.Text)
		for _, line := range f.lines() {
			r.editorCommand(s, c, w.With(line))
		}
	case "gdb":
		r.debuggerCommand(s, c, w)
	case "make":
		r.makefile(s, w.Text, c.span)
	case "makefile":
		r.makefileNamed(s, c, w)
	case "expect":
		r.expectCode(s, w)
	case "checkpoint":
		if text, ok := strings.CutPrefix(w.Text, "exec="); ok {
			r.shell(s, w.With(text), how)
		}
	case "tail", "tail-cmake": // the option's value and all after it are a command
		r.tail(s, c, role, w)
	case "git-config":
		key, v, _ := strings.Cut(w.Text, "=")
		r.gitSetting(s, c, key, v)
	case "ssh":
		r.sshSetting(s, w)
	case "data", "form", "send":
		r.sends(s, c, role, w)
	case "connect":
		r.flag(s, ConnectShell, how+" joins a program to the network", c.span)
	case "mount":
		r.mount(s, c, w)
	case "write-system": // beside the workspace is where work trees belong
		if isSystem(r.paths.resolve(s.dir, w.Text)) {
			r.write(s, w, how)
		}
	case "macro": // of rpm, that runs a shell: %( … )
		if m := macro().FindStringSubmatch(w.Text); m != nil {
			r.shell(s, w.With(m[1]), how)
		}
	case "wrapper":
		r.shell(s, w.With(strings.ReplaceAll(w.Text, ",", " ")), how)
		r.perhapsShell(s, w.Text[strings.LastIndexByte(w.Text, ',')+1:], how)
	case "setting":
		if _, v, ok := strings.Cut(w.Text, "="); ok && strings.Contains(v, " ") {
			r.perhapsShell(s.apart(how, w.Span, s.input), strings.Trim(v, `"'[] `), how)
		}
	}
}

// cmakeCommands are those of cmake -E, as the commands that they mean.
var cmakeCommands = map[string]string{"remove_directory": "rm -r", "rm": "rm", "remove": "rm", "copy": "cp", "copy_directory": "cp",
	"rename": "mv", "touch": "touch", "make_directory": "mkdir", "env": "env", "time": "time"}

func (r *reader) tail(s *scope, c *call, role string, w cmdline.Word) {
	i := slices.IndexFunc(c.words, func(word cmdline.Word) bool { return word.Span == w.Span && word.Text == w.Text })
	if i < 0 {
		return
	}
	argv := c.words[i:]
	if role == "tail-cmake" {
		argv = append(wordsAt(strings.Fields(cmakeCommands[w.Text]), w.Span), argv[1:]...)
		if cmakeCommands[w.Text] == "" {
			argv = nil
		}
	}
	c.args.Operands = nil
	r.call(s.within(c.row.Name), argv, c.span)
}

var macro = late(`(?s)%\((.*)\)`)
