package effect

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/multiollama/mcp-server/shell-exec/internal/cmdline"
)

var (
	awkRuns = late(`system\s*\(\s*("(?:[^"\\]|\\.)*")?|\|\s*&?\s*("(?:[^"\\]|\\.)*")|("(?:[^"\\]|\\.)*")\s*\|\s*&?\s*getline|` +
		`>>?\s*("(?:[^"\\]|\\.)*")`)
	awkEscapes = strings.NewReplacer(`\"`, `"`, `\\`, `\`)
)

// awk's program is its first operand, unless an option gives it.
func (r *reader) awk(s *scope, c *call) {
	if o, _ := c.args.Find("-i", "--include"); o.Value.Text == "inplace" {
		r.writeAll(s, c.args.Operands, "awk -i inplace")
	}
	if len(c.args.Operands) > 0 && !c.args.Has("-e", "--source", "-f", "--file") {
		r.awkCode(s, c, c.args.Operands[0])
	}
}

func (r *reader) awkCode(s *scope, c *call, w cmdline.Word) {
	code := cmdline.Literal(w.Text)
	for _, at := range awkRuns().FindAllStringSubmatchIndex(code, -1) {
		for kind := range len(at)/2 - 1 {
			if from, to := at[2*kind+2], at[2*kind+3]; from >= 0 && to-from >= 2 {
				text := awkEscapes.Replace(code[from+1 : to-1])
				joined := kind == 0 && !strings.HasPrefix(strings.TrimLeft(code[to:], " \t"), ")")
				r.awkRun(s, c, w, kind, text, joined)
			}
		}
		if strings.HasPrefix(code[at[0]:], "system") && at[2] < 0 {
			r.awkRunsUnknown(s, c, code)
		}
	}
	r.flagIf(s, containsAny(code, "/inet/tcp/", "/inet/udp/"), ConnectShell, "awk opens a connection", c.span)
	if strings.Contains(code, "print") {
		s.output.add(flow{kind: something, hint: strings.Join(append(literalsOf(code), s.input.text), "\n")})
	}
}

// awkRunsUnknown: what system gets may be a literal, a variable, or a line that is read.
func (r *reader) awkRunsUnknown(s *scope, c *call, code string) {
	r.flag(s, RunUnknownCode, "awk runs a text that is not known before", c.span)
	texts := literalsOf(code)
	for _, o := range c.args.Options {
		if _, v, ok := strings.Cut(o.Value.Text, "="); ok {
			texts = append(texts, v)
		}
	}
	for _, text := range append(texts, s.input.lines()...) {
		r.perhapsShell(s.apart("awk", c.span, flow{}), text, "awk")
	}
}

func (r *reader) awkRun(s *scope, c *call, w cmdline.Word, kind int, text string, joined bool) {
	const redirected = 3
	name, _ := programName(text)
	row := findProgram(name)
	switch {
	case joined: // system("…" $1): what is put behind the text is what is read, or not known
		r.shell(s, w.With(text+hole), "awk")
		if s.input.kind == literal {
			fields := strings.Fields(s.input.text)
			for _, field := range fields[:min(len(fields), maxTexts)] {
				r.shell(s, w.With(text+field), "awk")
			}
		}
	case kind == redirected:
		r.write(s, w.With(text), "awk writes")
	case row != nil && row.Model == "shell":
		r.flag(s, RunOutput, "awk pipes text into a shell", c.span)
		for _, text := range literalsOf(w.Text) {
			r.perhapsShell(s, text, "awk")
		}
	default:
		r.shell(s, w.With(text), "awk")
	}
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
	text := cmdline.Literal(w.Text)
	if m := sedRuns().FindStringSubmatch(text); m != nil {
		r.shell(s, w.With(m[1]), "sed e")
	}
	out := s.input.text
	for _, one := range substitutionsOf(text) {
		flags, file, writes := strings.Cut(one.flags, "w")
		if file = strings.TrimSpace(file); !writes || !strings.HasPrefix(file, "/") {
			flags = one.flags
		} else {
			r.write(s, w.With(file), "sed w")
		}
		if strings.Contains(flags, "e") {
			r.flag(s, RunOutput, "sed's e flag runs what it finds as a command", c.span)
			r.perhapsShell(s.apart("sed", c.span, flow{}), one.with, "sed e")
		}
		if len(s.input.text) <= maxHint {
			out = strings.ReplaceAll(out, one.from, one.with)
		}
	}
	if s.input.kind == literal && len(s.input.text) <= maxHint {
		s.output.add(flow{kind: something, hint: out})
	}
	for _, file := range groups(sedWrites(), text, -1) {
		r.write(s, w.With(file), "sed w")
	}
}

// substitute is one s command of sed.
type substitute struct{ from, with, flags string }

// substitutionsOf finds the s commands of a script; where it is not certain that one
// begins, it takes it for one.
func substitutionsOf(text string) []substitute {
	var all []substitute
	for i := 0; i+1 < len(text); i++ {
		begins := i == 0 || strings.IndexByte(" \t\n;{}/0123456789$!,~I", text[i-1]) >= 0
		end := text[i+1]
		isLetter := end|32 >= 'a' && end|32 <= 'z' || end >= '0' && end <= '9'
		if text[i] != 's' || !begins || isLetter || strings.IndexByte(" \t\n\\;}", end) >= 0 {
			continue
		}
		from, rest, ok := delimited(text[i+2:], end)
		with, rest, ok2 := delimited(rest, end)
		if ok && ok2 {
			if at := strings.IndexAny(rest, ";}\n"); at >= 0 {
				rest = rest[:at]
			}
			all = append(all, substitute{from, with, rest})
		}
	}
	return all
}

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
	for _, line := range s.input.lines() {
		line = strings.TrimLeft(line, ": 0123456789,$%")
		if at := strings.IndexByte(line, '!'); at >= 0 && at < 4 {
			r.shell(s, cmdline.At(line[at+1:], c.span), c.name)
		}
	}
	for _, w := range c.args.Operands {
		if !strings.HasPrefix(w.Text, "+") {
			r.write(s, w, c.name)
		}
	}
}

var (
	editorWrites   = late(`^(?:w|wq|write|sav|saveas|x|up|update|wa)!?\s+(?:>>\s*)?(/\S+)`)
	editorTerminal = late(`^(?:\w+\s+)*term(?:inal)?!?\s+(?:\+\+\S+\s+)*(.+)`)
	editorCode     = late(`system\(|shell-command|call-process|start-process|delete-directory|delete-file|os\.execute|py3|python|perl|lua|` +
		`job_start|termopen|jobstart`)
)

func (r *reader) editorCommand(s *scope, c *call, w cmdline.Word) {
	t := strings.TrimLeft(w.Text, ": ")
	before, escaped, escapes := strings.Cut(t, "!")
	name, _, _ := strings.Cut(strings.TrimSpace(escaped), " ")
	if escapes && (before == "" || isSuspect(name) || containsAny(t, "r !", "%!", "|!", "w !", "silent !", "sil !")) {
		r.shell(s, w.With(escaped), c.name)
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
	if editorCode().MatchString(t) {
		r.code(s, c, c.name, w.With(t))
		for _, text := range literalsOf(t) {
			r.perhapsShell(s, text, c.name)
		}
	}
}

var (
	sqlShells = []string{".shell ", ".system ", `\! `, "system ", `\!`, "!"}
	sqlLosses = late(`(?i)\bDROP\s+(DATABASE|TABLE|SCHEMA)\b|\bTRUNCATE\b|\bCOPY\b.*\bPROGRAM\b|\bdropDatabase\(|\.drop\(\)|` +
		`\bdeleteMany\(\{\}\)|\bFLUSHALL\b`)
	sqlDelete = late(`(?i)^\s*DELETE\s+FROM\b`)
)

// sql runs statements from its arguments and from standard input.
func (r *reader) sql(s *scope, c *call) {
	for _, t := range append(cmdline.Texts(c.words), s.input.lines()...) {
		t = strings.TrimSpace(t)
		for _, prefix := range sqlShells {
			if script, ok := strings.CutPrefix(t, prefix); ok {
				r.shell(s, cmdline.At(script, c.span), c.name)
				break
			}
		}
		upper := strings.ToUpper(t)
		if strings.Contains(upper, "PROGRAM") {
			for _, text := range literalsOf(t) {
				r.perhapsShell(s.apart(c.name, c.span, s.input), text, c.name)
			}
		}
		r.flagIf(s, sqlLosses().MatchString(t) || sqlDelete().MatchString(t) && !strings.Contains(upper, "WHERE"),
			DestroyData, c.name+" destroys what is in a database", c.span)
	}
}

var (
	indented = late(`(?m)^ +(?:- )?`)
	makeRuns = late(`\$\(shell\s+([^)]*)\)|(?m)^\t[@\-+]*(.*)$|;\s*[@\-+]*(.+)$|!=\s*(.+)$`)
)

// makeProgram runs recipes; those on the command line are read.
func (r *reader) makeProgram(s *scope, c *call) {
	for _, w := range c.args.Operands {
		if name, v, _ := strings.Cut(w.Text, "="); slices.Contains([]string{"SHELL", "CC", "CXX", ".SHELLFLAGS", "MAKE"}, name) {
			r.shell(s, w.With(v), "make "+name)
		}
	}
	if !c.args.Has("-f", "--file", "--makefile") {
		for _, name := range []string{"GNUmakefile", "makefile", "Makefile", "justfile", "Taskfile.yml"} {
			if f, _ := r.file(s, name); f.kind == literal {
				r.makefile(s, indented().ReplaceAllString(f.text, "\t"), c.span)
			}
		}
	}
	r.flag(s, RunFile, c.name+" runs recipes that have not been read", c.span)
}

func (r *reader) makefileNamed(s *scope, c *call, w cmdline.Word) {
	f, _ := r.contentOrInput(s, w.Text)
	if w.Text == "-" {
		f = s.input
	}
	if f.kind == literal {
		r.makefile(s, f.text, c.span)
	}
	r.flagIf(s, f.kind == download, RunDownloaded, "make runs recipes straight from the network", c.span)
}

func (r *reader) makefile(s *scope, text string, span cmdline.Span) {
	for _, script := range groups(makeRuns(), text, -1) {
		r.shell(s, cmdline.At(strings.ReplaceAll(script, "$$", "$"), span), "a recipe of make")
	}
}

// filter is programs that print another form of what they read. To compress is not to hide: what gzip and its like
// print is as good as what they read.
func (r *reader) filter(s *scope, c *call) {
	words := cmdline.Texts(c.words)
	decodes := false
	switch c.name {
	case "tr":
		r.translate(s, c)
	case "openssl":
		if len(words) > 0 && words[0] == "s_client" && s.input.kind == nothing {
			r.netcat(s, c)
			s.output.add(flow{kind: download})
			return
		}
		decodes = slices.Contains(words, "-d")
	case "xxd":
		if len(c.args.Operands) == 2 {
			r.write(s, c.args.Operands[1], c.name+" to")
		}
		decodes = slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "-") && strings.Contains(w, "r") })
	case "base64", "base32":
		decodes = c.args.Has("-d", "-D", "--decode") || slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "--d") })
	case "gpg":
		decodes = c.args.Has("-d", "--decrypt")
	case "uudecode", "rev":
		decodes = true
	}
	if !decodes {
		return
	}
	r.flag(s, Decode, c.name+" decodes", c.span)
	if text, ok := decodedText(c.name, s.input); ok {
		s.output.add(flow{kind: literal, text: text, decoded: true})
	} else if s.input.kind == download {
		s.output.add(flow{kind: download})
	} else {
		s.output.add(flow{kind: decoding})
	}
}

// decodedText is what a decoder prints for a text that is known.
func decodedText(name string, in flow) (string, bool) {
	if in.kind != literal {
		return "", false
	}
	packed := strings.Join(strings.Fields(in.text), "")
	switch name {
	case "base64", "openssl":
		for _, e := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding} {
			if b, err := e.DecodeString(packed); err == nil {
				return string(b), true
			}
		}
	case "base32":
		b, err := base32.StdEncoding.DecodeString(packed)
		return string(b), err == nil
	case "xxd":
		b, err := hex.DecodeString(packed)
		return string(b), err == nil
	case "rev":
		var out strings.Builder
		for line := range strings.SplitSeq(strings.TrimRight(in.text, "\n"), "\n") {
			runes := []rune(line)
			slices.Reverse(runes)
			out.WriteString(string(runes) + "\n")
		}
		return out.String(), true
	}
	return "", false
}

// translate is tr: simple sets are followed, others hide the text.
func (r *reader) translate(s *scope, c *call) {
	in, operands := s.input, c.args.Operands
	if in.kind != literal {
		return
	}
	if len(operands) == 2 {
		from, okFrom := characterSet(operands[0].Text)
		to, okTo := characterSet(operands[1].Text)
		if okFrom && okTo && len(to) > 0 {
			s.output.add(flow{kind: literal, decoded: true, text: strings.Map(func(ch rune) rune {
				if i := slices.Index(from, ch); i >= 0 {
					return to[min(i, len(to)-1)]
				}
				return ch
			}, in.text)})
			return
		}
	}
	if c.args.Has("-d") && len(operands) == 1 {
		if set := cmdline.Decode(cmdline.Literal(operands[0].Text)); !containsAny(set, "-", "[") {
			s.prints(strings.Map(func(ch rune) rune {
				if strings.ContainsRune(set, ch) {
					return -1
				}
				return ch
			}, in.text))
			return
		}
	}
	s.output.add(flow{kind: decoding})
}

// characterSet reads a-z and single characters.
func characterSet(set string) ([]rune, bool) {
	in := []rune(cmdline.Decode(cmdline.Literal(set)))
	if strings.Contains(string(in), "[:") {
		return nil, false
	}
	var out []rune
	for i := 0; i < len(in); i++ {
		last := in[i]
		if i+2 < len(in) && in[i+1] == '-' && in[i] < in[i+2] && in[i+2] < 128 {
			last = in[i+2]
		}
		for ch := in[i]; ch <= last; ch++ {
			out = append(out, ch)
		}
		if last != in[i] {
			i += 2
		}
	}
	return out, true
}
