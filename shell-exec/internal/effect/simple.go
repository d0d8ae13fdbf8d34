package effect

import (
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/multiollama/mcp-server/shell-exec/internal/cmdline"
)

// simple reads one simple command, or the assignments that stand without one.
func (r *reader) simple(s *scope, c *syntax.CallExpr) {
	r.separators = ""
	env := s.env
	defer func() { s.env = env }()
	for _, a := range c.Assigns {
		if a.Name != nil {
			r.assign(s, a, len(c.Args) > 0)
			if len(c.Args) == 0 || a.Name.Value == "PATH" || r.keeps(s, c.Args[0].Lit()) {
				r.sets(s, a.Name.Value, true, s.span(a))
			}
		}
		if a.Name != nil && a.Name.Value == "IFS" && a.Value != nil {
			r.separators = strings.Join(r.flat(s, a.Value), "")
		}
	}
	if len(c.Args) == 0 {
		return
	}
	span := s.span(c)
	if glob, ok := c.Args[0].Parts[0].(*syntax.ExtGlob); ok {
		r.patternName(s, glob, span)
		return
	}
	dir := s.dir
	for i, argv := range r.argvs(s, c.Args) {
		if len(argv) > 1 && argv[0].Text == "--" { // "time -- rm": the parser leaves the --
			argv = argv[1:]
		}
		if len(argv) == 0 {
			continue
		}
		after := s.dir
		s.dir = dir
		r.call(s, argv, span)
		if i > 0 && s.dir != after {
			s.dir = ""
		}
		if i > 0 && argv[0].Text == "set" {
			s.params = nil
		}
	}
}

// argvs are the lists of words that a command may be started with: one for each of the
// texts that its variables may have, in every combination where those are few.
func (r *reader) argvs(s *scope, args []*syntax.Word) [][]cmdline.Word {
	argv := make([]cmdline.Word, 0, len(args))
	for i, w := range args {
		if one, ok := r.literalWord(s, w); ok {
			argv = append(argv, one)
			continue
		}
		readings := r.readings(s, w)
		switch len(readings) {
		case 0:
		case 1:
			argv = append(argv, readings[0]...)
		default:
			return r.combined(s, argv, readings, args[i+1:])
		}
	}
	return [][]cmdline.Word{argv}
}

// combined goes on from the first word that may become several things.
func (r *reader) combined(s *scope, before []cmdline.Word, readings [][]cmdline.Word, rest []*syntax.Word) [][]cmdline.Word {
	words, most, all := [][][]cmdline.Word{{before}, readings}, len(readings), len(readings)
	for _, w := range rest {
		next := r.readings(s, w)
		if len(next) == 0 {
			continue
		}
		words = append(words, next)
		most, all = max(most, len(next)), min(all*len(next), maxTexts+1)
	}
	if all > maxTexts {
		all = most
	}
	argvs := make([][]cmdline.Word, 0, all)
	for k := range all {
		var argv []cmdline.Word
		at := k
		for _, readings := range words {
			argv = append(argv, readings[at%len(readings)]...)
			if all != most {
				at /= len(readings)
			}
		}
		argvs = append(argvs, argv)
	}
	return argvs
}

// literalWord is a word that stands for itself, as most do.
func (r *reader) literalWord(s *scope, w *syntax.Word) (cmdline.Word, bool) {
	if len(w.Parts) != 1 {
		return cmdline.Word{}, false
	}
	l, ok := w.Parts[0].(*syntax.Lit)
	if !ok || l.Value == "" || strings.ContainsAny(l.Value, "~*?[\\{") || !r.spend(s, 1) {
		return cmdline.Word{}, false
	}
	word := cmdline.At(l.Value, s.span(w))
	if s.exact {
		word.Verbatim = s.base + int(l.Pos().Offset())
	}
	return word, true
}

// patternName: without extglob, bash takes !( … ) for a negated subshell.
func (r *reader) patternName(s *scope, glob *syntax.ExtGlob, span cmdline.Span) {
	if glob.Op == syntax.GlobExcept {
		r.shell(s, cmdline.At(glob.Pattern.Value, span), "!( )")
		return
	}
	r.flag(s, RunUnknown, "the program's name is a pattern", span)
	r.steered = r.steered || s.prompt
}

