package effect

import (
	"slices"
	"strings"

	"github.com/multiollama/mcp-server/shell-exec/internal/cmdline"
)

// awk's program is its first operand, unless an option gives it.
func (r *reader) awk(s *scope, c *call) {
	if o, ok := c.args.Find("-i", "--include"); ok && o.Value.Text == "inplace" {
		for _, w := range c.args.Operands {
			r.write(s, w, "awk -i inplace")
		}
	}
	if len(c.args.Operands) > 0 && !c.args.Has("-e", "--source", "-f", "--file") {
		r.awkCode(s, c, c.args.Operands[0])
	}
}

var awkRuns = late(`system\s*\(\s*("(?:[^"\\]|\\.)*")?|\|\s*&?\s*("(?:[^"\\]|\\.)*")|("(?:[^"\\]|\\.)*")\s*\|\s*&?\s*getline|>>?\s*("(?:[^"\\]|\\.)*")`)

var awkEscapes = strings.NewReplacer(`\"`, `"`, `\\`, `\`)

func (r *reader) awkCode(s *scope, c *call, w cmdline.Word) {
	code := cmdline.Plain(w.Text)
	for _, at := range awkRuns().FindAllStringSubmatchIndex(code, -1) {
		for kind := range len(at)/2 - 1 {
			from, to := at[2*kind+2], at[2*kind+3]
			if from < 0 || to-from < 2 {
				continue
			}
			text := awkEscapes.Replace(code[from+1 : to-1])
			if rest := strings.TrimLeft(code[to:], " \t"); kind == 0 && !strings.HasPrefix(rest, ")") {
				r.awkJoined(s, w, text)
				continue
			}
			r.awkRun(s, c, w, kind, text)
		}
		if strings.HasPrefix(code[at[0]:], "system") && at[2] < 0 {
			r.flag(s, RunUnknownCode, "awk runs a text that is not known before", c.span)
			r.awkGuess(s, c, code)
		}
	}
	if containsAny(code, "/inet/tcp/", "/inet/udp/") {
		r.flag(s, ConnectShell, "awk opens a connection", c.span)
	}
	if strings.Contains(code, "print") {
		s.output.add(flow{kind: something, hint: strings.Join(append(literalsOf(code), s.input.text), "\n")})
	}
}

// awkJoined is system("…" $1): what is put behind the text is what is read, or not known.
func (r *reader) awkJoined(s *scope, w cmdline.Word, text string) {
	r.shell(s, w.With(text+hole), "awk")
	if s.input.kind != literal {
		return
	}
	for i, field := range strings.Fields(s.input.text) {
		if i < maxTexts {
			r.shell(s, w.With(text+field), "awk")
		}
	}
}

// awkGuess looks at what system() may be given: literals, variables, lines that are read.
func (r *reader) awkGuess(s *scope, c *call, code string) {
	texts := literalsOf(code)
	for _, o := range c.args.Options {
		if _, v, ok := strings.Cut(o.Value.Text, "="); ok {
			texts = append(texts, v)
		}
	}
	if s.input.kind == literal {
		texts = append(texts, strings.Split(s.input.text, "\n")...)
	}
	inner := s.within("awk")
	inner.exact, inner.outer, inner.input = false, c.span, flow{}
	for _, text := range texts {
		r.perhapsShell(inner, text, "awk")
	}
}

func (r *reader) awkRun(s *scope, c *call, w cmdline.Word, kind int, text string) {
	const redirected = 3
	if kind == redirected {
		r.write(s, w.With(text), "awk writes")
		return
	}
	name, _ := programName(text)
	if row, _ := r.table.Find([]cmdline.Word{w.With(name)}); row != nil && row.Model == "shell" {
		r.flag(s, RunOutput, "awk pipes text into a shell", c.span)
		for _, text := range literalsOf(w.Text) {
			r.perhapsShell(s, text, "awk")
		}
		return
	}
	r.shell(s, w.With(text), "awk")
}

var (
	sedRuns   = late(`(?m)(?:^|[;{]|^\s*(?:\d+|\$|/[^/]*/)(?:,(?:\d+|\$|/[^/]*/))?)\s*e\s*([^\s=;}].*)$`)
	sedWrites = late(`(?m)(?:^|[;{/]|\d)\s*[wW]\s+(/\S+)`)
)

// sed's script is its first operand, unless an option gives it.
func (r *reader) sed(s *scope, c *call) {
	files := c.args.Operands
	if !c.args.Has("-e", "--expression", "-f", "--file") && len(files) > 0 {
		if files[0].Text == "" && len(files) > 1 { // sed -i '' of other systems
			files = files[1:]
		}
		r.sedCode(s, c, files[0])
		files = files[1:]
	}
	inPlace := c.args.Has("-i", "--in-place")
	for _, w := range files {
		if inPlace {
			r.write(s, cmdline.At(w.Text, c.span), "sed -i")
		} else {
			r.readArgument(s, w)
		}
	}
}

func (r *reader) sedCode(s *scope, c *call, w cmdline.Word) {
	text := cmdline.Plain(w.Text)
	if m := sedRuns().FindStringSubmatch(text); m != nil {
		r.shell(s, w.With(m[1]), "sed e")
	}
	for _, one := range substitutionsOf(text) {
		if at := strings.IndexByte(one.flags, 'w'); at >= 0 && strings.HasPrefix(strings.TrimSpace(one.flags[at+1:]), "/") {
			r.write(s, w.With(strings.TrimSpace(one.flags[at+1:])), "sed w")
			one.flags = one.flags[:at]
		}
		if strings.Contains(one.flags, "e") {
			r.flag(s, RunOutput, "sed's e flag runs what it finds as a command", c.span)
			inner := s.within("sed")
			inner.exact, inner.outer, inner.input = false, c.span, flow{}
			r.perhapsShell(inner, one.with, "sed e")
		}
	}
	if s.input.kind == literal && len(s.input.text) <= maxHint {
		r.sedPrints(s, text)
	}
	for _, m := range sedWrites().FindAllStringSubmatch(text, -1) {
		r.write(s, w.With(m[1]), "sed w")
	}
}

// sedPrints follows substitutions of plain texts.
func (r *reader) sedPrints(s *scope, text string) {
	out := s.input.text
	for _, one := range substitutionsOf(text) {
		out = strings.ReplaceAll(out, one.from, one.with)
	}
	s.output.add(flow{kind: something, hint: out})
}

// substitute is one s command of sed.
type substitute struct{ from, with, flags string }

// substitutionsOf finds the s commands of a script; where it is not certain that one
// begins, it takes it for one.
func substitutionsOf(text string) []substitute {
	var all []substitute
	for i := 0; i+1 < len(text); i++ {
		begins := i == 0 || strings.IndexByte(" \t\n;{}/0123456789$!,~I", text[i-1]) >= 0
		if text[i] != 's' || !begins || strings.IndexByte(" \t\n\\;}", text[i+1]) >= 0 || isLetter(text[i+1]) {
			continue
		}
		end := text[i+1]
		from, rest, ok := delimited(text[i+2:], end)
		with, rest, ok2 := delimited(rest, end)
		if !ok || !ok2 {
			continue
		}
		if at := strings.IndexAny(rest, ";}\n"); at >= 0 {
			rest = rest[:at]
		}
		all = append(all, substitute{from, with, rest})
	}
	return all
}

func isLetter(c byte) bool { return c|32 >= 'a' && c|32 <= 'z' || c >= '0' && c <= '9' }

// delimited is text up to the delimiter, without the backslashes before others of it.
func delimited(text string, end byte) (before, rest string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == end:
			return b.String(), text[i+1:], true
		case text[i] == '\\' && i+1 < len(text):
			if i++; text[i] != end {
				b.WriteByte('\\')
			}
		}
		b.WriteByte(text[i])
	}
	return "", "", false
}

// editor runs commands after !, from its options and from standard input.
func (r *reader) editor(s *scope, c *call) {
	for _, w := range c.words {
		if len(w.Text) > 1 && w.Text[0] == '+' {
			r.editorCommand(s, c, w.From(1))
		}
	}
	if slices.Contains([]string{"less", "more", "most", "view"}, c.name) {
		return
	}
	if s.input.kind == literal {
		for _, line := range strings.Split(s.input.text, "\n") {
			line = strings.TrimLeft(line, ": 0123456789,$%")
			if at := strings.IndexByte(line, '!'); at >= 0 && at < 4 {
				r.shell(s, cmdline.At(line[at+1:], c.span), c.name)
			}
		}
	}
	for _, w := range c.args.Operands {
		if w.Text != "" && w.Text[0] != '+' {
			r.write(s, w, c.name)
		}
	}
}

// editorFile is a file of editor commands: one that the script has made is read.
func (r *reader) editorFile(s *scope, c *call, w cmdline.Word) {
	f, ok := r.file(s, w.Text)
	if w.Text == pipeName && r.lastProcess != nil {
		f, ok = r.processes[r.lastProcess], true
	}
	if ok && f.kind == literal {
		for _, line := range strings.Split(f.text, "\n") {
			r.editorCommand(s, c, w.With(line))
		}
	}
}

var editorWrites = late(`^(?:w|wq|write|sav|saveas|x|up|update|wa)!?\s+(?:>>\s*)?(/\S+)`)

var editorTerminal = late(`^(?:\w+\s+)*term(?:inal)?!?\s+(?:\+\+\S+\s+)*(.+)`)

func (r *reader) editorCommand(s *scope, c *call, w cmdline.Word) {
	t := strings.TrimLeft(w.Text, ": ")
	at := strings.IndexByte(t, '!')
	name, _, _ := strings.Cut(strings.TrimSpace(t[at+1:]), " ")
	if name, _ = programName(name); at == 0 || at > 0 && (containsAny(t, "r !", "%!", "|!", "w !", "silent !", "sil !") || slices.Contains(often, name)) {
		r.shell(s, w.With(t[at+1:]), c.name)
	}
	if m := editorWrites().FindStringSubmatch(t); m != nil {
		r.write(s, w.With(m[1]), c.name+" writes")
	}
	if m := editorTerminal().FindStringSubmatch(t); m != nil {
		r.shell(s, w.With(m[1]), c.name)
	}
	if strings.HasPrefix(t, "exe") {
		for _, text := range literalsOf(concatenation().ReplaceAllString(t, "")) {
			r.editorCommand(s, c, w.With(text))
		}
	}
	if containsAny(t, "system(", "shell-command", "call-process", "start-process", "delete-directory", "delete-file", "os.execute", "py3", "python", "perl", "lua", "job_start", "termopen", "jobstart") {
		r.code(s, c, c.name, w.With(t))
		for _, text := range literalsOf(t) {
			r.perhapsShell(s, text, c.name)
		}
	}
}

var (
	sqlShells = []string{".shell ", ".system ", `\! `, "system ", `\!`, "!"}
	sqlLosses = late(`(?i)\bDROP\s+(DATABASE|TABLE|SCHEMA)\b|\bTRUNCATE\b|\bCOPY\b.*\bPROGRAM\b|\bdropDatabase\(|\.drop\(\)|\bdeleteMany\(\{\}\)|\bFLUSHALL\b`)
	sqlDelete = late(`(?i)^\s*DELETE\s+FROM\b`)
)

// sql runs statements from its arguments and from standard input.
func (r *reader) sql(s *scope, c *call) {
	texts := cmdline.Texts(c.words)
	if s.input.kind == literal {
		texts = append(texts, strings.Split(s.input.text, "\n")...)
	}
	for _, t := range texts {
		t = strings.TrimSpace(t)
		for _, prefix := range sqlShells {
			if script, ok := strings.CutPrefix(t, prefix); ok {
				r.shell(s, cmdline.At(script, c.span), c.name)
				break
			}
		}
		if strings.Contains(strings.ToUpper(t), "PROGRAM") {
			for _, text := range literalsOf(t) {
				inner := s.within(c.name)
				inner.exact, inner.outer = false, c.span
				r.perhapsShell(inner, text, c.name)
			}
		}
		if sqlLosses().MatchString(t) || sqlDelete().MatchString(t) && !strings.Contains(strings.ToUpper(t), "WHERE") {
			r.flag(s, DestroyData, c.name+" destroys what is in a database", c.span)
		}
	}
}

// makeProgram runs recipes; those on the command line are read.
func (r *reader) makeProgram(s *scope, c *call) {
	for _, w := range c.args.Operands {
		name, v, ok := strings.Cut(w.Text, "=")
		if ok && slices.Contains([]string{"SHELL", "CC", "CXX", ".SHELLFLAGS", "MAKE"}, name) {
			r.shell(s, w.With(v), "make "+name)
		}
	}
	if !c.args.Has("-f", "--file", "--makefile") {
		for _, name := range []string{"GNUmakefile", "makefile", "Makefile", "justfile", "Taskfile.yml"} {
			if f, ok := r.file(s, name); ok && f.kind == literal {
				r.makefile(s, indented().ReplaceAllString(f.text, "\t"), c.span)
			}
		}
	}
	r.flag(s, RunFile, c.name+" runs recipes that have not been read", c.span)
}

func (r *reader) makefileNamed(s *scope, c *call, w cmdline.Word) {
	f, ok := r.file(s, w.Text)
	switch {
	case w.Text == "-" || isStandardInput(w.Text):
		f, ok = s.input, true
	case w.Text == pipeName && r.lastProcess != nil:
		f, ok = r.processes[r.lastProcess], true
	}
	if ok && f.kind == literal {
		r.makefile(s, f.text, c.span)
	}
	if ok && f.kind == download {
		r.flag(s, RunDownloaded, "make runs recipes straight from the network", c.span)
	}
}

var indented = late(`(?m)^ +(?:- )?`)

var makeRuns = late(`\$\(shell\s+([^)]*)\)|(?m)^\t[@\-+]*(.*)$|;\s*[@\-+]*(.+)$|!=\s*(.+)$`)

func (r *reader) makefile(s *scope, text string, span cmdline.Span) {
	for _, m := range makeRuns().FindAllStringSubmatch(text, -1) {
		for _, script := range m[1:] {
			if script != "" {
				r.shell(s, cmdline.At(strings.ReplaceAll(script, "$$", "$"), span), "a recipe of make")
			}
		}
	}
}

// cmakeCommand is cmake -E as the command that it stands for.
func cmakeCommand(argv []cmdline.Word) []cmdline.Word {
	stands := map[string]string{"remove_directory": "rm", "rm": "rm", "remove": "rm", "copy": "cp", "copy_directory": "cp", "rename": "mv", "touch": "touch", "make_directory": "mkdir", "env": "env", "time": "time"}
	name, ok := stands[argv[0].Text]
	if !ok {
		return nil
	}
	out := []cmdline.Word{argv[0].With(name)}
	if argv[0].Text == "remove_directory" {
		out = append(out, argv[0].With("-r"))
	}
	return append(out, argv[1:]...)
}

// filter is programs that print another form of what they read.
func (r *reader) filter(s *scope, c *call) {
	switch c.name {
	case "gunzip", "zcat", "bzcat", "xzcat", "zstdcat", "gzip", "bzip2", "xz", "zstd", "lz4", "brotli":
		return // to compress is not to hide: as good as what they read
	case "tr":
		r.translate(s, c)
		return
	case "openssl":
		if len(c.words) > 0 && c.words[0].Text == "s_client" && s.input.kind == nothing {
			r.netcat(s, c)
			s.output.add(flow{kind: download})
			return
		}
	case "xxd":
		if len(c.args.Operands) == 2 {
			r.write(s, c.args.Operands[1], c.name+" to")
		}
	case "base64", "base32", "uudecode", "rev", "gpg":
	default:
		return
	}
	if !decodes(c) {
		return
	}
	r.flag(s, Decode, c.name+" decodes", c.span)
	if text, ok := decodedText(c.name, s.input); ok {
		s.output.add(flow{kind: literal, text: text, decoded: true})
		return
	}
	if s.input.kind == download {
		s.output.add(flow{kind: download})
		return
	}
	s.output.add(flow{kind: decoding})
}

func decodes(c *call) bool {
	words := cmdline.Texts(c.words)
	switch c.name {
	case "base64", "base32":
		return c.args.Has("-d", "-D", "--decode") || slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "--d") })
	case "xxd":
		return slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "-") && strings.Contains(w, "r") })
	case "openssl":
		return slices.Contains(words, "-d")
	case "gpg":
		return c.args.Has("-d", "--decrypt")
	}
	return true
}

// translate is tr: simple sets are followed, others hide the text.
func (r *reader) translate(s *scope, c *call) {
	if s.input.kind != literal {
		return
	}
	if len(c.args.Operands) == 2 {
		if text, ok := translated(s.input.text, c.args.Operands[0].Text, c.args.Operands[1].Text); ok {
			s.output.add(flow{kind: literal, text: text, decoded: true})
			return
		}
	}
	if c.args.Has("-d") && len(c.args.Operands) == 1 {
		if set := cmdline.Decode(cmdline.Plain(c.args.Operands[0].Text)); !containsAny(set, "-", "[") {
			s.output.add(flow{kind: literal, text: strings.Map(func(ch rune) rune {
				if strings.ContainsRune(set, ch) {
					return -1
				}
				return ch
			}, s.input.text)})
			return
		}
	}
	s.output.add(flow{kind: decoding})
}

func translated(text, from, to string) (string, bool) {
	a, okA := characterSet(from)
	b, okB := characterSet(to)
	if !okA || !okB || len(b) == 0 {
		return "", false
	}
	return strings.Map(func(ch rune) rune {
		if i := slices.Index(a, ch); i >= 0 {
			return b[min(i, len(b)-1)]
		}
		return ch
	}, text), true
}

// characterSet reads a-z and single characters.
func characterSet(set string) ([]rune, bool) {
	in := []rune(cmdline.Decode(cmdline.Plain(set)))
	if strings.Contains(string(in), "[:") {
		return nil, false
	}
	var out []rune
	for i := 0; i < len(in); i++ {
		if i+2 < len(in) && in[i+1] == '-' && in[i] < in[i+2] && in[i+2] < 128 {
			for ch := in[i]; ch <= in[i+2]; ch++ {
				out = append(out, ch)
			}
			i += 2
			continue
		}
		out = append(out, in[i])
	}
	return out, true
}
