package effect

import (
	"maps"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/multiollama/mcp-server/shell-exec/internal/cmdline"
)

// scope is what a shell has at one point of a script. A subshell gets one of its own.
type scope struct {
	vars       *variables
	functions  map[string]function
	aliases    map[string]alias
	dir        string            // "" where it is not known
	params     []cmdline.Word    // $1…; nil where they are not known
	shifts     int               // how many more of them may have been dropped
	loops      int               // how many loops the current statement is in
	looping    int               // branches that are a loop which is followed round by round
	locals     map[string]*value // of the function, with what they were outside; nil outside of one
	env        map[string]value  // what the current command finds in its environment in addition
	arg0       string
	branches   int    // how many conditions the current statement depends on
	splitting  bool   // IFS has been set
	separators string // to this, "" where that is not known
	searching  bool   // CDPATH may be set: cd looks elsewhere first
	prompt     bool   // what runs here runs in the shell at whose prompt it is typed, or in a copy of it
	redirected bool   // the current statement has redirections of its own
	tainted    bool   // a file was sourced: any variable may have any value
	depth      int
	via        []string
	grammar    cmdline.Grammar
	container  bool

	// where a script in a script is in the text that was given
	base  int
	exact bool
	outer cmdline.Span

	input  flow
	output flow
}

// function has several bodies where it depends on a condition which of them counts.
type function struct {
	bodies  []*syntax.Stmt
	past    bool // an earlier line at the prompt defined it, and perhaps removed it
	perhaps bool // the same of the line that is read
}

type alias struct {
	texts []string
	past  bool
}

// variables is a layer of variables over another.
type variables struct {
	own map[string]value
	up  *variables
}

func (v *variables) layer() *variables { return &variables{own: map[string]value{}, up: v} }

func (v *variables) find(name string) (value, bool) {
	for ; v != nil; v = v.up {
		if found, ok := v.own[name]; ok {
			return found, true
		}
	}
	return value{}, false
}

func (s *scope) set(name string, v value) { s.vars.own[name] = v }

// sub is the scope of a subshell.
func (s *scope) sub() *scope {
	c := *s
	c.vars = s.vars.layer()
	c.functions, c.aliases = maps.Clone(s.functions), maps.Clone(s.aliases)
	c.output = flow{}
	return &c
}

// within is the scope of what a command runs: it has the same variables.
func (s *scope) within(via string) *scope {
	c := *s
	c.via = append(slices.Clip(slices.Clone(s.via)), via)
	c.depth++
	c.output = flow{}
	return &c
}

// apart is the scope of a text that a command runs but that is not written letter by letter
// in the script: what it does is reported at the span.
func (s *scope) apart(via string, span cmdline.Span, input flow) *scope {
	c := s.within(via)
	c.exact, c.outer, c.input = false, span, input
	return c
}

// inPlace is the scope of a script that takes the place of the shell that s is of.
func (s *scope) inPlace(input flow) *scope {
	c := s.within("")
	c.depth, c.via, c.input = s.depth, s.via, input
	return c
}

// give puts a variable into the environment of the command that is looked at.
func (s *scope) give(name string, v value) {
	env := map[string]value{name: v}
	for other, v := range s.env {
		if other != name {
			env[other] = v
		}
	}
	s.env = env
}

// local remembers what a variable is outside the function that has one of that name.
func (s *scope) local(name string) {
	if s.locals != nil && s.locals[name] == nil {
		v, _ := s.vars.find(name)
		s.locals[name] = &v
	}
}

func (s *scope) span(n syntax.Node) cmdline.Span {
	if !s.exact || n == nil {
		return s.outer
	}
	return cmdline.Span{Start: s.base + int(n.Pos().Offset()), End: s.base + int(n.End().Offset())}
}

// flow is what goes through a pipe.
type flow struct {
	kind        flowKind
	text        string // literal
	root        string // names: the directory that they are in
	hint        string // what may be in it
	filtered    bool   // names: not all of them
	decoded     bool
	secret      bool
	interactive bool // what an interactive shell prints
}

type flowKind int

const (
	nothing flowKind = iota
	literal
	names   // of files
	content // of a file
	something
	download
	decoding
)

const maxHint = 4 << 10

// add is what comes out when o comes out after f.
func (f *flow) add(o flow) {
	secret, interactive := f.secret || o.secret, f.interactive || o.interactive
	switch texts := f.kind == literal && o.kind == literal; {
	case f.kind == nothing:
		*f = o
	case o.kind == nothing:
	default:
		hint := ""
		if known := texts && f.hint == "" && o.hint == ""; !known && len(f.hint)+len(o.hint)+len(f.text)+len(o.text) <= maxHint {
			hint = strings.Trim(strings.Join([]string{f.hint, f.text, o.hint, o.text}, "\n"), "\n")
		}
		f.hint = hint
		if texts && len(f.text)+len(o.text) <= maxText {
			f.text, f.decoded = f.text+o.text, f.decoded || o.decoded
		} else {
			f.kind = max(f.kind, o.kind, something)
		}
	}
	f.secret, f.interactive = secret, interactive
}

// lines are those of a text that is known.
func (f flow) lines() []string {
	if f.kind != literal {
		return nil
	}
	return strings.Split(f.text, "\n")
}

// prints adds a text to what comes out.
func (s *scope) prints(text string) { s.output.add(flow{kind: literal, text: text}) }

// value is the texts that a variable may have.
type value struct {
	texts  []string
	list   bool
	items  [][]string   // of a list, each with its texts
	others [][][]string // lists that it may be instead
}

func single(text string) value { return value{texts: []string{text}} }

// listOf is a list of texts that are known.
func listOf(texts []string) value {
	v := value{list: true}
	for _, t := range texts {
		v.items = append(v.items, []string{t})
	}
	return v
}

var unknownValue = single(hole)

// or is a value that may be v or o.
func (v value) or(o value) value {
	out := value{texts: slices.Clone(v.texts), list: v.list || o.list}
	for _, t := range o.texts {
		if !slices.Contains(out.texts, t) {
			out.texts = append(out.texts, t)
		}
	}
	if out.list {
		lists := v.lists()
		for _, l := range o.lists() {
			if len(lists) < maxTexts && !slices.ContainsFunc(lists, func(k [][]string) bool { return slices.EqualFunc(k, l, slices.Equal) }) {
				lists = append(lists, l)
			}
		}
		if len(lists) > 0 {
			out.items, out.others = lists[0], lists[1:]
		}
	}
	if len(out.texts) > maxTexts {
		out.texts = append(out.texts[:maxTexts-1:maxTexts-1], hole)
	}
	return out
}

// each is the value of the changed texts.
func (v value) each(change func(string) string) value {
	var out value
	for _, t := range v.texts {
		out = out.or(single(change(t)))
	}
	return out
}

// lists are those that the value may be: a text is one with one item, and an empty one is none.
func (v value) lists() [][][]string {
	switch {
	case v.list:
		return append([][][]string{v.items}, v.others...)
	case strings.Join(v.texts, "") != "":
		return [][][]string{{v.texts}}
	}
	return nil
}

// at is what may be at an index of the list.
func (v value) at(n int) value {
	var out value
	for _, l := range v.lists() {
		if n < len(l) {
			out = out.or(value{texts: l[n]})
		}
	}
	return out
}

// all are the texts of a list's items.
func (v value) all() []string { return slices.Concat(slices.Concat(v.lists()...)...) }
