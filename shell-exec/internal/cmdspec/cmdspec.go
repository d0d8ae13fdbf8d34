// Package cmdspec is what is known about programs: which of their options take a
// value, what their operands are (files to delete, to write, another command), and
// what they do by themselves. The knowledge is a table, programs.toml.
//
// It decides nothing: it says what a word is, not whether that is allowed. A program
// that is not in the table is not known, and nothing is assumed about it.
package cmdspec

import (
	"bytes"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"

	"github.com/multiollama/mcp-server/shell-exec/internal/cmdline"
)

//go:embed programs.toml
var source []byte

// Words is a list that the table writes as words between blanks.
type Words []string

// UnmarshalText splits the words.
func (w *Words) UnmarshalText(text []byte) error {
	*w = strings.Fields(string(text))
	return nil
}

// Has says that one of the words is, or as a pattern with a * at its end begins, s.
func (w Words) Has(s string) bool {
	return slices.ContainsFunc(w, func(word string) bool {
		prefix, open := strings.CutSuffix(word, "*")
		return word == s || open && strings.HasPrefix(s, prefix)
	})
}

// Program is a row of the table. The roles are those of package effect.
type Program struct {
	Name     string            `toml:"-"`        // as it is looked up: "git push"
	Values   Words             `toml:"values"`   // options that take a value
	Options  map[string]string `toml:"options"`  // the roles of their values; these options take one as well
	Flags    Words             `toml:"flags"`    // long options without a value whose names begin like one with a value
	Single   bool              `toml:"single"`   // options of one dash are never several in one
	Stops    bool              `toml:"stops"`    // options end at the first operand
	Assigns  bool              `toml:"assigns"`  // NAME=value words come before the operands
	First    string            `toml:"first"`    // the role of the first operand
	Operands string            `toml:"operands"` // the role of the others
	Deep     Words             `toml:"deep"`     // options that make it work on whole trees
	Nothing  Words             `toml:"nothing"`  // with one of these as its first word it does nothing of note
	Model    string            `toml:"model"`    // what package effect knows about it beyond this row
	Language string            `toml:"language"` // of the code that it runs
	Prints   string            `toml:"prints"`   // what comes out of it
	Acts     []Act             `toml:"acts"`

	subs  bool            // there are rows for its first operand
	long  map[string]bool // options of one dash and many letters
	takes map[string]bool // options that take a value
}

// Act is something that a program does by itself, when the conditions hold.
type Act struct {
	On      string `toml:"on"`      // its operands begin like this: "stash drop|clear"
	Except  Words  `toml:"except"`  // and the operand after those is none of these
	With    Words  `toml:"with"`    // one of these options or operands is there
	Without Words  `toml:"without"` // none of these is
	Effect  string `toml:"effect"`
	Why     string `toml:"why"`
	Do      string `toml:"do"`
}

// Table is programs by name.
type Table map[string]*Program

// Known is the table of programs.toml. That it can be read is a test's matter.
var Known = sync.OnceValue(func() Table {
	t, err := Parse(source)
	if err != nil {
		panic(err)
	}
	return t
})

// Parse reads a table. A row's key is a name, or several of them: in "docker|podman rm"
// each word may be an alternative, and "a, b" are two names.
func Parse(data []byte) (Table, error) {
	rows, t := map[string]Program{}, Table{}
	if err := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields().Decode(&rows); err != nil {
		return nil, fmt.Errorf("the table of programs: %w", err)
	}
	for key, row := range rows {
		for _, name := range names(key) {
			if t[name] != nil {
				return nil, fmt.Errorf("the table of programs has %q twice", name)
			}
			t[name] = row.named(name)
		}
	}
	for _, name := range slices.Collect(maps.Keys(t)) { // each row of several words has one for the words before
		for cut := strings.LastIndexByte(name, ' '); cut >= 0; cut = strings.LastIndexByte(name, ' ') {
			name = name[:cut]
			if t[name] == nil {
				t[name] = Program{}.named(name)
			}
			t[name].subs = true
		}
	}
	return t, nil
}

func names(key string) []string {
	var all []string
	for part := range strings.SplitSeq(key, ",") {
		made := []string{""}
		for _, word := range strings.Fields(part) {
			var longer []string
			for _, begin := range made {
				for alternative := range strings.SplitSeq(word, "|") {
					longer = append(longer, strings.TrimSpace(begin+" "+alternative))
				}
			}
			made = longer
		}
		all = append(all, made...)
	}
	return all
}

