package effect

import (
	"path"
	"slices"
	"strings"

	"github.com/multiollama/mcp-server/shell-exec/internal/cmdline"
)

// model is what the table of programs cannot say about a program.
type model = func(*reader, *scope, *call)

// models are the models by the names that the table has for them. They look models up, so it is filled when all are there.
var models map[string]model

func init() {
	models = map[string]model{
		"shell": (*reader).shellProgram, "foreign": (*reader).foreignShell, "eval": (*reader).eval, "source": (*reader).source,
		"cd": (*reader).cd, "echo": (*reader).echo, "printf": (*reader).printf, "trap": (*reader).trap, "alias": (*reader).alias,
		"hash": (*reader).hash, "shift": (*reader).shift, "set": (*reader).setParams, "unset": (*reader).unset, "read": (*reader).readBuiltin,
		"declare": (*reader).declareBuiltin, "test": (*reader).testBuiltin, "kill": (*reader).kill, "pkill": (*reader).pkill,
		"xargs": (*reader).xargs, "parallel": (*reader).parallel, "loose": (*reader).looseCommand, "daemon": (*reader).daemon,
		"find": (*reader).find, "fd": (*reader).fd, "copy": (*reader).copy, "rsync": (*reader).rsync, "remote-copy": (*reader).remoteCopy,
		"tee": (*reader).tee, "dd": (*reader).dd, "mode": (*reader).mode, "tar": (*reader).tar, "filter": (*reader).filter,
		"mktemp": (*reader).mktemp, "basename": (*reader).basename, "list": (*reader).listFiles, "disk": (*reader).disk,
		"schedule": (*reader).schedule, "terminal": (*reader).terminal, "interpreter": (*reader).interpreter, "awk": (*reader).awk,
		"sed": (*reader).sed, "editor": (*reader).editor, "sql": (*reader).sql, "make": (*reader).makeProgram, "cmake": (*reader).makeProgram,
		"ssh": (*reader).ssh, "download": (*reader).download, "netcat": (*reader).netcat, "git": (*reader).git,
		"git-config": (*reader).gitConfig, "container": (*reader).container, "kubectl": (*reader).kubectl,
		"npm-location": (*reader).npmLocation, "forge": (*reader).forge,

		"pwd": func(r *reader, s *scope, c *call) {
			if s.dir != "" {
				s.prints(s.dir + "\n")
			}
		},
		"which": func(r *reader, s *scope, c *call) {
			if len(c.words) == 1 {
				s.prints("/usr/bin/" + path.Base(cmdline.Show(c.words[0].Text)) + "\n")
			}
		},
		"grep": func(r *reader, s *scope, c *call) {
			if c.args.Has("-l", "-L", "--files-with-matches", "--files-without-match", "--files") {
				s.output.add(flow{kind: names, root: s.dir, filtered: true})
			} else if f := s.input; f.kind == names {
				f.filtered = f.filtered || !c.args.Has("-v", "--invert-match")
				s.output.add(f)
			}
		},
		"last-written": func(r *reader, s *scope, c *call) { // the last operand is what the program makes
			if n := len(c.args.Operands); n > 0 {
				r.write(s, c.args.Operands[n-1], c.name+" to")
			}
		},
		"zip": func(r *reader, s *scope, c *call) { // -m deletes what it has packed
			if c.args.Has("-m", "--move") && len(c.args.Operands) > 1 {
				r.deleteAll(s, c.args.Operands[1:], "zip -m", c.span)
			}
		},
		"sysctl": func(r *reader, s *scope, c *call) {
			sets := anyWord(c.words, func(t string) bool { return strings.Contains(t, "=") })
			r.flagIf(s, sets, Kernel, "sysctl changes settings of the kernel", c.span)
		},
		"git-all": func(r *reader, s *scope, c *call) { // git checkout * and git rm * name every file
			all := anyWord(c.args.Operands, func(t string) bool { return t == string(cmdline.Star) })
			r.flagIf(s, all, Discard, c.row.Name+" * takes every file", c.span)
		},
		"git-root": func(r *reader, s *scope, c *call) {
			if c.args.Has("--git-dir", "--absolute-git-dir", "--git-common-dir") {
				s.prints(".git\n")
			}
			if c.args.Has("--show-toplevel", "--show-cdup") && len(r.around.Workspace) > 0 {
				s.prints(r.around.Workspace[0] + "\n")
			}
		},
		"go-install": func(r *reader, s *scope, c *call) {
			versioned := anyWord(c.args.Operands, func(t string) bool { return strings.Contains(t, "@") })
			r.flagIf(s, versioned, UserPackages, "go install puts a program where the user's are", c.span)
		},
		"container-copy": func(r *reader, s *scope, c *call) {
			if n := len(c.args.Operands); n > 1 && !strings.Contains(c.args.Operands[n-1].Text, ":") {
				r.write(s, c.args.Operands[n-1], c.row.Name+" to")
			}
		},
		"unknown-operands": func(r *reader, s *scope, c *call) { // docker rm $(docker ps -aq) takes all there are
			r.flagIf(s, anyWord(c.args.Operands, cmdline.Unknown), ContainerGone, c.row.Name+" deletes what is not known before", c.span)
		},
		"expect": func(r *reader, s *scope, c *call) {
			for _, line := range s.input.lines() {
				r.expectCode(s, cmdline.At(line, c.span))
			}
		},
	}
}

