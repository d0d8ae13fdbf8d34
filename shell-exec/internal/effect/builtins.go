package effect

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"mvdan.cc/sh/v3/syntax"

	"github.com/multiollama/mcp-server/shell-exec/internal/cmdline"
	"github.com/multiollama/mcp-server/shell-exec/internal/cmdspec"
)

func (r *reader) cd(s *scope, c *call) {
	defer func() { r.report.Dirs = append(r.report.Dirs, s.dir) }()
	if len(c.words) != 1 && c.name != "cd" || c.name == "popd" || c.name == "chdir" {
		s.dir = ""
		return
	}
	to, operands := "", 0
	for _, w := range c.words {
		if len(w.Text) > 1 && w.Text[0] == '-' && w.Text != "--" && strings.Trim(w.Text, "-LPe@") != "" {
			s.dir = "" // it may fail
			return
		}
		if w.Text == "-" || len(w.Text) > 1 && strings.IndexByte("+-", w.Text[0]) >= 0 && isNumber(w.Text[1:]) {
			s.dir = "" // one of those before
			return
		}
		if !strings.HasPrefix(w.Text, "-") {
			if operands++; operands > 1 { // an error, or a replacement
				s.dir = ""
				return
			}
		}
		if !strings.HasPrefix(w.Text, "-") {
			to = w.Text
		}
	}
	switch {
	case to != "" && s.searching && to[0] != '/' && to[0] != '.':
		s.dir = ""
	case to != "":
		s.dir = s.join(to)
	case len(c.words) == 0 || strings.HasPrefix(c.words[len(c.words)-1].Text, "-"):
		s.dir = ""
		if home := r.lookup(s, "HOME").texts; len(home) == 1 {
			s.dir = s.join(home[0])
		}
	}
}

func (r *reader) pwd(s *scope, c *call) {
	if s.dir != "" {
		s.output.add(flow{kind: literal, text: s.dir + "\n"})
	}
}

func (r *reader) echo(s *scope, c *call) {
	words, escapes, newline := c.words, s.grammar == cmdline.POSIX, "\n"
	for len(words) > 0 {
		t := words[0].Text
		if len(t) < 2 || t[0] != '-' || strings.Trim(t[1:], "neE") != "" {
			break
		}
		escapes = escapes || strings.Contains(t, "e")
		if strings.Contains(t, "n") {
			newline = ""
		}
		words = words[1:]
	}
	text := strings.Join(cmdline.Texts(words), " ")
	if escapes {
		text = cmdline.DecodeEcho(text)
	}
	s.output.add(flow{kind: literal, text: cmdline.Plain(text) + newline})
}

func (r *reader) printf(s *scope, c *call) {
	words, into, odd := c.words, "", false
	for len(words) > 0 && strings.HasPrefix(words[0].Text, "-") {
		if words[0].Text == "-v" && len(words) > 1 {
			words, into = words[1:], words[1].Text
		} else {
			odd = odd || words[0].Text != "--"
		}
		words = words[1:]
	}
	if len(words) == 0 {
		return
	}
	text := formatted(words[0].Text, words[1:])
	if into == "" {
		s.output.add(flow{kind: literal, text: cmdline.Plain(text)})
		return
	}
	r.subscript(s, []string{into}, c.span)
	if v := single(text); syntax.ValidName(into) {
		if odd { // then it fails
			v = v.or(r.lookup(s, into))
		}
		s.set(into, v)
	}
	s.output.add(flow{kind: literal})
}

// formatted is what printf prints: the format is used again while arguments are left.
func formatted(format string, words []cmdline.Word) string {
	format = cmdline.Decode(format)
	var b strings.Builder
	for range maxWords {
		left := len(words)
		words = formatOnce(&b, format, words)
		if len(words) == 0 || len(words) == left || b.Len() > maxText {
			break
		}
	}
	return b.String()
}

func formatOnce(b *strings.Builder, format string, words []cmdline.Word) []cmdline.Word {
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			b.WriteByte(format[i])
			continue
		}
		for i++; i < len(format) && strings.IndexByte("-+ #0123456789.*", format[i]) >= 0; i++ {
		}
		if i >= len(format) || format[i] == '%' {
			b.WriteByte('%')
			continue
		}
		if len(words) == 0 {
			continue
		}
		text := words[0].Text
		if format[i] == 'b' {
			text = cmdline.DecodeEcho(text)
		}
		b.WriteString(text)
		words = words[1:]
	}
	return words
}

