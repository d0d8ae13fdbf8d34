package effect

import (
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"github.com/multiollama/mcp-server/shell-exec/internal/cmdline"
)

// numbers and unforeseen are variables that the shell sets itself.
var (
	numbers = strings.Fields(`? $ ! # RANDOM SECONDS UID EUID PPID LINENO EPOCHSECONDS SRANDOM BASHPID SHLVL COLUMNS LINES OPTIND`)

	unforeseen = strings.Fields(`_ - 0 OLDPWD HOSTNAME REPLY OPTARG BASH_SOURCE FUNCNAME BASH_COMMAND BASH_VERSION OSTYPE MACHTYPE
		HOSTTYPE PIPESTATUS BASH_REMATCH DIRSTACK EPOCHREALTIME BASH_ARGV MAPFILE COPROC`)
)

// lookup is what a variable may hold. One that a text at a prompt does not assign may hold what it held when the shell
// began, or anything else.
func (r *reader) lookup(s *scope, name string) value {
	if v, ok := s.vars.find(name); ok {
		return v
	}
	var v value
	text, given := r.around.Env[name]
	switch {
	case isParam(name):
		return s.param(name)
	case r.around.Typed && slices.Contains(readOnly, name):
		return single("12345")
	case name == "HOME" && r.around.Home != "":
		v = single(r.around.Home)
	case name == "PWD" && s.dir != "":
		v = single(s.dir)
	case r.around.Typed && !given:
	case r.around.Typed:
		v = single(text)
	case name == "PWD":
		return unknownValue
	case name == "IFS":
		return single(" \t\n")
	case name == "0" && s.arg0 != "":
		return single(s.arg0)
	case name == "BASH" || name == "SHELL" && r.around.Env["SHELL"] == "":
		return single("/bin/bash") // the shell sets them itself
	case slices.Contains(numbers, name):
		return single("12345")
	case slices.Contains(unforeseen, name), !given && (s.tainted || r.around.Env == nil):
		return unknownValue
	default:
		v = single(text) // the environment is complete: what is not in it is not set
	}
	if r.around.Typed {
		return unknownValue.or(v)
	}
	return v
}

func isParam(name string) bool { return name == "@" || name == "*" || name[0] >= '1' && name[0] <= '9' }

func (s *scope) param(name string) value {
	if s.params == nil {
		return unknownValue
	}
	if name == "@" || name == "*" {
		return listOf(cmdline.Texts(s.params))
	}
	n, err := strconv.Atoi(name)
	if err != nil {
		return single("")
	}
	var v value
	for i := n - 1; i <= n-1+min(s.shifts, maxTexts); i++ {
		if i < len(s.params) {
			v = v.or(single(s.params[i].Text))
		} else {
			v = v.or(single(""))
		}
	}
	return v
}

// parameter expands $name and ${name…}.
func (r *reader) parameter(s *scope, p *syntax.ParamExp) value {
	if p.Param == nil {
		return unknownValue
	}
	r.arithmetic(s, p.Index)
	if p.Length || p.Width {
		return single("1")
	}
	v := r.lookup(s, p.Param.Value)
	assigns := p.Exp != nil && (p.Exp.Op == syntax.AssignUnset || p.Exp.Op == syntax.AssignUnsetOrNull)
	if p.Excl {
		return r.indirect(s, p, v, assigns)
	}
	if assigns {
		r.sets(s, p.Param.Value, false, s.span(p))
	}
	v = item(p, v)
	r.subexpressions(s, p)
	if p.Exp != nil {
		if out, ok := r.operator(s, p, v); ok {
			return out
		}
	} else if p.Slice == nil && p.Repl == nil {
		return v
	}

	// Package expand does %, #, /, :, ^ and , where the value is known.
	if v.list {
		return unknownValue
	}
	return v.each(func(t string) string { return r.expandExactly(s, p, t) })
}

// subexpressions looks at what is in ${x:a:b} and in ${x/a/b}.
func (r *reader) subexpressions(s *scope, p *syntax.ParamExp) {
	if p.Slice != nil {
		r.arithmetic(s, p.Slice.Offset)
		r.arithmetic(s, p.Slice.Length)
	}
	if p.Repl != nil {
		r.flat(s, p.Repl.Orig)
		r.flat(s, p.Repl.With)
	}
}

