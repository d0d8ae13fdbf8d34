package effect

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
var programsTOML []byte

// wordList is a list that the table writes as words between blanks.
type wordList []string

// UnmarshalText splits the words.
func (w *wordList) UnmarshalText(text []byte) error {
	*w = strings.Fields(string(text))
	return nil
}

// Has says that one of the words is, or as a pattern with a * at its end begins, s.
func (w wordList) Has(s string) bool {
	return slices.ContainsFunc(w, func(word string) bool {
		prefix, open := strings.CutSuffix(word, "*")
		return word == s || open && strings.HasPrefix(s, prefix)
	})
}

// program is a row of the table. The roles are those of reader.role.
type program struct {
	Name     string            `toml:"-"`        // as it is looked up: "git push"
	Values   wordList          `toml:"values"`   // options that take a value
	Options  map[string]string `toml:"options"`  // the roles of their values; these options take one as well
	Flags    wordList          `toml:"flags"`    // long options without a value whose names begin like one with a value
	Single   bool              `toml:"single"`   // options of one dash are never several in one
	Stops    bool              `toml:"stops"`    // options end at the first operand
	Assigns  bool              `toml:"assigns"`  // NAME=value words come before the operands
	First    string            `toml:"first"`    // the role of the first operand
	Operands string            `toml:"operands"` // the role of the others
	Deep     wordList          `toml:"deep"`     // options that make it work on whole trees
	Nothing  wordList          `toml:"nothing"`  // with one of these as its first word it does nothing of note
	Model    string            `toml:"model"`    // what models knows about it beyond this row
	Language string            `toml:"language"` // of the code that it runs
	Prints   string            `toml:"prints"`   // what comes out of it
	Acts     []act             `toml:"acts"`

	subs  bool            // there are rows for its first operand
	long  map[string]bool // options of one dash and many letters
	takes map[string]bool // options that take a value
}

// act is something that a program does by itself, when the conditions hold.
type act struct {
	On      string   `toml:"on"`      // its operands begin like this: "stash drop|clear"
	Except  wordList `toml:"except"`  // and the operand after those is none of these
	With    wordList `toml:"with"`    // one of these options or operands is there
	Without wordList `toml:"without"` // none of these is
	Effect  string   `toml:"effect"`
	Why     string   `toml:"why"`
	Do      string   `toml:"do"`
}

// programTable is programs by name. What is not in it is not known, and nothing is assumed about it.
type programTable map[string]*program

// knownPrograms is the table of programs.toml. That it can be read is a test's matter.
var knownPrograms = sync.OnceValue(func() programTable {
	t, err := parsePrograms(programsTOML)
	if err != nil {
		panic(err)
	}
	return t
})

// parsePrograms reads a table. A row's key is a name, or several of them: in "docker|podman rm"
// each word may be an alternative, and "a, b" are two names.
func parsePrograms(data []byte) (programTable, error) {
	rows, t := map[string]program{}, programTable{}
	if err := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields().Decode(&rows); err != nil {
		return nil, fmt.Errorf("the table of programs: %w", err)
	}
	for key, row := range rows {
		for _, name := range expandedNames(key) {
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
				t[name] = program{}.named(name)
			}
			t[name].subs = true
		}
	}
	return t, nil
}

// expandedNames are the names that a key stands for.
func expandedNames(key string) []string {
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

func (p program) named(name string) *program {
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

// findProgram is the row of a program, or nil. python3.12 is found as python3, and mkfs.ext4 as mkfs.
func findProgram(name string) *program {
	t := knownPrograms()
	if row := t[name]; row != nil {
		return row
	}
	if base, _, ok := strings.Cut(name, "."); ok && base != "" && t[base] != nil {
		return t[base]
	}
	return t[strings.TrimRight(name, "0123456789.-")]
}

// sub is the row for what follows in args: the sub-command's row, if there is one, its
// arguments, and the options before it.
func (p *program) sub(args []cmdline.Word) (sub *program, rest []cmdline.Word, before arguments) {
	if !p.subs {
		return nil, nil, arguments{}
	}
	before = p.split(args, true)
	if before.Rest >= len(args) {
		return nil, nil, before
	}
	t, operand := knownPrograms(), " "+args[before.Rest].Text
	if sub = t[p.Name+operand]; sub == nil {
		sub = t[strings.TrimRight(p.Name, "0123456789.")+operand]
	}
	return sub, args[before.Rest+1:], before
}

// Short is argv without the options between a program's name and its first operand:
// what rules are matched against, so that git -C x push is git push.
func Short(argv []cmdline.Text) []cmdline.Text {
	if len(argv) < 2 {
		return argv
	}
	row := knownPrograms()[argv[0]]
	if row == nil {
		return argv
	}
	words := make([]cmdline.Word, len(argv)-1)
	for i, a := range argv[1:] {
		words[i].Text = a
	}
	return append([]cmdline.Text{argv[0]}, argv[1+row.split(words, true).Rest:]...)
}

// arguments are a program's arguments, sorted.
type arguments struct {
	Options  []option
	Operands []cmdline.Word
	Rest     int // where the operands begin, for programs whose options end there
}

// option is one option, with its dashes.
type option struct {
	Name   string
	Value  cmdline.Word
	Valued bool
}

// Split sorts args into options and operands.
func (p *program) Split(args []cmdline.Word) arguments { return p.split(args, p.Stops) }

func (p *program) split(args []cmdline.Word, stops bool) arguments {
	var a arguments
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
			o := option{Name: p.full(name), Valued: assigned}
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
func (p *program) full(name string) string {
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
func (p *program) letters(a *arguments, args []cmdline.Word) int {
	t := args[0].Text
	for i := 1; i < len(t); i++ {
		o, takes, used := option{Name: "-" + t[i:i+1]}, p.takes["-"+t[i:i+1]], 0
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
func (a arguments) Has(names ...string) bool {
	_, ok := a.Find(names...)
	return ok
}

// Find is the first of the options that is there.
func (a arguments) Find(names ...string) (option, bool) {
	for _, o := range a.Options {
		for _, name := range names {
			if o.Name == name || strings.HasPrefix(name, "--") && len(o.Name) > 4 && strings.HasPrefix(name, o.Name) {
				return o, true
			}
		}
	}
	return option{}, false
}

// Does says whether the act's conditions hold for the arguments.
func (act *act) Does(a arguments) bool {
	operands := a.Operands
	for _, pattern := range strings.Fields(act.On) {
		if len(operands) == 0 || !wordList(strings.Split(pattern, "|")).Has(operands[0].Text) {
			return false
		}
		operands = operands[1:]
	}
	if act.Except != nil && (len(operands) == 0 || act.Except.Has(operands[0].Text)) {
		return false
	}
	// Options, and words without a dash among the operands.
	isThere := func(words wordList) bool {
		return a.Has(words...) || slices.ContainsFunc(a.Operands, func(o cmdline.Word) bool { return o.Text != "" && words.Has(o.Text) })
	}
	return (act.With == nil || isThere(act.With)) && !isThere(act.Without)
}
