package effect

import (
	"maps"
	"slices"

	"mvdan.cc/sh/v3/syntax"

	"github.com/multiollama/mcp-server/shell-exec/internal/cmdline"
)

func (r *reader) statements(s *scope, all []*syntax.Stmt) {
	for i, one := range all {
		r.statement(s, one)
		if rest := all[i+1:]; s.locals != nil && len(rest) > 0 && calls(one, "return") {
			r.perhaps(s, func() { r.statements(s, rest) })
			return
		}
	}
}

func (r *reader) statement(s *scope, st *syntax.Stmt) {
	if !r.spend(s, 1) {
		return
	}
	input, redirected := s.input, s.redirected
	defer func() { s.input, s.redirected = input, redirected }()
	s.redirected = len(st.Redirs) > 0
	targets := r.redirects(s, st)
	if len(targets) == 0 && !mayFail(st.Redirs) {
		r.compound(s, st)
		return
	}
	if len(targets) == 0 {
		r.perhaps(s, func() { r.compound(s, st) })
		return
	}
	outer := s.output
	s.output = flow{}
	if mayFail(st.Redirs) {
		r.perhaps(s, func() { r.compound(s, st) })
	} else {
		r.compound(s, st)
	}
	for _, t := range targets {
		if t.path == connection && s.output.secret {
			r.flag(s, SendSecret, "sends credentials", s.span(st))
		}
		r.remember(t, s.output)
	}
	s.output = outer
	s.output.add(flow{kind: literal}) // what was printed went to the file
}

// mayFail says that a file may not be there, or not be one that can be opened: then nothing of the statement runs.
func mayFail(redirects []*syntax.Redirect) bool {
	return slices.ContainsFunc(redirects, func(d *syntax.Redirect) bool {
		switch d.Op {
		case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc, syntax.DplIn, syntax.DplOut:
			return false
		}
		return d.Word == nil || d.Word.Lit() != "/dev/null"
	})
}

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
		r.ifClause(s, c)
	case *syntax.WhileClause:
		r.perhaps(s, func() { r.branch(s, func() { r.rounds(s, c) }) })
	case *syntax.ForClause:
		r.forClause(s, c)
	case *syntax.CaseClause:
		r.caseClause(s, c)
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
	case *syntax.CoprocClause:
		r.coprocess(s, c)
	default:
		r.flag(s, Unreadable, "a construct that is not understood", s.span(st))
	}
}

// binary takes the left-leaning tree of a long list apart without recursion.
func (r *reader) binary(s *scope, c *syntax.BinaryCmd) {
	if isPipe(c.Op) {
		r.pipeline(s, c)
		return
	}
	var chain []*syntax.BinaryCmd
	first := c.X
	for chain = append(chain, c); ; {
		b, ok := first.Cmd.(*syntax.BinaryCmd)
		if !ok || isPipe(b.Op) || len(first.Redirs) > 0 {
			break
		}
		chain, first = append(chain, b), b.X
	}
	r.statement(s, first)
	slices.Reverse(chain)
	if certain(chain) {
		for _, c := range chain {
			r.listed(s, c)
		}
		return
	}
	r.perhaps(s, func() {
		for _, c := range chain {
			r.listed(s, c)
		}
	})
}

// certain: what follows on a && b || exit comes after all of a and b.
func certain(chain []*syntax.BinaryCmd) bool {
	last := len(chain) - 1
	return chain[last].Op == syntax.OrStmt && leaves([]*syntax.Stmt{chain[last].Y}) &&
		!slices.ContainsFunc(chain[:last], func(c *syntax.BinaryCmd) bool { return c.Op == syntax.OrStmt })
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
		} else if r.world.Typed || r.world.Env[name] != "" {
			v = v.or(r.lookup(s, name))
		}
		s.set(name, v)
	}
	s.rejoin(dir, false)
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