func anyWord(words []cmdline.Word, is func(t string) bool) bool {
	return slices.ContainsFunc(words, func(w cmdline.Word) bool { return is(w.Text) })
}

func containsAny(s string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(s, part) })
}

// wordsAt are words with these texts.
func wordsAt(texts []string, span cmdline.Span) []cmdline.Word {
	var words []cmdline.Word
	for _, t := range texts {
		words = append(words, cmdline.At(t, span))
	}
	return words
}

// settings of git that make it run something; the first group names a command line.
var (
	commandSetting = late(`^(core\.(pager|editor|sshcommand|askpass|fsmonitor|gitproxy|alternaterefscommand)|pager\..*|` +
		`sequence\.editor|diff\.external|diff\..*\.(command|textconv)|credential\.(.*\.)?helper|gpg\.(.*\.)?program|(browser|man|` +
		`difftool|mergetool)\..*\.cmd|filter\..*\.(clean|smudge|process)|merge\..*\.driver|interactive\.difffilter|` +
		`uploadpack\.packobjectshook|remote\..*\.(uploadpack|receivepack)|submodule\..*\.update)$`)
	otherSetting = late(`^(core\.hookspath|ssh\.variant|remote\..*\.vcs|protocol\.(ext\.)?allow|include\.path|includeif\..*|` +
		`init\.templatedir)$`)

	// harmlessSettings are values that run what git has itself, or what shows text.
	harmlessSettings = strings.Fields(`true false cat less delta vim vi nano emacs cache store manager osxkeychain libsecret
		checkout rebase merge none /dev/null`)
)

// gitSetting is git -c key=value and git config key value.
func (r *reader) gitSetting(s *scope, c *call, key, v string) {
	lower := strings.ToLower(key)
	name, isAlias := strings.CutPrefix(lower, "alias.")
	script, escapes := strings.CutPrefix(v, "!")
	switch {
	case isAlias && escapes:
		r.shell(s, cmdline.At(script, c.span), "git "+name)
	case isAlias || v == "" || slices.Contains(harmlessSettings, v):
	case commandSetting().MatchString(lower):
		r.shell(s, cmdline.At(script, c.span), "git "+key)
		r.flag(s, RunHijacked, "git's "+key+" makes git run a program", c.span)
	case otherSetting().MatchString(lower):
		r.flag(s, RunHijacked, "git's "+key+" makes git run other programs", c.span)
	}
}

// git looks at the addresses that sub-commands are given.
func (r *reader) git(s *scope, c *call) {
	for _, w := range c.args.Operands {
		if rest, ok := strings.CutPrefix(w.Text, "ext::"); ok {
			r.flag(s, RunHijacked, "an ext:: address makes git run a program", c.span)
			argv := strings.Fields(strings.ReplaceAll(rest, "% ", "\x00")) // "% " is a blank within a word
			for i := range argv {
				argv[i] = strings.ReplaceAll(argv[i], "\x00", " ")
			}
			r.call(s.within("git ext::"), wordsAt(argv, w.Span), c.span)
		}
	}
	if c.args.Has("--name-only") {
		s.output.add(flow{kind: names, root: s.dir, filtered: true})
	}
}