// keeps says that what is assigned before the command may stay, or be in force while the shell itself runs something.
func (r *reader) keeps(s *scope, name string) bool {
	_, function := s.functions[name]
	_, alias := s.aliases[name]
	return name == "" || function || alias || IsBuiltin(name) && !slices.Contains(restoring, name)
}

// assign reads NAME=value, for the shell or for one command's environment.
func (r *reader) assign(s *scope, a *syntax.Assign, forCommand bool) {
	v := r.assigned(s, a)
	if a.Index != nil && !forCommand {
		v = placed(r.lookup(s, a.Name.Value), a, v)
	}
	s.searching = s.searching || a.Name.Value == "CDPATH"
	r.pathChanged = r.pathChanged || a.Name.Value == "PATH"
	if forCommand {
		s.give(a.Name.Value, v)
	} else {
		r.setVariable(s, a.Name.Value, v, a.Append && a.Index == nil)
	}
	if forCommand || affects(a.Name.Value) {
		r.exported(s, a.Name.Value, v, s.span(a))
	}
}

// placed is a list after a[i]=…
func placed(old value, a *syntax.Assign, v value) value {
	w, ok := a.Index.(*syntax.Word)
	n, err := -1, error(nil)
	if ok {
		n, err = strconv.Atoi(w.Lit())
	}
	if err != nil || n < 0 || n > maxWords || a.Append || v.list {
		return old.or(value{list: true, items: [][]string{v.texts}})
	}
	lists := old.lists()
	if len(lists) == 0 {
		lists = [][][]string{nil}
	}
	for i, l := range lists {
		l = append(slices.Clone(l), make([][]string, max(0, n+1-len(l)))...)
		l[n], lists[i] = v.texts, l
	}
	return value{list: true, items: lists[0], others: lists[1:]}
}

func (r *reader) assigned(s *scope, a *syntax.Assign) value {
	r.arithmetic(s, a.Index)
	if a.Array != nil {
		return r.array(s, a.Array)
	}
	if a.Value == nil {
		return single("")
	}
	var v value
	for _, t := range r.flat(s, a.Value) {
		v = v.or(single(cmdline.Plain(t)))
	}
	return v
}

func (r *reader) array(s *scope, array *syntax.ArrayExpr) value {
	v := value{list: true}
	for _, e := range array.Elems {
		r.arithmetic(s, e.Index)
		if e.Value == nil {
			continue
		}
		for _, w := range r.word(s, e.Value) {
			v.items = append(v.items, []string{cmdline.Quoted(w.Text)})
		}
		if len(v.items) > maxItems || !r.spend(s, 1+len(v.items)/64) {
			return unknownValue
		}
	}
	return v
}

// setVariable keeps the old texts where the assignment may not have run.
func (r *reader) setVariable(s *scope, name string, v value, appends bool) {
	if name == "IFS" {
		s.separate(v)
	}
	s.searching = s.searching || name == "CDPATH"
	r.pathChanged = r.pathChanged || name == "PATH"
	old, known := s.vars.find(name)
	switch {
	case appends:
		v = appended(r.lookup(s, name), v)
		if s.loops > 0 && !v.list { // once in every round
			v = v.or(unknownValue)
		}
	case s.branches > 0 && known:
		v = old.or(v)
	case s.branches > 0 && (r.world.Typed || r.world.Env[name] != ""):
		v = r.lookup(s, name).or(v)
	case s.branches > 0:
		v = single("").or(v)
	}
	if r.integers[name] {
		r.subscript(s, v.texts, s.outer)
	}
	for i, t := range v.texts {
		if len(t) > maxText || !r.spend(s, len(t)/32) {
			v.texts[i] = string(cmdline.Hole)
		}
	}
	s.set(name, v)
}

// separate: unquoted values are split at other characters from now on.
func (s *scope) separate(v value) {
	known := !s.splitting && s.branches == 0 && len(v.texts) == 1 && !cmdline.Unknown(v.texts[0])
	s.splitting, s.separators = true, ""
	if known {
		s.separators = v.texts[0]
	}
}

func appended(old, v value) value {
	if len(v.items)+len(old.items) > maxItems {
		return unknownValue
	}
	if v.list || old.list {
		out := value{list: true}
		for i, l := range old.lists() {
			if l = slices.Concat(l, v.items); i == 0 {
				out.items = l
			} else {
				out.others = append(out.others, l)
			}
		}
		if out.items == nil {
			out.items = v.items
		}
		return out
	}
	var out value
	for _, a := range old.texts {
		for _, b := range v.texts {
			out = out.or(single(a + b))
		}
	}
	return out
}

