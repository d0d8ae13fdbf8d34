package effect

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/multiollama/mcp-server/shell-exec/internal/cmdline"
)

// statements reads one statement after the other. In a function, those after one that may return may not run.
func (r *reader) statements(s *scope, all []*syntax.Stmt) {
	for i, one := range all {
		r.statement(s, one)
		if rest := all[i+1:]; s.locals != nil && len(rest) > 0 && calls(one, "return") {
			r.perhaps(s, func() { r.statements(s, rest) })
			return
		}
	}
}

// statement reads a statement with its redirections: what it prints goes where they say.
func (r *reader) statement(s *scope, st *syntax.Stmt) {
	if !r.spend(s, 1) {
		return
	}
	input, redirected := s.input, s.redirected
	defer func() { s.input, s.redirected = input, redirected }()
	s.redirected = len(st.Redirs) > 0
	targets := r.redirects(s, st)
	// A file may not be there, or not be one that can be opened: then nothing of the statement runs.
	mayFail := slices.ContainsFunc(st.Redirs, func(d *syntax.Redirect) bool {
		switch d.Op {
		case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc, syntax.DplIn, syntax.DplOut:
			return false
		}
		return d.Word == nil || d.Word.Lit() != "/dev/null"
	})
	outer := s.output
	if len(targets) > 0 {
		s.output = flow{}
	}
	r.maybe(s, mayFail, func() { r.compound(s, st) })
	if len(targets) == 0 {
		return
	}
	for _, t := range targets {
		if t.path == connection && s.output.secret {
			r.flag(s, SendSecret, "sends credentials", s.span(st))
		}
		r.remember(t, s.output)
	}
	s.output = outer
	s.prints("") // what was printed went to the file
}

// compound reads what a statement runs. A construct that it does not know is Unreadable, never ignored.
func (r *reader) compound(s *scope, st *syntax.Stmt) {
	if st.Background || st.Disown { // in a shell of its own
		outer := s
		s = s.sub()
		defer func() { outer.output.add(s.output) }()
	}
	switch c := st.Cmd.(type) {
	case nil:
	case *syntax.CallExpr:
		r.simple(s, c)
	case *syntax.BinaryCmd:
		r.binary(s, c)
	case *syntax.Subshell:
		inner := s.sub()
		r.statements(inner, c.Stmts)
		s.output.add(inner.output)
	case *syntax.Block:
		r.statements(s, c.Stmts)
	case *syntax.IfClause:
		for ; c != nil; c = c.Else {
			r.statements(s, c.Cond)
			r.branch(s, leaves(c.Then), func() { r.statements(s, c.Then) })
		}
	case *syntax.WhileClause:
		r.perhaps(s, func() { r.branch(s, false, func() { r.whileLoop(s, c) }) })
	case *syntax.ForClause:
		r.forClause(s, c)
	case *syntax.CaseClause:
		r.flat(s, c.Word)
		r.branch(s, false, func() {
			for _, item := range c.Items {
				for _, pattern := range item.Patterns {
					r.flat(s, pattern)
				}
				r.statements(s, item.Stmts)
			}
		})
	case *syntax.FuncDecl:
		r.define(s, c)
	case *syntax.DeclClause:
		r.declare(s, c)
	case *syntax.TestClause:
		r.test(s, c.X)
	case *syntax.ArithmCmd:
		r.arithmetic(s, c.X)
	case *syntax.LetClause:
		r.steer(s, "let", s.span(st))
		for _, x := range c.Exprs {
			r.arithmetic(s, x)
		}
	case *syntax.TimeClause:
		if c.Stmt != nil {
			r.statement(s, c.Stmt)
		}
	case *syntax.CoprocClause: // bash takes the first word for a name only before a compound command
		r.advise(s, Unreadable, "coproc, which the shell divides differently", "Use & instead", s.span(c))
		r.steer(s, "coproc", s.span(c))
		if c.Name != nil {
			argv := r.word(s, c.Name)
			if call, ok := c.Stmt.Cmd.(*syntax.CallExpr); ok {
				argv = append(argv, r.words(s, call.Args)...)
			}
			r.call(s.sub(), argv, s.span(c))
		}
		r.statement(s.sub(), c.Stmt)
	default:
		r.flag(s, Unreadable, "a construct that is not understood", s.span(st))
	}
}