// indirect is ${!name…}: the variable that another one names, which may be an array's subscript with code in it.
func (r *reader) indirect(s *scope, p *syntax.ParamExp, v value, assigns bool) value {
	if p.Names == 0 {
		r.subscript(s, v.texts, s.span(p))
	}
	if p.Exp != nil && p.Exp.Word != nil {
		r.expand(s, p.Exp.Word.Parts, s.span(p))
	}
	r.subexpressions(s, p)
	if s.prompt && p.Names == 0 && slices.ContainsFunc(v.texts, func(t string) bool { return !syntax.ValidName(t) }) {
		r.flag(s, RunUnknownCode, "${!"+p.Param.Value+"} runs code that it finds in the value", s.span(p))
	}
	if assigns {
		for _, t := range v.texts {
			r.sets(s, t, false, s.span(p))
		}
	}
	if len(v.texts) == 1 && p.Names == 0 && syntax.ValidName(v.texts[0]) {
		return r.lookup(s, v.texts[0])
	}
	return unknownValue
}

// item is ${a[i]}, or ${a} for a list, which is its first.
func item(p *syntax.ParamExp, v value) value {
	w, simple := p.Index.(*syntax.Word)
	switch {
	case !v.list || p.Index == nil && (p.Param.Value == "@" || p.Param.Value == "*"):
		return v
	case p.Index == nil && len(v.at(0).texts) == 0:
		return single("")
	case p.Index == nil:
		return v.at(0)
	case !simple || w.Lit() == "@" || w.Lit() == "*":
		return v
	}
	if n, err := strconv.Atoi(w.Lit()); err == nil && n >= 0 && len(v.at(n).texts) > 0 {
		return v.at(n)
	}
	return value{texts: v.all()}
}

// operator is ${x:-…}, ${x:+…}, ${x:?…}, ${x:=…} and ${x@…}.
func (r *reader) operator(s *scope, p *syntax.ParamExp, v value) (value, bool) {
	var argument string
	if p.Exp.Word != nil {
		r.perhaps(s, func() { // it is expanded only where the shell needs it
			argument = strings.Join(cmdline.Texts(r.expand(s, p.Exp.Word.Parts, cmdline.Span{})), " ")
		})
	}
	switch p.Exp.Op {
	case syntax.DefaultUnset, syntax.DefaultUnsetOrNull:
		return v.orElse(argument), true
	case syntax.AssignUnset, syntax.AssignUnsetOrNull:
		out := v.orElse(argument)
		s.set(p.Param.Value, out)
		return out, true
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull:
		switch {
		case len(v.texts) == 1 && v.texts[0] == "":
			return v, true
		case len(v.texts) == 1 && !cmdline.Unknown(v.texts[0]):
			return single(argument), true
		}
		return single("").or(single(argument)), true
	case syntax.ErrorUnset, syntax.ErrorUnsetOrNull:
		return v.orElse(hole), true
	case syntax.OtherParamOps:
		return r.transformed(s, p, v), true
	}
	return value{}, false
}

func (v value) orElse(other string) value {
	if v.list {
		return v
	}
	var out value
	for _, t := range v.texts {
		if t != "" {
			out = out.or(single(t))
		}
		if t == "" || cmdline.Unknown(t) {
			out = out.or(single(other))
		}
	}
	return out
}