func (r *reader) gitConfig(s *scope, c *call) {
	operands := c.args.Operands
	if len(operands) > 0 && operands[0].Text == "set" {
		operands = operands[1:]
	} else if len(operands) > 0 && (operands[0].Text == "list" || operands[0].Text == "get") {
		return
	}
	removes := c.args.Has("--unset", "--unset-all", "--remove-section", "--edit", "-e")
	if c.args.Has("-l", "--list", "--get", "--get-all", "--get-regexp", "--get-urlmatch") || len(operands) < 2 && !removes {
		return
	}
	r.flagIf(s, c.args.Has("--global", "--system"), WriteStartup, "git config changes the user's settings", c.span)
	if len(operands) >= 2 {
		r.gitSetting(s, c, operands[0].Text, operands[1].Text)
	}
}

// container is docker run and exec: the command runs in a container, on its files.
func (r *reader) container(s *scope, c *call) {
	for _, o := range c.args.Options {
		r.flagIf(s, o.Name == "--security-opt" && o.Valued && !strings.Contains(o.Value.Text, "no-new-privileges"),
			ContainerRights, c.row.Name+" "+o.Name+" weakens the container's walls", c.span)
		r.flagIf(s, (o.Name == "--pid" || o.Name == "--ipc") && o.Value.Text == "host",
			ContainerRights, c.row.Name+" shares the machine's processes", c.span)
	}
	if len(c.args.Operands) < 2 {
		return
	}
	inner := s.within(c.row.Name)
	inner.container = true
	if len(r.around.Workspace) > 0 { // most often that is what the container works on
		inner.dir = r.around.Workspace[0]
	}
	r.call(inner, c.args.Operands[1:], c.span)
}

// mount is a directory of the machine that a container gets.
func (r *reader) mount(s *scope, c *call, w cmdline.Word) {
	source, _, _ := strings.Cut(strings.TrimPrefix(w.Text, "="), ":")
	for part := range strings.SplitSeq(w.Text, ",") {
		if key, v, ok := strings.Cut(part, "="); ok && (key == "source" || key == "src") {
			source = v
		}
	}
	if strings.HasSuffix(source, ".sock") && containsAny(source, "docker", "podman", "containerd") {
		r.flag(s, ContainerRights, "gives the container control of the container service", c.span)
		return
	}
	if !strings.ContainsAny(source, "/.~"+hole) {
		return // a volume by its name
	}
	what := "gives " + cmdline.Show(source) + " of this machine to a container"
	switch r.paths.class(s.dir, source, true) {
	case classVital, classSystem, classAccounts, classDisk, classSecret, classStartup:
		r.flag(s, ContainerRights, what, c.span)
	case classOutside:
		r.flag(s, ContainerMount, what, c.span)
	}
}

func (r *reader) kubectl(s *scope, c *call) {
	if len(c.args.Operands) > 0 && c.args.Operands[0].Text == "exec" {
		inner := s.within("kubectl exec")
		inner.dir, inner.container = "/w", true
		_, argv := until(c.words, "--")
		r.call(inner, argv, c.span)
	}
}

func (r *reader) npmLocation(s *scope, c *call) {
	if f, _ := r.file(s, "package.json"); f.kind == literal {
		for _, text := range literalsOf(f.text) {
			r.perhapsShell(s.apart(c.name, c.span, flow{}), text, c.name)
		}
	}
	if operands := c.args.Operands; len(operands) > 2 && operands[0].Text == "pkg" && operands[1].Text == "set" {
		for _, w := range operands[2:] {
			r.role(s, c, "setting", w, c.name+" pkg set")
		}
	}
	for _, o := range c.args.Options {
		r.flagIf(s, o.Name == "--location" && o.Value.Text == "global", UserPackages, c.name+" changes programs of the user", c.span)
	}
}

// forge is gh and glab, where the method of a request says whether it only reads.
func (r *reader) forge(s *scope, c *call) {
	if len(c.args.Operands) == 0 {
		return
	}
	text := " " + strings.Join(cmdline.Texts(c.words), " ")
	switch c.args.Operands[0].Text {
	case "api":
		other := strings.Contains(text, " -X") && !strings.Contains(text, " -X GET") ||
			strings.Contains(text, " --method") && !strings.Contains(text, "GET")
		r.flagIf(s, other || strings.Contains(text, "mutation"), Publish, c.name+" changes things on the forge", c.span)
	case "alias":
		for _, w := range c.args.Operands {
			if script, ok := strings.CutPrefix(w.Text, "!"); ok {
				r.shell(s, w.With(script), c.name+" alias")
			}
		}
	}
}