func isPipe(op syntax.BinCmdOperator) bool { return op == syntax.Pipe || op == syntax.PipeAll }

// binary takes the left-leaning tree of a long list, or of a pipeline, apart without recursion.
func (r *reader) binary(s *scope, c *syntax.BinaryCmd) {
	chain, first := []*syntax.BinaryCmd{c}, c.X
	for {
		b, ok := first.Cmd.(*syntax.BinaryCmd)
		if !ok || isPipe(b.Op) != isPipe(c.Op) || len(first.Redirs) > 0 {
			break
		}
		chain, first = append(chain, b), b.X
	}
	slices.Reverse(chain)
	if isPipe(c.Op) {
		input, last := s.input, s.sub()
		pipe := func(st *syntax.Stmt) {
			last = s.sub()
			last.input = input
			r.statement(last, st)
			if input = last.output; input.kind == nothing {
				input.kind = something
			}
		}
		pipe(first)
		for _, c := range chain {
			pipe(c.Y)
		}
		s.output.add(last.output)
		return
	}
	r.statement(s, first)
	list := func() {
		for _, c := range chain {
			if c.Op == syntax.AndStmt {
				r.statement(s, c.Y)
			} else { // after || it may not have run
				r.branch(s, leaves([]*syntax.Stmt{c.Y}), func() { r.statement(s, c.Y) })
			}
		}
	}
	// What follows on a && b || exit comes after all of a and b.
	last := len(chain) - 1
	certain := chain[last].Op == syntax.OrStmt && leaves([]*syntax.Stmt{chain[last].Y}) &&
		!slices.ContainsFunc(chain[:last], func(c *syntax.BinaryCmd) bool { return c.Op == syntax.OrStmt })
	r.maybe(s, !certain, list)
}

// maybe is perhaps where it is uncertain that what follows runs, and otherwise reads it.
func (r *reader) maybe(s *scope, uncertain bool, read func()) {
	if uncertain {
		r.perhaps(s, read)
	} else {
		read()
	}
}

// perhaps reads what follows upon itself, but may not run: afterwards all is as it left it, or as it was.
func (r *reader) perhaps(s *scope, read func()) {
	vars, dir, params, shifts, functions := s.vars, s.dir, s.params, s.shifts, maps.Clone(s.functions)
	s.vars = vars.layer()
	read()
	own := s.vars.own
	s.vars = vars
	for name, v := range own {
		if old, ok := vars.find(name); ok {
			v = v.or(old)
		} else if r.around.Typed || r.around.Env[name] != "" {
			v = v.or(r.lookup(s, name))
		}
		s.set(name, v)
	}
	s.joinDirs(dir, false)
	switch dropped := len(params) - len(s.params); {
	case s.params == nil || params == nil:
		s.params = nil
	case dropped >= 0 && slices.EqualFunc(params[dropped:], s.params, func(a, b cmdline.Word) bool { return a.Text == b.Text }):
		s.params, s.shifts = params, max(shifts, s.shifts)+dropped
	default:
		s.params = nil
	}
	for name, f := range s.functions {
		if old, ok := functions[name]; !ok || !slices.Equal(old.bodies, f.bodies) {
			f.bodies = slices.Concat(f.bodies, old.bodies)
			f.bodies = f.bodies[:min(len(f.bodies), maxTexts)]
			f.perhaps = f.perhaps || !ok || old.perhaps
			s.functions[name] = f
		}
	}
}

// branch reads what may or may not run. left says that what follows does not run after it.
func (r *reader) branch(s *scope, left bool, read func()) {
	before := s.dir
	s.branches++
	read()
	s.branches--
	s.joinDirs(before, left)
}

// joinDirs is the directory after a branch that may not have run.
func (s *scope) joinDirs(before string, left bool) {
	if left || s.dir == before {
		s.dir = before
		return
	}
	s.dir = ""
}

