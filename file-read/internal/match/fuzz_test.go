package match_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/multiollama/mcp-server/file-read/internal/match"
)

// reference finds line:column by taking one line after the other.
func reference(re *regexp.Regexp, data string) []string {
	found := []string{}
	for i, line := range linesOf(data) {
		if loc := re.FindStringIndex(line); loc != nil {
			found = append(found, fmt.Sprintf("%d:%d", i+1, loc[0]+1))
		}
	}
	return found
}

func linesOf(data string) []string {
	lines := strings.Split(strings.ReplaceAll(data, "\r\n", "\n"), "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// referenceSpans finds firstline-lastline:column of matches that may span
// lines, those that share a line put together.
func referenceSpans(re *regexp.Regexp, data string) []string {
	data = strings.ReplaceAll(data, "\r\n", "\n")
	found := []string{}
	first, last, column := 0, 0, 0
	flush := func() {
		if last > 0 {
			found = append(found, fmt.Sprintf("%d-%d:%d", first, last, column))
		}
	}
	for _, loc := range re.FindAllStringIndex(data, -1) {
		a, b := loc[0], loc[1]
		if a == len(data) && (a == 0 || data[a-1] == '\n') {
			continue
		}
		begin := 1 + strings.Count(data[:a], "\n")
		end := begin
		if b > a {
			end = 1 + strings.Count(data[:b-1], "\n")
		}
		if begin > last {
			flush()
			first, column = begin, a-strings.LastIndex(data[:a], "\n")
		}
		last = max(last, end)
	}
	flush()
	return found
}

// outcome is a result in the words of the references.
func outcome(res match.Result, spans bool) []string {
	found := []string{}
	for _, h := range res.Hits {
		s := fmt.Sprintf("%d:%d", h.Line, h.Column)
		if spans {
			s = fmt.Sprintf("%d-%d:%d", h.Line, h.Line+int64(strings.Count(h.Text, "\n")), h.Column)
		}
		found = append(found, s)
	}
	return found
}

// inPieces gives a text in pieces of n bytes.
type inPieces struct {
	text string
	n    int
}

func (r *inPieces) Read(p []byte) (int, error) {
	if r.text == "" {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), max(1, r.n))], r.text)
	r.text = r.text[n:]
	return n, nil
}

// FuzzSearch holds every search against one that takes each line by itself, and
// every search over lines against the regexp package on the whole text.
func FuzzSearch(f *testing.F) {
	for _, expr := range []string{"a", "a.b", "^$", `\bfoo\b`, "(?i)k", "[^x]+y", `(?s).`, `\Aa|b\z`, `x*`, `\s+$`, `(a|b)+?c`, "ab|ac", `(?-m:^a$)`, `\x{FFFD}`, "foo(bar)+baz", `\Bx`, `a\nb`, `(?U)a+$`, `[[:^alpha:]]`, `ſtop`, `[0-9]{3}-[A-Z]{2}`, `\p{Cyrillic}{3,}`, `a.*oo|b`, `(?i)masks?`, `gr[ea]y+|f.o`} {
		f.Add(expr, "foo\nxfoo a.b\r\n\r\nabc\nK k\u212a xyzzy\nfoobarbarbaz", false, false, false, 7, 0)
		f.Add(expr, "a\nb\n\n\nx\r\ny  \n", true, false, true, 1, 3)
		f.Add(expr, "A.B a.b\nſtop STOP", true, true, false, 100, 100)
	}
	f.Fuzz(func(t *testing.T, expr, data string, fold, fixed, multi bool, piece, times int) {
		data = clean(data)
		p, err := match.Compile(expr, match.Options{FoldCase: fold, Fixed: fixed, Multiline: multi})
		if err != nil || strings.Contains(expr, "\r") || strings.Contains(expr, `\r`) || strings.Contains(strings.ToLower(expr), `\x`) || strings.Contains(expr, `\0`) || strings.Contains(expr, `\1`) {
			t.Skip()
		}
		p.Small(piece & 511)
		data = strings.Repeat(data, 1+max(0, min(times, 2000/(len(data)+1))))
		if fixed {
			expr = regexp.QuoteMeta(expr)
		}
		flags := "(?m)"
		if fold {
			flags = "(?mi)"
		}
		re := regexp.MustCompile(flags + expr)
		want, spans := reference(re, data), multi && crosses(expr)
		if spans {
			want = referenceSpans(re, data)
		}
		engines := []func(*match.Pattern){func(*match.Pattern) {}}
		if !spans {
			engines = append(engines, (*match.Pattern).Alone, (*match.Pattern).Slow)
		}
		for _, engine := range engines {
			engine(p)
			everyWay(t, p, data, piece, func(res match.Result) {
				t.Helper()
				if diff := cmp.Diff(want, outcome(res, spans)); diff != "" {
					t.Errorf("%q by %s in %q (-want +got)\n%s", expr, p.Engine(), data, diff)
				}
			})
		}
	})
}

