package effect

import (
	"slices"
	"strings"

	"github.com/multiollama/mcp-server/shell-exec/internal/cmdline"
)

// xargs runs its operands with what it reads as further arguments.
func (r *reader) xargs(s *scope, c *call) {
	argv := c.args.Operands
	if len(argv) == 0 {
		s.output.add(flow{kind: something})
		return
	}
	given := r.inputWords(s, c.span)
	if c.args.Has("-I", "--replace", "-i", "-0", "--null", "-d", "--delimiter") {
		given = r.inputLines(s, given)
	}
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

// inputWords is the words that standard input holds.
func (r *reader) inputWords(s *scope, span cmdline.Span) []cmdline.Word {
	switch in := s.input; in.kind {
	case literal:
		var out []cmdline.Word
		for _, field := range strings.Fields(strings.ReplaceAll(in.text, "\x00", " ")) {
			if len(out) == maxWords {
				break
			}
			out = append(out, cmdline.At(strings.Trim(field, `'"`), span))
		}
		return out
	case names:
		return []cmdline.Word{cmdline.At(in.each(), span)}
	}
	return []cmdline.Word{cmdline.At(gap, span)}
}

// inputLines is inputWords where blanks do not end a word.
func (r *reader) inputLines(s *scope, words []cmdline.Word) []cmdline.Word {
	if s.input.kind != literal || len(words) == 0 {
		return words
	}
	var out []cmdline.Word
	for _, line := range strings.FieldsFunc(s.input.text, func(c rune) bool { return c == '\n' || c == 0 }) {
		if len(out) == maxWords {
			break
		}
		out = append(out, words[0].With(strings.TrimLeft(line, " \t")))
	}
	return out
}

// each is one of the names that flow: the root itself where nothing was left out.
func (f flow) each() string {
	root := f.root
	if !f.filtered {
		return root
	}
	if f.hint == ".git" {
		return strings.TrimSuffix(root, "/") + "/.git"
	}
	if root == "/" {
		root = "/usr/lib" // something of the system
	}
	return strings.TrimSuffix(root, "/") + "/" + hole
}

func replaced(argv []cmdline.Word, mark, text string) []cmdline.Word {
	out := slices.Clone(argv)
	for i, w := range out {
		if strings.Contains(w.Text, mark) {
			out[i] = w.With(strings.ReplaceAll(w.Text, mark, text))
		}
	}
	return out
}

// parallel runs a script for each word after ::: or each line that it reads.
func (r *reader) parallel(s *scope, c *call) {
	argv, given := c.args.Operands, []cmdline.Word(nil)
	for i, w := range argv {
		if strings.HasPrefix(w.Text, ":::") {
			argv, given = argv[:i], argv[i+1:]
			break
		}
	}
	if len(argv) > 1 {
		r.call(s.within(c.name), argv, c.span)
	}
	script := strings.Join(cmdline.Texts(argv), " ")
	if script != "" && !strings.Contains(script, "{") {
		script += " {}"
	} else if script == "" {
		script = "{}"
	}
	if len(given) == 0 || len(given) > maxTexts {
		given = r.inputWords(s, c.span)
	}
	for _, w := range given {
		t := cmdline.Quoted(w.Text)
		text := strings.NewReplacer("{}", t, "{.}", t, "{/}", t, "{1}", t).Replace(script)
		r.shell(s, cmdline.At(text, c.span), c.name)
	}
}

// loose finds the command among the words of a program with options of all kinds.
func (r *reader) loose(s *scope, c *call) {
	if (c.name == "gdb" || c.name == "lldb") && s.input.kind == literal {
		for _, line := range strings.Split(s.input.text, "\n") {
			r.debuggerCommand(s, c, cmdline.At(line, c.span))
		}
	}
	for i, w := range c.words {
		if (w.Text == "--" || w.Text == "--args") && i+1 < len(c.words) {
			if strings.Contains(c.words[i+1].Text, " ") {
				r.shell(s, cmdline.Join(c.words[i+1:], c.span), c.name)
			}
			r.call(s.within(c.name), c.words[i+1:], c.span)
			return
		}
	}
	for i, w := range c.words {
		if w.Text == "" || w.Text[0] == '-' || strings.Contains(w.Text, "=") || c.name == "perf" && i == 0 {
			continue
		}
		if strings.Contains(w.Text, " ") {
			inner := s.within(c.name)
			inner.exact, inner.outer = false, w.Span
			r.perhapsShell(inner, w.Text, c.name)
			continue
		}
		name, _ := programName(w.Text)
		if row, _ := r.table.Find([]cmdline.Word{w.With(name)}); row != nil && c.name != "gdb" || strings.Contains(w.Text, "/") && c.name != "gdb" {
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
		program, ok = c.args.Find("-a", "--startas")
	}
	if !ok || !program.Valued {
		return
	}
	argv := []cmdline.Word{program.Value}
	if i := slices.IndexFunc(c.words, func(w cmdline.Word) bool { return w.Text == "--" }); i >= 0 {
		argv = append(argv, c.words[i+1:]...)
	}
	r.call(s.within(c.name), argv, c.span)
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
	for _, line := range strings.Split(text, "\n") {
		fields := strings.Fields(line)
		switch {
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
		if name, _ := programName(w.Text); i > 0 && slices.Contains(often, name) {
			r.call(s.within(c.name), c.words[i:], c.span)
			return
		}
	}
}

func (r *reader) expectInput(s *scope, c *call) {
	if s.input.kind == literal {
		for _, line := range strings.Split(s.input.text, "\n") {
			r.expectCode(s, cmdline.At(line, c.span))
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