// whileLoop follows a loop once, and one that drops parameters until none are left.
func (r *reader) whileLoop(s *scope, c *syntax.WhileClause) {
	looping := s.looping
	s.looping = s.branches
	s.loops++
	defer func() { s.looping, s.loops = looping, s.loops-1 }()
	for range maxTexts {
		left := len(s.params)
		r.statements(s, c.Cond)
		r.statements(s, c.Do)
		if len(s.params) == left {
			return
		}
	}
}

// forClause reads the body once, with a variable that may be any of the words.
func (r *reader) forClause(s *scope, c *syntax.ForClause) {
	switch loop := c.Loop.(type) {
	case *syntax.WordIter:
		v := r.iterated(s, loop)
		if c.Select {
			v = v.or(single(""))
		}
		r.sets(s, loop.Name.Value, false, s.span(loop.Name))
		// A loop over nothing leaves its variable as it is.
		maybeNone := !slices.ContainsFunc(v.texts, func(t string) bool { return t != "" && !cmdline.Unknown(t) })
		if old, known := s.vars.find(loop.Name.Value); known && (c.Select || maybeNone) {
			v = v.or(old)
		} else if r.around.Typed && len(v.texts) == 0 {
			v = unknownValue
		}
		s.set(loop.Name.Value, v)
	case *syntax.CStyleLoop:
		syntax.Walk(loop, func(n syntax.Node) bool { // its variables become a number
			b, ok := n.(*syntax.BinaryArithm)
			if !ok || b.Op != syntax.Assgn {
				return true
			}
			if w, ok := b.X.(*syntax.Word); ok && w.Lit() != "" {
				s.set(w.Lit(), single("1"))
			}
			return true
		})
		for _, x := range []syntax.ArithmExpr{loop.Init, loop.Cond, loop.Post} {
			r.arithmetic(s, x)
		}
	}
	s.loops++
	r.branch(s, false, func() { r.statements(s, c.Do) })
	s.loops--
}

// iterated is what the variable of a loop may be: one of the words, or without words one of the parameters.
func (r *reader) iterated(s *scope, loop *syntax.WordIter) value {
	if !loop.InPos.IsValid() {
		if texts := r.lookup(s, "@").all(); len(texts) > 0 {
			return value{texts: texts}
		}
		return unknownValue
	}
	var v value
	for _, w := range r.words(s, loop.Items) {
		v = v.or(single(cmdline.Quoted(w.Text)))
	}
	return v
}

// define remembers a function. Its body is read where it is called, and at the end where it never was.
func (r *reader) define(s *scope, c *syntax.FuncDecl) {
	declared := c.Names
	if c.Name != nil {
		declared = []*syntax.Lit{c.Name}
	}
	for _, lit := range declared {
		if lit == nil {
			continue
		}
		name, bodies := lit.Value, []*syntax.Stmt{c.Body}
		old, known := s.functions[name]
		if s.branches > 0 || r.recalling {
			bodies = append(bodies, old.bodies...)
		}
		r.defines = true
		if name == "command_not_found_handle" {
			r.steer(s, name, s.span(c))
		}
		if slices.Contains(reserved, name) {
			r.rewrites = true
			r.flag(s, Unreadable, "a function that takes the name "+name+" from the shell's grammar", s.span(c))
		}
		s.functions[name] = function{bodies: bodies[:min(len(bodies), maxTexts)], perhaps: s.branches > 0 && (!known || old.perhaps)}

		// The fork bomb: a function that pipes itself into itself, or starts itself in the background.
		multiplies := anyNode(c.Body, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.BinaryCmd:
				return isPipe(n.Op) && calls(n.X, name) && calls(n.Y, name)
			case *syntax.Stmt:
				return n.Background && calls(n, name)
			}
			return false
		})
		if multiplies {
			r.flag(s, ForkBomb, "the function "+name+" starts itself again and again", s.span(c))
		}
	}
}

func anyNode(n syntax.Node, is func(syntax.Node) bool) bool {
	found := false
	syntax.Walk(n, func(n syntax.Node) bool {
		found = found || is(n)
		return !found
	})
	return found
}