// everyWay searches a text in pieces and by offset, and counts what it finds.
func everyWay(t *testing.T, p *match.Pattern, data string, piece int, check func(match.Result)) {
	t.Helper()
	w := match.Want{MaxText: 1 << 20}
	at, err := p.Search(t.Context(), strings.NewReader(data), w)
	if err != nil {
		t.Fatal(err)
	}
	check(at)
	w.Context = 1
	res, err := p.Search(t.Context(), &inPieces{data, piece}, w)
	if err != nil {
		t.Fatal(err)
	}
	check(res)
	promised(t, p, res)
	count, err := p.Search(t.Context(), &inPieces{data, piece}, match.Want{CountOnly: true})
	if err != nil || count.Lines != res.Lines {
		t.Errorf("counted %d of %d lines, %v", count.Lines, res.Lines, err)
	}
}

// promised holds every hit to what the pattern says that it contains.
func promised(t *testing.T, p *match.Pattern, res match.Result) {
	t.Helper()
	required := p.Required()
	for _, h := range res.Hits {
		if required != nil && !slices.ContainsFunc(required, func(l match.Literal) bool { return contains(h.Text, l) }) {
			t.Errorf("%q contains none of %v", h.Text, required)
		}
	}
}

func contains(s string, l match.Literal) bool {
	if l.Fold {
		s = strings.Map(func(r rune) rune {
			if 'A' <= r && r <= 'Z' {
				r += 'a' - 'A'
			}
			return r
		}, s)
	}
	return strings.Contains(s, string(l.Text))
}

// clean makes data plain UTF-8 text, whose encoding is not in doubt.
func clean(data string) string {
	data = strings.NewReplacer("\x00", "", "\x1b", "", "\uFEFF", "").Replace(data)
	return strings.TrimPrefix(strings.ToValidUTF8(data, "?"), "%PDF-")
}

// crosses asks the expression itself, not its tree, whether a match depends on
// more than one line. Where that cannot be told both ways give the same.
func crosses(expr string) bool {
	for _, s := range []string{"\n", `\n`, "[^", `\s`, `\S`, `\D`, `\W`, `\P`, `\p`, "[[:", "(?s", `\A`, `\z`, "-m", "["} {
		if strings.Contains(expr, s) {
			return true
		}
	}
	return strings.Contains(expr, "(?")
}

// TestStreamsOfManyBlocks has texts of several blocks, with lines of all
// lengths, so that every kind of thing comes to lie on a border.
func TestStreamsOfManyBlocks(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	exprs := []string{"needle", "(?i)NEEDLE", `ne{2}dle`, `[0-9][x-z]{2}`, `[é-ſ]{2}`, `(?i)x.*y`, `^x*$`, `[0-9]z$`, `\bxx\b`, "é+[^a]", `^\s*needle\s*$`, "zz|yy$"}
	for range 3 {
		data := randomText(r)
		for _, expr := range exprs {
			p := compile(t, expr, match.Options{})
			p.Small(1 + r.IntN(40_000))
			res, err := p.Search(t.Context(), &inPieces{data, 1 + r.IntN(100_000)}, match.Want{MaxText: 10, Context: r.IntN(2)})
			if err != nil {
				t.Fatal(err)
			}
			want, got := reference(regexp.MustCompile(expr), data), outcome(res, false)
			if !reflect.DeepEqual(want, got) || int(res.Lines) != len(want) || res.Windowed {
				t.Errorf("%q: %s", expr, cmp.Diff(want, got))
			}
		}
	}
}

func randomText(r *rand.Rand) string {
	var b strings.Builder
	b.WriteString("text\n")
	words := []string{"needle", "NEEDLE", "x", "xx", " ", "  ", "7z", "é", "zz", "y", "hay", "\t", "\r", "ſ"}
	ends := []string{"\n", "\n", "\r\n", "\n\n", "\r\r\n"}
	for size := 50_000 + r.IntN(100_000); b.Len() < size; {
		n := r.IntN(8)
		if r.IntN(500) == 0 {
			n = r.IntN(10_000)
		}
		for range n {
			b.WriteString(words[r.IntN(len(words))])
		}
		b.WriteString(ends[r.IntN(len(ends))])
	}
	s := b.String()
	if !utf8.ValidString(s) {
		panic("not UTF-8")
	}
	return s[:len(s)-r.IntN(2)]
}