// ssh runs its last words on another machine.
func (r *reader) ssh(s *scope, c *call) {
	words := c.args.Operands
	if len(words) == 0 {
		return
	}
	host, words := cmdline.Show(words[0].Text), words[1:]
	for len(words) > 0 && len(words[0].Text) > 1 && words[0].Text[0] == '-' { // options may follow the host; - alone is none
		more := c.row.Split(words)
		for _, o := range more.Options {
			if o.Name == "-o" && o.Valued {
				r.sshSetting(s, o.Value)
			}
		}
		words = words[more.Rest:]
	}
	r.flag(s, RunRemote, c.name+" runs on "+host+", outside this machine's sandbox", c.span)
	there := s.inPlace(s.input)
	there.dir = ""
	if len(words) > 0 {
		r.shell(there, cmdline.Join(words, c.span), c.name+" "+host)
	} else if s.input.kind != nothing {
		r.shellInput(there, c.name, c.span)
	}
	s.output.add(flow{kind: something})
}

func (r *reader) sshSetting(s *scope, w cmdline.Word) {
	key, v, ok := strings.Cut(w.Text, "=")
	if !ok {
		key, v, ok = strings.Cut(w.Text, " ")
	}
	runs := []string{"proxycommand", "localcommand", "knownhostscommand"}
	if ok && v != "none" && slices.Contains(runs, strings.ToLower(strings.TrimSpace(key))) {
		r.shell(s, w.With(v), "ssh "+key)
		r.flag(s, RunHijacked, "ssh "+key+" makes it run a program", w.Span)
	}
}

var localAddress = late(`^(https?://)?(localhost|127\.0\.0\.1|\[::1\]|0\.0\.0\.0|host\.docker\.internal)([:/]|$)`)

// leavesMachine says that what is sent does not stay here: not all the addresses among the words are of this machine.
func leavesMachine(words []cmdline.Word) bool {
	here := func(t string) bool { return localAddress().MatchString(t) }
	return !anyWord(words, here) || anyWord(words, func(t string) bool { return strings.Contains(t, "://") && !here(t) })
}

// sends looks at a value that curl or wget sends: a text, or a file after an @.
func (r *reader) sends(s *scope, c *call, role string, w cmdline.Word) {
	before, file, named := strings.Cut(w.Text, "@")
	if role == "send" {
		file = w.Text
	} else if !named || before != "" && role != "form" {
		file = ""
	}
	leaves := leavesMachine(c.words)
	switch {
	case file == "":
		unknown := cmdline.Unknown(w.Text) && leaves
		r.flagIf(s, unknown && r.secret, SendSecret, c.name+" sends credentials", c.span)
		r.flagIf(s, unknown, SendUnknown, c.name+" sends a text that is not known before", c.span)
		return
	case file == "-" || file == ".":
		r.sendsInput(s, c)
		return
	}
	file, _, _ = strings.Cut(r.fromHome(file), ";") // the shell leaves @~/ alone, what is meant is plain
	secret, what := r.paths.class(s.dir, file, true) == classSecret, c.name+" sends "+cmdline.Show(file)
	r.flagIf(s, secret, SendSecret, what+", which holds credentials", c.span)
	r.flagIf(s, !secret && leaves, SendFile, what, c.span)
}

func (r *reader) sendsInput(s *scope, c *call) {
	if leavesMachine(c.words) && s.input.kind != nothing {
		r.flagIf(s, s.input.secret, SendSecret, c.name+" sends credentials", c.span)
		r.flag(s, SendFile, c.name+" sends what another command prints", c.span)
	}
}

// download: what an option does not say is done by the operands of httpie and its like.
func (r *reader) download(s *scope, c *call) {
	r.flagIf(s, r.secret && anyWord(c.words, cmdline.Unknown) && leavesMachine(c.words), SendSecret, c.name+" sends credentials", c.span)
	for _, w := range c.args.Operands {
		if strings.HasSuffix(w.Text, "@-") {
			r.sendsInput(s, c)
		}
		_, file, ok := strings.Cut(w.Text, "@")
		r.flagIf(s, ok && !strings.Contains(w.Text, "://") && r.paths.class(s.dir, file, true) == classSecret,
			SendSecret, c.name+" sends credentials", c.span)
	}

	// Files that hold a download are remembered, so that running them is known for what it is.
	if c.name == "wget" && !c.args.Has("-O", "--output-document") || c.name == "curl" && c.args.Has("-O", "--remote-name") {
		for _, w := range c.args.Operands {
			if p := s.join(path.Base(w.Text)); p != "" {
				r.files[p] = flow{kind: download}
			}
		}
	}
	if o, _ := c.args.Find("-o", "--output", "-O", "--output-document"); !o.Valued || o.Value.Text == "-" {
		s.output.add(flow{kind: download})
	} else if c.name != "aria2c" {
		r.made(s, o.Value.Text, flow{kind: download})
	}
}