// listed is the right side of && or ||: after || it may not have run.
func (r *reader) listed(s *scope, c *syntax.BinaryCmd) {
	if c.Op == syntax.AndStmt {
		r.statement(s, c.Y)
		return
	}
	before := s.dir
	s.branches++
	r.statement(s, c.Y)
	s.branches--
	s.rejoin(before, leaves([]*syntax.Stmt{c.Y}))
}

// rejoin is the directory after a branch that may not have run.
func (s *scope) rejoin(before string, left bool) {
	if left || s.dir == before {
		s.dir = before
		return
	}
	s.dir = ""
}

func isPipe(op syntax.BinCmdOperator) bool { return op == syntax.Pipe || op == syntax.PipeAll }

func (r *reader) pipeline(s *scope, c *syntax.BinaryCmd) {
	var parts []*syntax.Stmt
	st := &syntax.Stmt{Cmd: c}
	for {
		b, ok := st.Cmd.(*syntax.BinaryCmd)
		if !ok || !isPipe(b.Op) || len(st.Redirs) > 0 {
			break
		}
		parts, st = append(parts, b.Y), b.X
	}
	input, last := s.input, s.sub()
	parts = append(parts, st)
	for i := len(parts) - 1; i >= 0; i-- {
		last = s.sub()
		last.input = input
		r.statement(last, parts[i])
		if input = last.output; input.kind == nothing {
			input.kind = something
		}
	}
	s.output.add(last.output)
}

// branch reads what may or may not run.
func (r *reader) branch(s *scope, read func()) {
	before := s.dir
	s.branches++
	read()
	s.branches--
	s.rejoin(before, false)
}

// rounds follows a loop once, and one that drops parameters until none are left.
func (r *reader) rounds(s *scope, c *syntax.WhileClause) {
	looping := s.looping
	defer func() { s.looping = looping }()
	s.looping = s.branches
	s.loops++
	defer func() { s.loops-- }()
	for range maxTexts {
		left := len(s.params)
		r.statements(s, c.Cond)
		r.statements(s, c.Do)
		if len(s.params) == left {
			return
		}
	}
}

func (r *reader) ifClause(s *scope, c *syntax.IfClause) {
	for ; c != nil; c = c.Else {
		r.statements(s, c.Cond)
		before := s.dir
		s.branches++
		r.statements(s, c.Then)
		s.branches--
		s.rejoin(before, leaves(c.Then))
	}
}

func (r *reader) forClause(s *scope, c *syntax.ForClause) {
	switch loop := c.Loop.(type) {
	case *syntax.WordIter:
		v := r.iterated(s, loop)
		if c.Select {
			v = v.or(single(""))
		}
		if loop.Name != nil {
			r.sets(s, loop.Name.Value, false, s.span(loop.Name))
			if old, known := s.vars.find(loop.Name.Value); known && (c.Select || maybeNone(v)) {
				v = v.or(old)
			} else if r.world.Typed && len(v.texts) == 0 {
				v = unknownValue
			}
			s.set(loop.Name.Value, v)
		}
	case *syntax.CStyleLoop:
		s.counters(loop)
		for _, x := range []syntax.ArithmExpr{loop.Init, loop.Cond, loop.Post} {
			r.arithmetic(s, x)
		}
	}
	s.loops++
	r.branch(s, func() { r.statements(s, c.Do) })
	s.loops--
}

func (r *reader) iterated(s *scope, loop *syntax.WordIter) value {
	var v value
	if !loop.InPos.IsValid() {
		if v.texts = r.lookup(s, "@").all(); len(v.texts) == 0 {
			return unknownValue
		}
	}
	for _, w := range r.words(s, loop.Items) {
		v = v.or(single(cmdline.Quoted(w.Text)))
	}
	return v
}

// maybeNone: a loop over nothing leaves its variable as it is.
func maybeNone(v value) bool {
	return !slices.ContainsFunc(v.texts, func(t string) bool { return t != "" && !cmdline.Unknown(t) })
}

