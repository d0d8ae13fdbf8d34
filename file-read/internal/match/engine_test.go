package match_test

import (
	"slices"
	"testing"

	"github.com/multiollama/mcp-server/file-read/internal/match"
)

func TestPatternsAreLookedForByWhatIsRareInThem(t *testing.T) {
	fold, multi := match.Options{FoldCase: true}, match.Options{Multiline: true}
	for _, c := range []struct {
		expr     string
		o        match.Options
		engine   string
		required []string
	}{
		{`xyzzyqq needle`, match.Options{}, "trio", []string{"xyzzyqq needle"}},
		{`return`, match.Options{}, "trio", []string{"return"}},
		{`context canceled`, fold, "trio", []string{"~context canceled"}},
		{`bytes\.Buffer|strings\.Builder|io\.Pipe|sync\.Once|atomic\.Bool`, match.Options{}, "teddy", []string{"bytes.Buffer", "strings.Builder", "io.Pipe", "sync.Once", "atomic.Bool"}},
		{`\bfunc\s+\w+Handler\b`, match.Options{}, "trio, machine", []string{"Handler"}},
		{`[A-Za-z]+_test\.go`, match.Options{}, "trio, machine", []string{"_test.go"}},
		{`\w{5}\s+\w{5}\s+\w{5}`, match.Options{}, "machine", []string{"\t", "\f", "\r", " "}},
		{`\p{Cyrillic}{3,}`, match.Options{}, "window, machine", nil},
		{`[0-9]{3}-[A-Z]{4}-[0-9]{3}`, match.Options{}, "window, machine", []string{"-"}},

		{`mask`, fold, "teddy", []string{"~mask", "~mas\u212a", "~ma\u017fk", "~ma\u017f\u212a"}},
		{`Ä`, fold, "teddy", []string{"ä", "Ä"}},
		{`colou?r`, match.Options{}, "teddy", []string{"colour", "color"}},
		{`foo(bar)+baz`, match.Options{}, "trio, machine", []string{"barbaz"}},
		{`gr[ea]y`, match.Options{}, "teddy", []string{"gray", "grey"}},
		{`^foobar$`, match.Options{}, "trio, machine", []string{"foobar"}},
		{`(foo|bar)\d+(quux|zz)`, match.Options{}, "teddy, machine", []string{"quux", "zz"}},
		{`a\x{FFFD}bcd`, match.Options{}, "trio, machine", []string{"bcd"}},
		{`x`, match.Options{}, "byte", []string{"x"}},
		{`x*`, match.Options{}, "machine", nil},
		{`(x|)`, match.Options{}, "machine", nil},
		{`\pL{200}`, match.Options{}, "regexp", nil},
		{`foo\nbar`, multi, "trio", nil},
		{`foo\s+bar`, multi, "trio, machine", []string{"bar"}},
	} {
		p := compile(t, c.expr, c.o)
		var required []string
		for _, l := range p.Required() {
			fold := ""
			if l.Fold {
				fold = "~"
			}
			required = append(required, fold+string(l.Text))
		}
		slices.Sort(required)
		slices.Sort(c.required)
		if p.Engine() != c.engine || !slices.Equal(required, c.required) {
			t.Errorf("%q is looked for by %s, %q", c.expr, p.Engine(), required)
		}
	}
}
