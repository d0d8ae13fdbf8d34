package effect

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"mvdan.cc/sh/v3/syntax"

	"github.com/multiollama/mcp-server/shell-exec/internal/cmdline"
)

// cdOption is an option of cd with which it does what it does without.
var cdOption = late(`^-[-LPe@]+$`)

func (r *reader) cd(s *scope, c *call) {
	defer func() { r.report.Dirs = append(r.report.Dirs, s.dir) }()
	before := s.dir
	s.dir = "" // where it is not known
	if len(c.words) != 1 && c.name != "cd" || c.name == "popd" || c.name == "chdir" {
		return
	}
	to, operands := "", 0
	for _, w := range c.words {
		switch t := w.Text; {
		case cdOption().MatchString(t):
		case strings.HasPrefix(t, "-"), strings.HasPrefix(t, "+") && isNumber(t[1:]), operands > 0:
			return // it may fail, or goes back to a directory before, or replaces a part of this one
		default:
			to, operands = t, 1
		}
	}
	switch {
	case to != "" && s.searching && to[0] != '/' && to[0] != '.':
	case to != "":
		s.dir = before
		s.dir = s.join(to)
	case len(c.words) == 0 || strings.HasPrefix(c.words[len(c.words)-1].Text, "-"):
		if home := r.lookup(s, "HOME").texts; len(home) == 1 {
			s.dir = s.join(home[0])
		}
	default:
		s.dir = before
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
	s.prints(cmdline.Literal(text) + newline)
}

func (r *reader) printf(s *scope, c *call) {
	words, into, odd := c.words, "", false
	for ; len(words) > 0 && strings.HasPrefix(words[0].Text, "-"); words = words[1:] {
		if words[0].Text == "-v" && len(words) > 1 {
			words, into = words[1:], words[1].Text
		} else {
			odd = odd || words[0].Text != "--"
		}
	}
	if len(words) == 0 {
		return
	}
	text := formatted(words[0].Text, words[1:])
	if into == "" {
		s.prints(cmdline.Literal(text))
		return
	}
	r.subscript(s, []string{into}, c.span)
	if v := single(text); syntax.ValidName(into) {
		if odd { // then it fails
			v = v.or(r.lookup(s, into))
		}
		s.set(into, v)
	}
	s.prints("")
}

const formatFlags = "-+ #0123456789.*"

var directive = late(`(?s)%[-+ #0-9.*]*.?`)

// formatted is what printf prints: the format is used again while arguments are left.
func formatted(format string, words []cmdline.Word) string {
	format = cmdline.Decode(format)
	var b strings.Builder
	for range maxWords {
		left := len(words)
		b.WriteString(directive().ReplaceAllStringFunc(format, func(d string) string {
			verb := strings.TrimLeft(d[1:], formatFlags)
			if verb == "" || verb == "%" {
				return "%"
			}
			if len(words) == 0 {
				return ""
			}
			text := words[0].Text
			words = words[1:]
			if verb == "b" {
				text = cmdline.DecodeEcho(text)
			}
			return text
		}))
		if len(words) == 0 || len(words) == left || b.Len() > maxText {
			break
		}
	}
	return b.String()
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
	if o, _ := c.args.Find("-p"); o.Valued {
		for _, w := range c.args.Operands {
			s.aliases[w.Text] = alias{texts: []string{o.Value.Text}, past: true}
		}
	}
}

// shift drops parameters; in a branch it may not have.
func (r *reader) shift(s *scope, c *call) {
	n, err := 1, error(nil)
	if len(c.words) > 0 {
		n, err = strconv.Atoi(c.words[0].Text)
	}
	switch {
	case err != nil || n < 0 || n > maxWords:
		s.params = nil
	case s.branches > s.looping:
		s.shifts += n
	case n <= len(s.params): // else it fails
		s.params = s.params[n:]
	}
}

// setParams is set -- and its options.
func (r *reader) setParams(s *scope, c *call) {
	isOption := func(t string) bool { return t != "--" && t != "-" && t != "" && (t[0] == '-' || t[0] == '+') }
	if s.branches > 0 && anyWord(c.words, func(t string) bool { return !isOption(t) }) {
		s.params = nil
		return
	}
	for i, w := range c.words {
		switch {
		case w.Text == "--" || w.Text == "-":
			s.params = append([]cmdline.Word{}, c.words[i+1:]...)
			return
		case w.Text == "" || isOption(w.Text):
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
	odd := anyWord(c.words, func(t string) bool { return t != "-v" && !syntax.ValidName(t) }) // -f is about functions
	r.maybe(s, odd, func() {
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
	})
}

// readOptions are those of read with which it sets what it names.
var readOptions = strings.Fields("-r -s -e -p -d -a -i -n")

func (r *reader) readBuiltin(s *scope, c *call) {
	r.waits = r.waits || s.input.kind == nothing
	// It may have come too late, or fail without setting anything.
	odd := slices.ContainsFunc(c.args.Options, func(o option) bool { return !slices.Contains(readOptions, o.Name) }) ||
		anyWord(c.args.Operands, func(t string) bool { return !syntax.ValidName(t) })
	r.maybe(s, odd, func() {
		for _, o := range c.args.Options {
			if o.Name == "-a" && o.Valued {
				s.setNamed(o.Value.Text, unknownValue)
			}
		}
		for _, w := range c.args.Operands {
			r.subscript(s, []string{w.Text}, w.Span)
			if r.integers[w.Text] {
				r.subscript(s, []string{s.input.text}, w.Span)
			}
			s.setNamed(w.Text, unknownValue)
		}
		if c.name == "read" && s.input.kind == literal && !c.args.Has("-d", "-n", "-N") { // with those, a part of what is there
			r.readWords(s, c)
		}
	})
}

// setNamed sets the variable of a name that is not known to be one.
func (s *scope) setNamed(name string, v value) {
	if syntax.ValidName(name) {
		s.set(name, v)
	}
}

// readWords gives the words of the only line that is read to the variables.
func (r *reader) readWords(s *scope, c *call) {
	text := s.input.text
	line, rest, _ := strings.Cut(text, "\n")
	if !strings.Contains(rest, "\n") {
		fields := strings.FieldsFunc(strings.TrimRight(text, "\n"), func(ch rune) bool {
			return strings.ContainsRune(r.separators, ch) || r.separators == "" && unicode.IsSpace(ch)
		})
		if o, _ := c.args.Find("-a"); o.Valued {
			s.setNamed(o.Value.Text, listOf(fields))
		}
		operands := c.args.Operands
		if s.splitting {
			operands = nil
		}
		for i, w := range operands {
			field := strings.Join(fields[min(i, len(fields)):], " ")
			if i < min(len(fields), len(operands)-1) {
				field = fields[i]
			}
			s.setNamed(w.Text, single(field))
		}
	}
	if len(c.args.Operands) == 1 && strings.TrimSpace(rest) == "" {
		s.setNamed(c.args.Operands[0].Text, single(strings.TrimSpace(line)))
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

// evaluating are the operators of test that evaluate an array's subscript.
var evaluating = strings.Fields("-v -eq -ne -lt -le -gt -ge")

// testBuiltin: [ -v a[…] ] and [ a[…] -eq 1 ] evaluate the subscript.
func (r *reader) testBuiltin(s *scope, c *call) {
	texts := cmdline.Texts(c.words)
	switch c.name {
	case "jobs":
		at := slices.IndexFunc(texts, func(t string) bool { return strings.HasPrefix(t, "-") && strings.Contains(t, "x") })
		if at >= 0 {
			r.call(s, c.words[at+1:], c.span) // jobs -x runs a command
		}
	case "wait", "getopts":
		r.subscript(s, texts, c.span)
	case "test", "[":
		// At a prompt, a word that is not known may be the -v, and one that splits all of it.
		for i, t := range texts {
			if s.grammar == cmdline.Bash && strings.Contains(t, gap) {
				r.evaluates(s, []string{t}, c.span)
			}
			unary := t == "-v" || t == "-R" || cmdline.OnlyUnknown(t) && len(texts) == 2+strings.Count(c.name, "[")
			if unary && i+1 < len(texts) {
				r.evaluates(s, texts[i+1:i+2], c.span)
			}
		}
		if slices.ContainsFunc(texts, func(t string) bool { return slices.Contains(evaluating, t) }) {
			r.subscript(s, texts, c.span)
		}
	}
}

func (r *reader) kill(s *scope, c *call) {
	words := cmdline.Texts(c.words)
	if len(words) > 0 && (words[0] == "-l" || words[0] == "-L") {
		return
	}
	if len(words) > 1 && strings.HasPrefix(words[0], "-") && words[0] != "--" { // a signal
		if words[0] == "-s" || words[0] == "-n" {
			words = words[1:]
		}
		if words[0] == "-0" {
			return
		}
		words = words[1:]
	}
	for _, t := range words {
		r.flagIf(s, t == "-1", KillAll, "signals every process of the user", c.span)
		r.flagIf(s, t == "1", KillAll, "signals the first process of the machine", c.span)
	}
}

func (r *reader) pkill(s *scope, c *call) {
	all := func(t string) bool { return strings.Trim(t, ".*^$"+string(cmdline.Star)) == "" }
	r.flagIf(s, c.args.Has("-u", "-U", "--user", "--uid") || anyWord(c.args.Operands, all), KillAll, c.name+" signals every process", c.span)
}