// transformed is ${x@L} and its like, where they make a text of a text. ${x@P} runs the
// substitutions that it finds in the value.
func (r *reader) transformed(s *scope, p *syntax.ParamExp, v value) value {
	letters := p.Exp.Word.Lit()
	if strings.Contains(letters, "P") {
		for _, t := range v.texts {
			if cmdline.Unknown(t) || hidesCode(t) || strings.Contains(t, `\`) {
				r.flag(s, RunDecoded, "${"+p.Param.Value+"@P} runs code that is hidden in the value", s.span(p))
			}
		}
		r.flag(s, RunUnknownCode, "${"+p.Param.Value+"@P} runs code that it finds in the value", s.span(p))
	}
	change := map[string]func(string) string{"L": strings.ToLower, "U": strings.ToUpper, "E": cmdline.Decode, "Q": cmdline.Quote}[letters]
	if change == nil || v.list || slices.ContainsFunc(v.texts, cmdline.Unknown) {
		return unknownValue
	}
	return v.each(change)
}

func hidesCode(t string) bool { return strings.Contains(t, "$(") || strings.Contains(t, "`") }

// expandExactly is an expansion for one text of its variable, where nothing in it is unknown.
func (r *reader) expandExactly(s *scope, p *syntax.ParamExp, text string) (out string) {
	if cmdline.HasMark(text) || !r.spend(s, 1+len(text)/64) {
		return hole
	}
	defer func() { // it panics on some malformed operators
		if recover() != nil {
			out = hole
		}
	}()
	env := expand.FuncEnviron(func(name string) string {
		if name == p.Param.Value {
			return text
		}
		if v := r.lookup(s, name); len(v.texts) == 1 && !v.list && !cmdline.HasMark(v.texts[0]) {
			return v.texts[0]
		}
		return ""
	})
	out, err := expand.Literal(&expand.Config{NoUnset: true, Env: env}, &syntax.Word{Parts: []syntax.WordPart{p}})
	if err != nil {
		return hole
	}
	return out
}

// arithmetic looks for code in an expression: substitutions, and subscripts that come
// from a value and are evaluated again.
func (r *reader) arithmetic(s *scope, x syntax.ArithmExpr) {
	if x == nil {
		return
	}
	hidden := func(n syntax.Node, texts []string) {
		if slices.ContainsFunc(texts, hidesCode) {
			r.flag(s, RunDecoded, "arithmetic evaluates code that is hidden in a value", s.span(n))
		}
	}
	r.counted(s, x)
	syntax.Walk(x, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			r.evaluates(s, []string{r.substitution(s, n)}, s.span(n))
			return false
		case *syntax.Lit:
			if strings.Contains(n.Value, `\$(`) || strings.Contains(n.Value, "\\`") {
				hidden(n, []string{cmdline.Unescape(n.Value, true)})
			}
			if n.Value != "@" && n.Value != "*" {
				r.evaluates(s, []string{n.Value}, s.span(n))
			}
		case *syntax.SglQuoted:
			hidden(n, []string{n.Value})
			r.evaluates(s, []string{n.Value}, s.span(n))
		case *syntax.Word:
			if v, ok := s.vars.find(n.Lit()); ok && syntax.ValidName(n.Lit()) {
				hidden(n, v.texts)
			}
		case *syntax.ParamExp:
			if n.Param != nil {
				texts := r.parameter(s, n).texts
				hidden(n, texts)
				r.evaluates(s, texts, s.span(n))
			}
			return false
		}
		return true
	})
}

// counted are the variables that an expression assigns.
func (r *reader) counted(s *scope, x syntax.ArithmExpr) {
	if !s.prompt {
		return
	}
	syntax.Walk(x, func(n syntax.Node) bool {
		var target syntax.ArithmExpr
		certain := false
		switch n := n.(type) {
		case *syntax.BinaryArithm:
			op := n.Op.String()
			if n.Op == syntax.Assgn || strings.HasSuffix(op, "=") && !slices.Contains([]string{"==", "!=", "<=", ">="}, op) {
				target, certain = n.X, n.Op == syntax.Assgn
			}
		case *syntax.UnaryArithm:
			if n.Op == syntax.Inc || n.Op == syntax.Dec {
				target = n.X
			}
		}
		if w, ok := target.(*syntax.Word); ok {
			name := strings.Join(r.flat(s, w), "")
			if p, ok := w.Parts[0].(*syntax.ParamExp); ok && p.Short && p.Index != nil {
				name = p.Param.Value // a[i]
			}
			r.sets(s, name, false, s.span(n))
			if certain && syntax.ValidName(name) { // && and ?: may leave it out
				r.perhaps(s, func() { r.setVariable(s, name, single("1"), false) })
			}
		} else if target != nil {
			r.steer(s, "arithmetic that assigns", s.span(n))
		}
		return true
	})
}

// subscript: bash runs $( … ) in an array's subscript that it is given as data.
func (r *reader) subscript(s *scope, texts []string, span cmdline.Span) {
	for _, t := range texts {
		if v, ok := s.vars.find(t); ok && syntax.ValidName(t) {
			t = strings.Join(v.texts, " ")
		}
		if t = cmdline.Literal(t); strings.Contains(t, "[") && hidesCode(t) {
			r.flag(s, RunDecoded, "an array's subscript that is given as data is run as code", span)
		}
	}
}