func calls(n syntax.Node, name string) bool {
	return anyNode(n, func(n syntax.Node) bool {
		c, ok := n.(*syntax.CallExpr)
		return ok && len(c.Args) > 0 && c.Args[0].Lit() == name
	})
}

// leaves says that what follows the statements does not run after them.
func leaves(all []*syntax.Stmt) bool {
	if len(all) == 0 {
		return false
	}
	switch c := all[len(all)-1].Cmd.(type) {
	case *syntax.CallExpr:
		return len(c.Args) > 0 && slices.Contains([]string{"exit", "return", "continue", "break"}, c.Args[0].Lit())
	case *syntax.Block:
		return leaves(c.Stmts)
	}
	return false
}

// test reads [[ … ]], which evaluates some of its words as arithmetic.
func (r *reader) test(s *scope, x syntax.TestExpr) {
	subscripts := func(x syntax.TestExpr, span cmdline.Span) {
		if w, ok := x.(*syntax.Word); ok {
			texts := r.flat(s, w)
			r.subscript(s, texts, span)
			r.evaluates(s, texts, span)
		}
	}
	switch x := x.(type) {
	case *syntax.Word:
		r.flat(s, x)
	case *syntax.UnaryTest:
		r.test(s, x.X)
		if x.Op == syntax.TsVarSet || x.Op == syntax.TsRefVar {
			subscripts(x.X, s.span(x))
		}
	case *syntax.BinaryTest:
		r.test(s, x.X)
		r.test(s, x.Y)
		switch x.Op {
		case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
			subscripts(x.X, s.span(x))
			subscripts(x.Y, s.span(x))
		}
	case *syntax.ParenTest:
		r.test(s, x.X)
	}
}