func (r *reader) trap(s *scope, c *call) {
	words := c.words
	if len(words) > 0 && words[0].Text == "--" {
		words = words[1:]
	}
	if len(words) > 1 && !strings.HasPrefix(words[0].Text, "-") {
		r.shell(s, words[0], "trap")
	}
}

func (r *reader) alias(s *scope, c *call) {
	for _, w := range c.words {
		if name, text, ok := strings.Cut(w.Text, "="); ok {
			texts := []string{text}
			if s.branches > 0 || r.recalling {
				texts = append(texts, s.aliases[name].texts...)
			}
			s.aliases[name] = alias{texts: texts[:min(len(texts), maxTexts)]}
			r.defines = true
			r.rewrites = r.rewrites || slices.Contains(reserved, name)
			r.shell(s, w.From(len(name)+1), "alias "+name)
		}
	}
}

// hash -p gives a program another name.
func (r *reader) hash(s *scope, c *call) {
	if o, ok := c.args.Find("-p"); ok && o.Valued {
		for _, w := range c.args.Operands {
			s.aliases[w.Text] = alias{texts: []string{o.Value.Text}, past: true}
		}
	}
}

// shift drops parameters; in a branch it may not have.
func (r *reader) shift(s *scope, c *call) {
	n := 1
	if len(c.words) > 0 {
		given, err := strconv.Atoi(c.words[0].Text)
		if err != nil || given < 0 || given > maxWords {
			s.params = nil
			return
		}
		n = given
	}
	if s.branches > s.looping {
		s.shifts += n
		return
	}
	if n > len(s.params) {
		return // it fails
	}
	s.params = s.params[n:]
}

// setParams is set -- and its options.
func (r *reader) setParams(s *scope, c *call) {
	if s.branches > 0 && slices.ContainsFunc(c.words, func(w cmdline.Word) bool {
		return w.Text == "--" || w.Text == "-" || w.Text == "" || w.Text[0] != '-' && w.Text[0] != '+'
	}) {
		s.params = nil
		return
	}
	for i, w := range c.words {
		switch {
		case w.Text == "--" || w.Text == "-":
			s.params = append([]cmdline.Word{}, c.words[i+1:]...)
			return
		case w.Text == "" || w.Text[0] == '-' || w.Text[0] == '+':
		case i == 0:
			s.params = slices.Clone(c.words)
			return
		case c.words[i-1].Text != "-o" && c.words[i-1].Text != "+o":
			s.params = nil
			return
		}
	}
}

func (r *reader) unset(s *scope, c *call) {
	if slices.ContainsFunc(c.words, func(w cmdline.Word) bool { return w.Text != "-v" && !syntax.ValidName(w.Text) }) {
		r.perhaps(s, func() { r.unsets(s, c) }) // -f is about functions
		return
	}
	r.unsets(s, c)
}

func (r *reader) unsets(s *scope, c *call) {
	for _, w := range c.words {
		r.subscript(s, []string{w.Text}, w.Span)
		if syntax.ValidName(w.Text) && s.branches == 0 {
			s.set(w.Text, single(""))
		}
		for name, f := range s.functions {
			if name == w.Text || cmdline.Unknown(w.Text) {
				f.perhaps = true
				s.functions[name] = f
			}
		}
	}
}

func (r *reader) readBuiltin(s *scope, c *call) {
	r.waits = r.waits || s.input.kind == nothing
	// It may have come too late, or fail without setting anything.
	odd := slices.ContainsFunc(c.args.Options, func(o cmdspec.Option) bool { return !slices.Contains(plainReading, o.Name) }) ||
		slices.ContainsFunc(c.args.Operands, func(w cmdline.Word) bool { return !syntax.ValidName(w.Text) })
	if odd {
		r.perhaps(s, func() { r.reads(s, c) })
		return
	}
	r.reads(s, c)
}

// plainReading are the options of read with which it sets what it names.
var plainReading = strings.Fields("-r -s -e -p -d -a -i -n")

func (r *reader) reads(s *scope, c *call) {
	for _, o := range c.args.Options {
		if o.Name == "-a" && o.Valued && syntax.ValidName(o.Value.Text) {
			s.set(o.Value.Text, unknownValue)
		}
	}
	for _, w := range c.args.Operands {
		r.subscript(s, []string{w.Text}, w.Span)
		if r.integers[w.Text] {
			r.subscript(s, []string{s.input.text}, w.Span)
		}
		if syntax.ValidName(w.Text) {
			s.set(w.Text, unknownValue)
		}
	}
	if c.args.Has("-d", "-n", "-N") {
		return // a part of what is there
	}
	between := func(ch rune) bool {
		return strings.ContainsRune(r.separators, ch) || r.separators == "" && unicode.IsSpace(ch)
	}
	if fields := strings.FieldsFunc(strings.TrimRight(s.input.text, "\n"), between); c.name == "read" && s.input.kind == literal && strings.Count(s.input.text, "\n") <= 1 {
		r.readFields(s, c, fields)
	}
	if n := len(c.args.Operands); c.name == "read" && n == 1 && s.input.kind == literal {
		if line, rest, _ := strings.Cut(s.input.text, "\n"); strings.TrimSpace(rest) == "" && syntax.ValidName(c.args.Operands[0].Text) {
			s.set(c.args.Operands[0].Text, single(strings.TrimSpace(line)))
		}
	}
}