// netcat is nc, telnet and socat.
func (r *reader) netcat(s *scope, c *call) {
	r.flagIf(s, c.name == "socat" && anyWord(c.words, func(t string) bool {
		t = strings.ToUpper(t)
		return strings.Contains(t, "EXEC:") || strings.HasPrefix(t, "SYSTEM:") || strings.HasPrefix(t, "SHELL:")
	}), ConnectShell, "socat joins a program to the network", c.span)
	if c.args.Has("-z") {
		return
	}
	r.flagIf(s, s.input.interactive, ConnectShell, "joins an interactive shell to the network", c.span)
	if anyWord(c.words, isLocal) || len(c.words) == 0 || c.name == "openssl" && c.words[0].Text != "s_client" {
		return
	}
	r.flagIf(s, s.input.secret, SendSecret, "sends credentials", c.span)
	r.connected = true
	r.flag(s, ConnectRaw, c.name+" opens a raw connection", c.span)
}

// xargs runs its operands with what it reads as further arguments.
func (r *reader) xargs(s *scope, c *call) {
	argv := c.args.Operands
	if len(argv) == 0 {
		s.output.add(flow{kind: something})
		return
	}
	given := r.inputWords(s, c.span, c.args.Has("-I", "--replace", "-i", "-0", "--null", "-d", "--delimiter"))
	inner := s.within("xargs")
	inner.input = flow{kind: something}
	if o, ok := c.args.Find("-I", "--replace", "-i"); ok {
		mark := "{}"
		if o.Valued && o.Value.Text != "" {
			mark = o.Value.Text
		}
		for _, w := range given {
			r.call(inner, replaced(argv, mark, cmdline.Quoted(w.Text)), c.span)
		}
	} else {
		r.call(inner, slices.Concat(argv, given), c.span)
		for _, hint := range strings.Fields(s.input.hint) {
			r.call(inner, append(argv[:len(argv):len(argv)], cmdline.At(hint, c.span)), c.span)
		}
	}
	s.output.add(inner.output)
}

// inputWords are the words that standard input holds. With lines, only the end of a line ends one.
func (r *reader) inputWords(s *scope, span cmdline.Span, lines bool) []cmdline.Word {
	in := s.input
	if in.kind == names { // one of them: the directory itself where nothing was left out
		one := in.root
		if in.filtered && in.hint == ".git" {
			one = strings.TrimSuffix(one, "/") + "/.git"
		} else if in.filtered && one == "/" {
			one = "/usr/lib/" + hole // something of the system
		} else if in.filtered {
			one = strings.TrimSuffix(one, "/") + "/" + hole
		}
		return []cmdline.Word{cmdline.At(one, span)}
	}
	if in.kind != literal {
		return []cmdline.Word{cmdline.At(gap, span)}
	}
	fields, trim := strings.Fields(strings.ReplaceAll(in.text, "\x00", " ")), func(t string) string { return strings.Trim(t, `'"`) }
	if lines && len(fields) > 0 {
		fields = strings.FieldsFunc(in.text, func(c rune) bool { return c == '\n' || c == 0 })
		trim = func(t string) string { return strings.TrimLeft(t, " \t") }
	}
	fields = fields[:min(len(fields), maxWords)]
	for i := range fields {
		fields[i] = trim(fields[i])
	}
	return wordsAt(fields, span)
}

// parallel runs a script for each word after ::: or each line that it reads.
func (r *reader) parallel(s *scope, c *call) {
	argv, given := c.args.Operands, []cmdline.Word(nil)
	if i := slices.IndexFunc(argv, func(w cmdline.Word) bool { return strings.HasPrefix(w.Text, ":::") }); i >= 0 {
		argv, given = argv[:i], argv[i+1:]
	}
	if len(argv) > 1 {
		r.call(s.within(c.name), argv, c.span)
	}
	script := strings.Join(cmdline.Texts(argv), " ")
	if script == "" {
		script = "{}"
	} else if !strings.Contains(script, "{") {
		script += " {}"
	}
	if len(given) == 0 || len(given) > maxTexts {
		given = r.inputWords(s, c.span, false)
	}
	for _, w := range given {
		t := cmdline.Quoted(w.Text)
		text := strings.NewReplacer("{}", t, "{.}", t, "{/}", t, "{1}", t).Replace(script)
		r.shell(s, cmdline.At(text, c.span), c.name)
	}
}