func (r *reader) declare(s *scope, d *syntax.DeclClause) {
	// Some set nothing: local outside of a function, and options that print, or are not known.
	odd, options := d.Variant.Value == "local" && s.locals == nil, map[string]string{"export": "n", "readonly": "aA"}[d.Variant.Value]
	if options == "" {
		options = "aAgiIlnrtuxc"
	}
	for _, a := range d.Args {
		odd = odd || a.Naked && a.Value != nil && (a.Value.Lit() == "" || strings.Trim(a.Value.Lit(), "-+"+options) != "")
	}
	if odd {
		r.perhaps(s, func() { r.declares(s, d) })
		return
	}
	r.declares(s, d)
}

func (r *reader) declares(s *scope, d *syntax.DeclClause) {
	if d.Variant.Value == "readonly" {
		r.steer(s, "readonly", s.span(d))
	}
	exported := d.Variant != nil && d.Variant.Value == "export"
	letters := ""
	refers := false // declare -n: the name stands for another variable
	for _, a := range d.Args {
		if a.Name != nil && d.Variant.Value != "export" && d.Variant.Value != "readonly" && !strings.Contains(letters, "g") {
			s.local(a.Name.Value)
		}
		if a.Name != nil && !(a.Naked && exported) {
			r.sets(s, a.Name.Value, !a.Naked, s.span(a))
		}
		if a.Naked {
			if a.Value != nil && strings.HasPrefix(a.Value.Lit(), "-") {
				letters += a.Value.Lit()
			}
			refers = refers || a.Value != nil && strings.HasPrefix(a.Value.Lit(), "-") && strings.Contains(a.Value.Lit(), "n")
			exported = r.declaredText(s, a, d.Variant.Value, letters, exported) || exported
			continue
		}
		if a.Name == nil {
			continue
		}
		v := r.assigned(s, a)
		r.subscript(s, v.texts, s.span(a))
		if refers {
			v = unknownValue
		}
		v = cased(v, letters)
		if strings.Contains(letters, "i") {
			r.integer(s, a.Name.Value, v, s.span(a))
		}
		r.setVariable(s, a.Name.Value, v, a.Append)
		if exported || affects(a.Name.Value) {
			r.exported(s, a.Name.Value, v, s.span(a))
		}
	}
}

// integer: declare -i, after which the shell evaluates every value.
func (r *reader) integer(s *scope, name string, v value, span cmdline.Span) {
	if r.integers == nil {
		r.integers = map[string]bool{}
	}
	r.integers[name] = true
	r.subscript(s, v.texts, span)
}

// cased: declare -l and -u change the letters of every value.
func cased(v value, letters string) value {
	change := strings.ToLower
	switch {
	case strings.Contains(letters, "u"):
		change = strings.ToUpper
	case !strings.Contains(letters, "l"):
		return v
	}
	out := value{list: v.list, items: v.items, others: v.others}
	for _, t := range v.texts {
		out.texts = append(out.texts, change(t))
	}
	return out
}

// declaredText is an option of declare, or an assignment that only expansion makes:
// export "$x=…". It says whether it was -x.
func (r *reader) declaredText(s *scope, a *syntax.Assign, variant, letters string, exported bool) bool {
	if a.Value == nil && a.Name != nil && strings.Contains(letters, "i") {
		r.integer(s, a.Name.Value, value{}, s.span(a))
	}
	if a.Value == nil {
		if a.Name != nil && exported {
			r.exported(s, a.Name.Value, r.lookup(s, a.Name.Value), s.span(a))
		}
		return false
	}
	for _, w := range r.word(s, a.Value) {
		t := w.Text
		r.named(s, &call{name: variant, span: s.span(a)}, w)
		if strings.HasPrefix(t, "-") && strings.Contains(t, "x") {
			return true
		}
		r.subscript(s, []string{t}, s.span(a))
		if name, v, ok := strings.Cut(t, "="); ok && syntax.ValidName(name) {
			r.setVariable(s, name, single(cmdline.Plain(v)), false)
			r.exported(s, name, single(v), s.span(a))
		}
	}
	return false
}
