package cmdspec

import (
	"strings"

	"github.com/multiollama/mcp-server/shell-exec/internal/cmdline"
)

// Args are a program's arguments, sorted.
type Args struct {
	Options  []Option
	Operands []cmdline.Word
	Rest     int // where the operands begin, for programs whose options end there
}

// Option is one option, with its dashes.
type Option struct {
	Name   string
	Value  cmdline.Word
	Valued bool
}

// Split sorts args into options and operands.
func (p *Program) Split(args []cmdline.Word) Args { return p.split(args, p.Stops) }

func (p *Program) split(args []cmdline.Word, stops bool) Args {
	var a Args
	for i := 0; i < len(args); i++ {
		t := args[i].Text
		switch {
		case t == "--":
			a.Rest = i + 1
			a.Operands = append(a.Operands, args[i+1:]...)
			return a
		case len(t) < 2 || t[0] != '-':
			if stops {
				a.Rest = i
				a.Operands = args[i:]
				return a
			}
			a.Operands = append(a.Operands, args[i])
		case t[1] == '-' || p.Single || p.long[before(t, '=')]:
			i += p.longOption(&a, args[i:])
		default:
			i += p.cluster(&a, args[i:])
		}
	}
	a.Rest = len(args)
	return a
}

func before(s string, sep byte) string {
	if i := strings.IndexByte(s, sep); i >= 0 {
		return s[:i]
	}
	return s
}

// longOption reads --name, --name=value or --name value, and says how many words more
// than one that took.
func (p *Program) longOption(a *Args, args []cmdline.Word) int {
	name := before(args[0].Text, '=')
	o := Option{Name: p.full(name)}
	if len(name) < len(args[0].Text) {
		o.Value, o.Valued = args[0].From(len(name)+1), true
	}
	used := 0
	if !o.Valued && p.takes[o.Name] && len(args) > 1 {
		o.Value, o.Valued, used = args[1], true, 1
	}
	a.Options = append(a.Options, o)
	return used
}

// full completes an abbreviated long option that takes a value, as getopt_long does.
func (p *Program) full(name string) string {
	if p.takes[name] || len(name) < 5 || p.Flags.Has(name) {
		return name
	}
	for o := range p.takes {
		if strings.HasPrefix(o, name) {
			return o
		}
	}
	return name
}

func (p *Program) cluster(a *Args, args []cmdline.Word) int {
	t := args[0].Text
	for i := 1; i < len(t); i++ {
		o := Option{Name: "-" + t[i:i+1]}
		if !p.takes[o.Name] {
			a.Options = append(a.Options, o)
			continue
		}
		used := 0
		if i+1 < len(t) {
			o.Value, o.Valued = args[0].From(i+1), true
		} else if len(args) > 1 {
			o.Value, o.Valued, used = args[1], true, 1
		}
		a.Options = append(a.Options, o)
		return used
	}
	return 0
}

// Has says that one of the options is there; long ones may be abbreviated.
func (a Args) Has(names ...string) bool {
	_, ok := a.Find(names...)
	return ok
}

// Find is the first of the options that is there.
func (a Args) Find(names ...string) (Option, bool) {
	for _, o := range a.Options {
		for _, name := range names {
			if o.Name == name || strings.HasPrefix(name, "--") && len(o.Name) > 4 && strings.HasPrefix(name, o.Name) {
				return o, true
			}
		}
	}
	return Option{}, false
}

// Does says whether the act's conditions hold for the arguments.
func (act *Act) Does(a Args) bool {
	operands := a.Operands
	for _, pattern := range strings.Fields(act.On) {
		if len(operands) == 0 || !Words(strings.Split(pattern, "|")).Has(operands[0].Text) {
			return false
		}
		operands = operands[1:]
	}
	if act.Except != nil && (len(operands) == 0 || act.Except.Has(operands[0].Text)) {
		return false
	}
	return (act.With == nil || act.With.any(a)) && !act.Without.any(a)
}

// any looks for options, and for words without a dash among the operands.
func (w Words) any(a Args) bool {
	if a.Has(w...) {
		return true
	}
	for _, o := range a.Operands {
		if w.Has(o.Text) && o.Text != "" {
			return true
		}
	}
	return false
}

// Short is argv without the options between a program's name and its first operand:
// what rules are matched against, so that git -C x push is git push.
func (t *Table) Short(argv []cmdline.Text) []cmdline.Text {
	if len(argv) < 2 {
		return argv
	}
	row := t.rows[argv[0]]
	if row == nil {
		return argv
	}
	words := make([]cmdline.Word, len(argv)-1)
	for i, a := range argv[1:] {
		words[i].Text = a
	}
	rest := row.split(words, true).Rest
	return append([]cmdline.Text{argv[0]}, argv[1+rest:]...)
}