// simple reads one simple command, or the assignments without one.
func (r *reader) simple(s *scope, c *syntax.CallExpr) {
	r.separators = ""
	env := s.env
	defer func() { s.env = env }()
	for _, a := range c.Assigns {
		if a.Name != nil {
			r.assign(s, a, c.Args)
		}
	}
	if len(c.Args) == 0 {
		return
	}
	span := s.span(c)
	if glob, ok := c.Args[0].Parts[0].(*syntax.ExtGlob); ok {
		if glob.Op == syntax.GlobExcept { // without extglob, bash takes !( … ) for a negated subshell
			r.shell(s, cmdline.At(glob.Pattern.Value, span), "!( )")
			return
		}
		r.flag(s, RunUnknown, "the program's name is a pattern", span)
		r.steered = r.steered || s.prompt
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
		// Most words mean themselves.
		l, ok := w.Parts[0].(*syntax.Lit)
		if ok && len(w.Parts) == 1 && l.Value != "" && !strings.ContainsAny(l.Value, "~*?[\\{") && r.spend(s, 1) {
			word := cmdline.At(l.Value, s.span(w))
			if s.exact {
				word.Verbatim = s.base + int(l.Pos().Offset())
			}
			argv = append(argv, word)
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

// combined continues from the first word that may become several things.
func (r *reader) combined(s *scope, before []cmdline.Word, readings [][]cmdline.Word, rest []*syntax.Word) [][]cmdline.Word {
	words, longest, all := [][][]cmdline.Word{{before}, readings}, len(readings), len(readings)
	for _, w := range rest {
		if next := r.readings(s, w); len(next) > 0 {
			words = append(words, next)
			longest, all = max(longest, len(next)), min(all*len(next), maxTexts+1)
		}
	}
	if all > maxTexts {
		all = longest
	}
	argvs := make([][]cmdline.Word, all)
	for k := range argvs {
		at := k
		for _, readings := range words {
			argvs[k] = append(argvs[k], readings[at%len(readings)]...)
			if all != longest {
				at /= len(readings)
			}
		}
	}
	return argvs
}

// assign reads NAME=value, for the shell or for the environment of the command whose words are args.
func (r *reader) assign(s *scope, a *syntax.Assign, args []*syntax.Word) {
	name, v, forCommand := a.Name.Value, r.assigned(s, a), len(args) > 0
	if a.Index != nil && !forCommand { // a[i]=…
		v = indexed(r.lookup(s, name), a, v)
	}
	s.searching = s.searching || name == "CDPATH"
	r.pathChanged = r.pathChanged || name == "PATH"
	if forCommand {
		s.give(name, v)
	} else {
		r.setVariable(s, name, v, a.Append && a.Index == nil)
	}
	if forCommand || affects(name) {
		r.exported(s, name, v, s.span(a))
	}

	// Before a function, an alias or a builtin it may stay, or be in force while the shell itself runs something.
	stays := !forCommand || name == "PATH"
	if !stays {
		command := args[0].Lit()
		_, function := s.functions[command]
		_, alias := s.aliases[command]
		stays = command == "" || function || alias || IsBuiltin(command) && !slices.Contains(restoring, command)
	}
	if stays {
		r.sets(s, name, true, s.span(a))
	}
	if name == "IFS" && a.Value != nil {
		r.separators = strings.Join(r.flat(s, a.Value), "")
	}
}

// indexed is a list after a[i]=…
func indexed(old value, a *syntax.Assign, v value) value {
	n, err := -1, error(nil)
	if w, ok := a.Index.(*syntax.Word); ok {
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
	switch {
	case a.Array != nil:
		v := value{list: true}
		for _, e := range a.Array.Elems {
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
	case a.Value == nil:
		return single("")
	}
	return value{texts: r.flat(s, a.Value)}.each(cmdline.Literal)
}

// setVariable keeps the old texts where the assignment may not have run.
func (r *reader) setVariable(s *scope, name string, v value, appends bool) {
	if name == "IFS" { // unquoted values are split at other characters from now on
		known := !s.splitting && s.branches == 0 && len(v.texts) == 1 && !cmdline.Unknown(v.texts[0])
		s.splitting, s.separators = true, ""
		if known {
			s.separators = v.texts[0]
		}
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
	case s.branches > 0 && (r.around.Typed || r.around.Env[name] != ""):
		v = r.lookup(s, name).or(v)
	case s.branches > 0:
		v = single("").or(v)
	}
	if r.integers[name] {
		r.subscript(s, v.texts, s.outer)
	}
	for i, t := range v.texts {
		if len(t) > maxText || !r.spend(s, len(t)/32) {
			v.texts[i] = hole
		}
	}
	s.set(name, v)
}

func appended(old, v value) value {
	if len(v.items)+len(old.items) > maxItems {
		return unknownValue
	}
	var out value
	if v.list || old.list {
		out = value{list: true, items: v.items}
		for i, l := range old.lists() {
			if l = slices.Concat(l, v.items); i > 0 {
				out.others = append(out.others, l)
			} else if l != nil {
				out.items = l
			}
		}
		return out
	}
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
	r.maybe(s, odd, func() { r.declares(s, d) })
}

// declares reads export, declare, local and readonly, one word at a time: the options count for the words after them.
func (r *reader) declares(s *scope, d *syntax.DeclClause) {
	variant := d.Variant.Value
	if variant == "readonly" {
		r.steer(s, "readonly", s.span(d))
	}
	exported, letters := variant == "export", ""
	for _, a := range d.Args {
		span := s.span(a)
		if a.Name != nil && variant != "export" && variant != "readonly" && !strings.Contains(letters, "g") {
			s.local(a.Name.Value)
		}
		if a.Name != nil && !(a.Naked && exported) {
			r.sets(s, a.Name.Value, !a.Naked, span)
		}
		if a.Naked {
			if a.Value != nil && strings.HasPrefix(a.Value.Lit(), "-") {
				letters += a.Value.Lit()
			}
			exported = r.declaredText(s, a, variant, letters, exported) || exported
			continue
		}
		if a.Name != nil {
			r.declaredValue(s, a, letters, exported)
		}
	}
}

// declaredValue is NAME=value behind declare and its options.
func (r *reader) declaredValue(s *scope, a *syntax.Assign, letters string, exported bool) {
	name, v, span := a.Name.Value, r.assigned(s, a), s.span(a)
	r.subscript(s, v.texts, span)
	if strings.Contains(letters, "n") { // the name is that of another variable
		v = unknownValue
	}
	switch { // -u and -l change the letters of every value
	case strings.Contains(letters, "u"):
		v.texts = v.each(strings.ToUpper).texts
	case strings.Contains(letters, "l"):
		v.texts = v.each(strings.ToLower).texts
	}
	if strings.Contains(letters, "i") {
		r.integer(s, name, v, span)
	}
	r.setVariable(s, name, v, a.Append)
	if exported || affects(name) {
		r.exported(s, name, v, span)
	}
}

// integer: declare -i, after which the shell evaluates every value.
func (r *reader) integer(s *scope, name string, v value, span cmdline.Span) {
	r.integers[name] = true
	r.subscript(s, v.texts, span)
}

// declaredText is an option of declare, or an assignment that only expansion makes:
// export "$x=…". It says whether it was -x.
func (r *reader) declaredText(s *scope, a *syntax.Assign, variant, letters string, exported bool) bool {
	span := s.span(a)
	if a.Value == nil {
		if a.Name != nil && strings.Contains(letters, "i") {
			r.integer(s, a.Name.Value, value{}, span)
		}
		if a.Name != nil && exported {
			r.exported(s, a.Name.Value, r.lookup(s, a.Name.Value), span)
		}
		return false
	}
	for _, w := range r.word(s, a.Value) {
		t := w.Text
		r.named(s, variant, w, span)
		if strings.HasPrefix(t, "-") && strings.Contains(t, "x") {
			return true
		}
		r.subscript(s, []string{t}, span)
		if name, v, ok := strings.Cut(t, "="); ok && syntax.ValidName(name) {
			r.setVariable(s, name, single(cmdline.Literal(v)), false)
			r.exported(s, name, single(v), span)
		}
	}
	return false
}

// target is a file that a statement's output goes to.
type target struct {
	path    string
	appends bool
}

// connection is the path of what goes to another machine.
const connection = "/dev/tcp"

// redirects reads a statement's redirections: what is written and read, and what the
// command finds on its standard input.
func (r *reader) redirects(s *scope, st *syntax.Stmt) []target {
	var targets []target
	for _, d := range st.Redirs {
		if d.N != nil && strings.HasPrefix(d.N.Value, "{") {
			r.sets(s, strings.Trim(d.N.Value, "{}"), false, s.span(d))
		}
		switch d.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			text := r.document(s, d)
			if d.N == nil || d.N.Value == "0" {
				s.input = flow{kind: literal, text: text}
			}
		case syntax.WordHdoc:
			s.input = flow{kind: literal, text: cmdline.Literal(r.flat(s, d.Word)[0]) + "\n"}
		case syntax.DplIn, syntax.DplOut:
			r.duplicate(s, st, d)
		case syntax.RdrIn:
			r.inputFile(s, d)
		default:
			targets = append(targets, r.outputFile(s, d)...)
		}
	}
	return targets
}

// document is a here-document's text as the program reads it.
func (r *reader) document(s *scope, d *syntax.Redirect) string {
	if d.Hdoc == nil {
		return ""
	}
	quoted := slices.ContainsFunc(d.Word.Parts, func(p syntax.WordPart) bool {
		switch p := p.(type) {
		case *syntax.SglQuoted, *syntax.DblQuoted:
			return true
		case *syntax.Lit:
			return strings.Contains(p.Value, `\`)
		}
		return false
	})
	if !quoted {
		return flatText(r.pieces(s, d.Hdoc.Parts, true)[0])
	}
	var b strings.Builder
	for _, p := range d.Hdoc.Parts {
		if l, ok := p.(*syntax.Lit); ok {
			b.WriteString(l.Value)
		} else {
			b.WriteString(flatText(r.pieces(s, []syntax.WordPart{p}, true)[0]))
		}
	}
	return b.String()
}

// duplicate is >&1, >&- or >& file.
func (r *reader) duplicate(s *scope, st *syntax.Stmt, d *syntax.Redirect) {
	span := s.span(d)
	for _, t := range r.flat(s, d.Word) {
		switch {
		case len(t) > 1 && t[0] == '-': // bash takes what is right after >&- for another word, maybe the program
			var rest []cmdline.Word
			if c, ok := st.Cmd.(*syntax.CallExpr); ok {
				rest = r.words(s, c.Args)
			}
			r.advise(s, Unreadable, "a word directly after >&-, which the shell takes for a part of the command", "Put a blank after >&-", span)
			word := cmdline.At(t[1:], span)
			r.call(s, append([]cmdline.Word{word}, rest...), span)
			r.call(s, append(rest[:len(rest):len(rest)], word), span)
		case t == "" || t == "-" || isNumber(strings.TrimSuffix(t, "-")):
		case r.network(s, t, span):
		case d.Op == syntax.DplOut:
			r.write(s, cmdline.At(t, span), ">")
		}
	}
}

func (r *reader) inputFile(s *scope, d *syntax.Redirect) {
	r.lastProcess = nil
	for _, t := range r.flat(s, d.Word) {
		word := cmdline.At(t, s.span(d))
		s.input = flow{kind: content}
		if known, ok := r.file(s, t); ok {
			s.input = known
		}
		if r.network(s, t, word.Span) {
			s.input = flow{kind: download}
		}
		s.input.secret = r.read(s, word)
	}
	if r.lastProcess != nil {
		s.input = *r.lastProcess
	}
}

// outputFile is > >> >| &> &>> and <>.
func (r *reader) outputFile(s *scope, d *syntax.Redirect) []target {
	var targets []target
	r.lastProcess = nil
	for _, t := range r.flat(s, d.Word) {
		span := s.span(d)
		if r.network(s, t, span) {
			targets = append(targets, target{path: connection})
			continue
		}
		if r.lastProcess != nil {
			continue
		}
		r.write(s, cmdline.At(t, span), d.Op.String())
		p, _, ok := absolute(s.dir, t)
		if ok && (d.N == nil || d.N.Value == "1") && d.Op != syntax.RdrInOut {
			targets = append(targets, target{p, d.Op == syntax.AppOut || d.Op == syntax.AppAll})
		}
	}
	return targets
}

// network opens /dev/tcp/… and /dev/udp/…, which are bash's own.
func (r *reader) network(s *scope, t string, span cmdline.Span) bool {
	host, ok := strings.CutPrefix(t, "/dev/tcp/")
	if !ok {
		host, ok = strings.CutPrefix(t, "/dev/udp/")
	}
	if host, _, _ = strings.Cut(host, "/"); ok && !isLocal(host) {
		r.connected = true
		r.flag(s, ConnectRaw, "opens a connection to "+cmdline.Show(host), span)
	}
	return ok
}

func isLocal(host string) bool { return host == "localhost" || host == "127.0.0.1" || host == "::1" }

func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// remember keeps what the script wrote to a file, so that running it can be checked.
func (r *reader) remember(t target, f flow) {
	if t.appends {
		old, ok := r.files[t.path]
		if !ok && f.kind != literal { // a literal that is appended is known at least
			old = flow{kind: something}
		}
		old.add(f)
		f = old
	}
	r.files[t.path] = f
	if name, local := programName(f.root); f.kind == content && !local && strings.Contains(f.root, "/") {
		r.renamed[t.path] = name
		delete(r.files, t.path)
	}
}

// file is what the script wrote to a file before.
func (r *reader) file(s *scope, name string) (flow, bool) {
	p, _, ok := absolute(s.dir, name)
	if !ok {
		return flow{}, false
	}
	f, ok := r.files[p]
	return f, ok && f.kind != nothing
}

// contentOrInput is content, or what is on standard input.
func (r *reader) contentOrInput(s *scope, name string) (flow, bool) {
	if isStandardInput(name) {
		return s.input, true
	}
	return r.content(s, name)
}

// content is file, or what a process substitution prints.
func (r *reader) content(s *scope, name string) (flow, bool) {
	if name == pipeName && r.lastProcess != nil {
		return *r.lastProcess, true
	}
	return r.file(s, name)
}