// readFields gives the words of the only line that is read to the variables.
func (r *reader) readFields(s *scope, c *call, fields []string) {
	if o, ok := c.args.Find("-a"); ok && o.Valued && syntax.ValidName(o.Value.Text) {
		v := value{list: true}
		for _, f := range fields {
			v.items = append(v.items, []string{f})
		}
		s.set(o.Value.Text, v)
	}
	for i, w := range c.args.Operands {
		text := ""
		switch {
		case i < len(fields) && i == len(c.args.Operands)-1:
			text = strings.Join(fields[i:], " ")
		case i < len(fields):
			text = fields[i]
		}
		if syntax.ValidName(w.Text) && !s.splitting {
			s.set(w.Text, single(text))
		}
	}
}

func (r *reader) declareBuiltin(s *scope, c *call) {
	for _, w := range c.words {
		r.subscript(s, []string{w.Text}, w.Span)
		if name, text, ok := strings.Cut(w.Text, "="); ok && syntax.ValidName(name) {
			r.setVariable(s, name, single(text), false)
			r.exported(s, name, single(text), c.span)
		}
	}
}

// testBuiltin: [ -v a[…] ] and [ a[…] -eq 1 ] evaluate the subscript.
func (r *reader) testBuiltin(s *scope, c *call) {
	if at := slices.IndexFunc(c.words, func(w cmdline.Word) bool { return strings.HasPrefix(w.Text, "-") && strings.Contains(w.Text, "x") }); c.name == "jobs" && at >= 0 {
		r.call(s, c.words[at+1:], c.span) // jobs -x runs a command
	}
	if c.name == "wait" || c.name == "getopts" {
		r.subscript(s, cmdline.Texts(c.words), c.span)
	}
	if c.name != "test" && c.name != "[" {
		return
	}
	r.perhapsVariable(s, c)
	evaluates := slices.ContainsFunc(c.words, func(w cmdline.Word) bool {
		return slices.Contains([]string{"-v", "-eq", "-ne", "-lt", "-le", "-gt", "-ge"}, w.Text)
	})
	if evaluates {
		r.subscript(s, cmdline.Texts(c.words), c.span)
	}
}

// perhapsVariable is test -v at a prompt, where a word that is not known may be the -v, and one that splits all of it.
func (r *reader) perhapsVariable(s *scope, c *call) {
	for i, w := range c.words {
		if s.grammar == cmdline.Bash && strings.Contains(w.Text, gap) {
			r.evaluates(s, []string{w.Text}, c.span)
		}
		if next := i + 1; next < len(c.words) && (w.Text == "-v" || w.Text == "-R" || cmdline.OnlyUnknown(w.Text) && len(c.words) == 2+strings.Count(c.name, "[")) {
			r.evaluates(s, []string{c.words[next].Text}, c.span)
		}
	}
}

func (r *reader) kill(s *scope, c *call) {
	words := c.words
	if len(words) > 0 && (words[0].Text == "-l" || words[0].Text == "-L") {
		return
	}
	signal := len(words) > 1 && strings.HasPrefix(words[0].Text, "-") && words[0].Text != "--"
	if signal && (words[0].Text == "-s" || words[0].Text == "-n") {
		words = words[1:]
	}
	if signal && len(words) > 0 {
		if words[0].Text == "-0" {
			return
		}
		words = words[1:]
	}
	for _, w := range words {
		switch w.Text {
		case "-1":
			r.flag(s, KillAll, "signals every process of the user", c.span)
		case "1":
			r.flag(s, KillAll, "signals the first process of the machine", c.span)
		}
	}
}

func (r *reader) pkill(s *scope, c *call) {
	everyone := c.args.Has("-u", "-U", "--user", "--uid")
	for _, w := range c.args.Operands {
		everyone = everyone || strings.Trim(w.Text, ".*^$"+string(cmdline.Star)) == ""
	}
	if everyone {
		r.flag(s, KillAll, c.name+" signals every process", c.span)
	}
}
