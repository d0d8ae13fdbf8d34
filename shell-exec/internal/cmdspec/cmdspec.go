// Package cmdspec is what is known about programs: which of their options take a
// value, what their operands are (files to delete, to write, another command), and
// what they do by themselves. The knowledge is a table, programs.toml.
//
// It refuses to judge: it says what a word is, not whether that is allowed. A program
// that is not in the table is not known, and nothing is assumed about it.
package cmdspec

import (
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
	Assigns  bool              `toml:"assigns"`  // NAME=value words stand before the operands
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
	takes map[string]bool
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

// Table finds programs by name.
type Table struct{ rows map[string]*Program }

// Known is the table of programs.toml.
var Known = sync.OnceValues(func() (*Table, error) { return Parse(source) })

// Parse reads a table. A row's key is a name, or several of them: in "docker|podman rm"
// each word may be an alternative, and "a, b" are two names.
func Parse(data []byte) (*Table, error) {
	rows := map[string]*Program{}
	d := toml.NewDecoder(strings.NewReader(string(data)))
	if err := d.DisallowUnknownFields().Decode(&rows); err != nil {
		return nil, fmt.Errorf("the table of programs: %w", err)
	}
	t := &Table{map[string]*Program{}}
	for key, row := range rows {
		for _, name := range names(key) {
			if t.rows[name] != nil {
				return nil, fmt.Errorf("the table of programs has %q twice", name)
			}
			t.rows[name] = row.named(name)
		}
	}
	t.connect()
	return t, nil
}

func names(key string) []string {
	var all []string
	for _, part := range strings.Split(key, ",") {
		made := []string{""}
		for _, word := range strings.Fields(part) {
			var longer []string
			for _, begin := range made {
				for _, alternative := range strings.Split(word, "|") {
					longer = append(longer, strings.TrimSpace(begin+" "+alternative))
				}
			}
			made = longer
		}
		all = append(all, made...)
	}
	return all
}

// connect gives each row of several words a row for the words before.
func (t *Table) connect() {
	for _, name := range slices.Sorted(maps.Keys(t.rows)) {
		for {
			cut := strings.LastIndexByte(name, ' ')
			if cut < 0 {
				break
			}
			name = name[:cut]
			if t.rows[name] == nil {
				t.rows[name] = (&Program{}).named(name)
			}
			t.rows[name].subs = true
		}
	}
}

func (p *Program) named(name string) *Program {
	c := *p
	c.Name = name
	c.long, c.takes = map[string]bool{}, map[string]bool{}
	for _, o := range p.Values {
		c.takes[o] = true
	}
	for o := range p.Options {
		c.takes[o] = true
	}
	for _, list := range append(slices.Collect(actOptions(p.Acts)), p.Values, p.Deep, optionNames(p.Options)) {
		for _, o := range list {
			if len(o) > 2 && o[0] == '-' && o[1] != '-' {
				c.long[o] = true
			}
		}
	}
	return &c
}

func optionNames(m map[string]string) Words {
	var all Words
	for o := range m {
		all = append(all, o)
	}
	return all
}

func actOptions(acts []Act) func(func(Words) bool) {
	return func(yield func(Words) bool) {
		for _, a := range acts {
			if !yield(a.With) || !yield(a.Without) {
				return
			}
		}
	}
}

// Find is the row for a program's argv and how many words of argv its name takes, or
// nil. Options before a sub-command are passed over.
func (t *Table) Find(argv []cmdline.Word) (row *Program, rest []cmdline.Word) {
	if len(argv) == 0 {
		return nil, nil
	}
	row = t.rows[argv[0].Text]
	if row == nil {
		row = t.versioned(argv[0].Text)
	}
	if row == nil {
		return nil, argv[1:]
	}
	return row, argv[1:]
}

// versioned finds python3.12 as python3, and mkfs.ext4 as mkfs.
func (t *Table) versioned(name string) *Program {
	if base, _, ok := strings.Cut(name, "."); ok && base != "" {
		if row := t.rows[base]; row != nil {
			return row
		}
	}
	return t.rows[strings.TrimRight(name, "0123456789.-")]
}

// Sub is the row for what follows in args: the sub-command's row, if there is one, its
// arguments, and the options that stood before it.
func (t *Table) Sub(row *Program, args []cmdline.Word) (sub *Program, rest []cmdline.Word, before Args) {
	if !row.subs {
		return nil, nil, Args{}
	}
	before = row.split(args, true)
	if before.Rest >= len(args) {
		return nil, nil, before
	}
	sub = t.rows[row.Name+" "+args[before.Rest].Text]
	if sub == nil && row.Name != row.alias() {
		sub = t.rows[row.alias()+" "+args[before.Rest].Text]
	}
	if sub == nil {
		return nil, nil, before
	}
	return sub, args[before.Rest+1:], before
}

func (p *Program) alias() string { return strings.TrimRight(p.Name, "0123456789.") }

// Rows are all programs of the table, by their names.
func (t *Table) Rows() map[string]*Program { return maps.Clone(t.rows) }