// looseCommand finds the command among the words of a program with options of all kinds.
func (r *reader) looseCommand(s *scope, c *call) {
	debugs := c.name == "gdb"
	if debugs || c.name == "lldb" {
		for _, line := range s.input.lines() {
			r.debuggerCommand(s, c, cmdline.At(line, c.span))
		}
	}
	if _, argv := until(c.words, "--", "--args"); len(argv) > 0 {
		if strings.Contains(argv[0].Text, " ") {
			r.shell(s, cmdline.Join(argv, c.span), c.name)
		}
		r.call(s.within(c.name), argv, c.span)
		return
	}
	for i, w := range c.words {
		name, _ := programName(w.Text)
		switch {
		case w.Text == "" || w.Text[0] == '-' || strings.Contains(w.Text, "=") || c.name == "perf" && i == 0:
		case strings.Contains(w.Text, " "):
			r.perhapsShell(s.apart(c.name, w.Span, s.input), w.Text, c.name)
		case !debugs && (findProgram(name) != nil || strings.Contains(w.Text, "/")):
			r.call(s.within(c.name), c.words[i:], c.span)
			return
		}
	}
}

func (r *reader) debuggerCommand(s *scope, c *call, w cmdline.Word) {
	t := strings.TrimSpace(w.Text)
	for _, prefix := range []string{"shell ", "!", "pipe ", "platform shell "} {
		if rest, ok := strings.CutPrefix(t, prefix); ok {
			r.shell(s, w.With(rest), "gdb")
		}
	}
	if rest, ok := strings.CutPrefix(t, "python "); ok {
		r.code(s, c, "python", w.With(rest))
	}
}

// daemon is start-stop-daemon: the program is an option's value, its arguments follow --.
func (r *reader) daemon(s *scope, c *call) {
	program, ok := c.args.Find("-x", "--exec")
	if !ok {
		program, _ = c.args.Find("-a", "--startas")
	}
	if program.Valued {
		_, words := until(c.words, "--")
		r.call(s.within(c.name), append([]cmdline.Word{program.Value}, words...), c.span)
	}
}

// schedule is crontab and at: what they are given runs later, outside the sandbox.
func (r *reader) schedule(s *scope, c *call) {
	if c.name == "crontab" && len(c.words) == 0 && s.input.kind == nothing {
		return
	}
	r.flag(s, RunOutside, c.name+" runs commands later, outside the sandbox", c.span)
	text := s.input.hint
	if s.input.kind == literal {
		text = s.input.text
	}
	if c.name != "crontab" {
		r.shell(s, cmdline.At(text, c.span), c.name)
		return
	}
	for line := range strings.SplitSeq(text, "\n") {
		switch fields := strings.Fields(line); {
		case len(fields) > 1 && fields[0][0] == '@':
			r.shell(s, cmdline.At(strings.Join(fields[1:], " "), c.span), c.name)
		case len(fields) > 5 && line[0] != '#':
			r.shell(s, cmdline.At(strings.Join(fields[5:], " "), c.span), c.name)
		}
	}
}

// terminal is tmux and screen: their server may run outside the sandbox.
func (r *reader) terminal(s *scope, c *call) {
	r.flag(s, RunOutside, c.name+"'s server may run outside the sandbox", c.span)
	for i, w := range c.words {
		if strings.Contains(w.Text, " ") && !strings.HasPrefix(c.words[0].Text, "set") {
			r.shell(s, w, c.name)
		}
		if i > 0 && isSuspect(w.Text) {
			r.call(s.within(c.name), c.words[i:], c.span)
			return
		}
	}
}

func (r *reader) expectCode(s *scope, w cmdline.Word) {
	for _, word := range []string{"spawn ", "exec ", "system "} {
		if _, rest, ok := strings.Cut(w.Text, word); ok {
			command, _, _ := strings.Cut(rest, ";")
			r.shell(s, w.With(strings.Trim(command, `"{} `)), "expect")
		}
	}
}