func (p Program) named(name string) *Program {
	p.Name, p.long, p.takes = name, map[string]bool{}, map[string]bool{}
	for _, o := range slices.AppendSeq(slices.Clone(p.Values), maps.Keys(p.Options)) {
		p.takes[o] = true
	}
	options := slices.AppendSeq(slices.Clone(p.Deep), maps.Keys(p.takes))
	for _, a := range p.Acts {
		options = slices.Concat(options, a.With, a.Without)
	}
	for _, o := range options {
		if len(o) > 2 && o[0] == '-' && o[1] != '-' {
			p.long[o] = true
		}
	}
	return &p
}

// Find is the row of a program, or nil. python3.12 is found as python3, and mkfs.ext4 as mkfs.
func (t Table) Find(name string) *Program {
	if row := t[name]; row != nil {
		return row
	}
	if base, _, ok := strings.Cut(name, "."); ok && base != "" && t[base] != nil {
		return t[base]
	}
	return t[strings.TrimRight(name, "0123456789.-")]
}

// Sub is the row for what follows in args: the sub-command's row, if there is one, its
// arguments, and the options before it.
func (t Table) Sub(row *Program, args []cmdline.Word) (sub *Program, rest []cmdline.Word, before Args) {
	if !row.subs {
		return nil, nil, Args{}
	}
	before = row.split(args, true)
	if before.Rest >= len(args) {
		return nil, nil, before
	}
	operand := " " + args[before.Rest].Text
	if sub = t[row.Name+operand]; sub == nil {
		sub = t[strings.TrimRight(row.Name, "0123456789.")+operand]
	}
	return sub, args[before.Rest+1:], before
}

// Short is argv without the options between a program's name and its first operand:
// what rules are matched against, so that git -C x push is git push.
func (t Table) Short(argv []cmdline.Text) []cmdline.Text {
	if len(argv) < 2 || t[argv[0]] == nil {
		return argv
	}
	words := make([]cmdline.Word, len(argv)-1)
	for i, a := range argv[1:] {
		words[i].Text = a
	}
	return append([]cmdline.Text{argv[0]}, argv[1+t[argv[0]].split(words, true).Rest:]...)
}

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
		name, _, assigned := strings.Cut(t, "=")
		switch {
		case t == "--":
			a.Operands, a.Rest = append(a.Operands, args[i+1:]...), i+1
			return a
		case len(t) < 2 || t[0] != '-':
			if stops {
				a.Operands, a.Rest = args[i:], i
				return a
			}
			a.Operands = append(a.Operands, args[i])
		case t[1] == '-' || p.Single || p.long[name]:
			o := Option{Name: p.full(name), Valued: assigned}
			if assigned {
				o.Value = args[i].From(len(name) + 1)
			} else if p.takes[o.Name] && i+1 < len(args) {
				i++
				o.Value, o.Valued = args[i], true
			}
			a.Options = append(a.Options, o)
		default:
			i += p.letters(&a, args[i:])
		}
	}
	a.Rest = len(args)
	return a
}

// full completes an abbreviated long option that takes a value, as getopt_long does.
func (p *Program) full(name string) string {
	if p.takes[name] || len(name) < 5 || p.Flags.Has(name) {
		return name
	}
	for _, o := range slices.Sorted(maps.Keys(p.takes)) {
		if strings.HasPrefix(o, name) {
			return o
		}
	}
	return name
}

// letters reads several options of one letter in one word. The value of the last one may be
// the next word: it says how many words more than one that took.
func (p *Program) letters(a *Args, args []cmdline.Word) int {
	t := args[0].Text
	for i := 1; i < len(t); i++ {
		o, takes, used := Option{Name: "-" + t[i:i+1]}, p.takes["-"+t[i:i+1]], 0
		if takes && i+1 < len(t) {
			o.Value, o.Valued = args[0].From(i+1), true
		} else if takes && len(args) > 1 {
			o.Value, o.Valued, used = args[1], true, 1
		}
		a.Options = append(a.Options, o)
		if takes {
			return used
		}
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
	// Options, and words without a dash among the operands.
	isThere := func(words Words) bool {
		return a.Has(words...) || slices.ContainsFunc(a.Operands, func(o cmdline.Word) bool { return o.Text != "" && words.Has(o.Text) })
	}
	return (act.With == nil || isThere(act.With)) && !isThere(act.Without)
}