// counters gives the variables of for ((…)) a number.
func (s *scope) counters(loop *syntax.CStyleLoop) {
	syntax.Walk(loop, func(n syntax.Node) bool {
		if b, ok := n.(*syntax.BinaryArithm); ok && b.Op == syntax.Assgn {
			if w, ok := b.X.(*syntax.Word); ok && w.Lit() != "" {
				s.set(w.Lit(), single("1"))
			}
		}
		return true
	})
}

func (r *reader) caseClause(s *scope, c *syntax.CaseClause) {
	r.flat(s, c.Word)
	r.branch(s, func() {
		for _, item := range c.Items {
			for _, pattern := range item.Patterns {
				r.flat(s, pattern)
			}
			r.statements(s, item.Stmts)
		}
	})
}

func (r *reader) define(s *scope, c *syntax.FuncDecl) {
	declared := c.Names
	if c.Name != nil {
		declared = []*syntax.Lit{c.Name}
	}
	for _, name := range declared {
		if name == nil {
			continue
		}
		old, known := s.functions[name.Value]
		bodies := []*syntax.Stmt{c.Body}
		if s.branches > 0 || r.recalling {
			bodies = append(bodies, old.bodies...)
		}
		r.defines = true
		if name.Value == "command_not_found_handle" {
			r.steer(s, name.Value, s.span(c))
		}
		if slices.Contains(reserved, name.Value) {
			r.rewrites = true
			r.flag(s, Unreadable, "a function that takes the name "+name.Value+" from the shell's grammar", s.span(c))
		}
		s.functions[name.Value] = function{bodies: bodies[:min(len(bodies), maxTexts)], perhaps: s.branches > 0 && (!known || old.perhaps)}
		if multiplies(name.Value, c.Body) {
			r.flag(s, ForkBomb, "the function "+name.Value+" starts itself again and again", s.span(c))
		}
	}
}

// coprocess: bash takes the first word for a name only before a compound command.
func (r *reader) coprocess(s *scope, c *syntax.CoprocClause) {
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
}

// leaves says that what follows the statements does not run after them.
func leaves(all []*syntax.Stmt) bool {
	if len(all) == 0 {
		return false
	}
	switch c := all[len(all)-1].Cmd.(type) {
	case *syntax.CallExpr:
		if len(c.Args) > 0 {
			switch c.Args[0].Lit() {
			case "exit", "return", "continue", "break":
				return true
			}
		}
	case *syntax.Block:
		return leaves(c.Stmts)
	}
	return false
}

// multiplies finds the fork bomb: a function that pipes itself into itself, or starts
// itself in the background.
func multiplies(name string, body *syntax.Stmt) bool {
	found := false
	syntax.Walk(body, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.BinaryCmd:
			found = found || isPipe(n.Op) && calls(n.X, name) && calls(n.Y, name)
		case *syntax.Stmt:
			found = found || n.Background && calls(n, name)
		}
		return !found
	})
	return found
}

func calls(n syntax.Node, name string) bool {
	found := false
	syntax.Walk(n, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.CallExpr); ok && len(c.Args) > 0 && c.Args[0].Lit() == name {
			found = true
		}
		return !found
	})
	return found
}

func (r *reader) test(s *scope, x syntax.TestExpr) {
	switch x := x.(type) {
	case *syntax.Word:
		r.flat(s, x)
	case *syntax.UnaryTest:
		r.test(s, x.X)
		if x.Op == syntax.TsVarSet || x.Op == syntax.TsRefVar {
			r.subscripts(s, x.X, s.span(x))
		}
	case *syntax.BinaryTest:
		r.test(s, x.X)
		r.test(s, x.Y)
		switch x.Op {
		case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
			r.subscripts(s, x.X, s.span(x))
			r.subscripts(s, x.Y, s.span(x))
		}
	case *syntax.ParenTest:
		r.test(s, x.X)
	}
}

func (r *reader) subscripts(s *scope, x syntax.TestExpr, span cmdline.Span) {
	if w, ok := x.(*syntax.Word); ok {
		texts := r.flat(s, w)
		r.subscript(s, texts, span)
		r.evaluates(s, texts, span)
	}
}
