package dfa

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func parse(t testing.TB, expr string) *syntax.Regexp {
	t.Helper()
	tree, err := syntax.Parse(expr, syntax.Perl&^syntax.OneLine)
	if err != nil {
		t.Skip()
	}
	return tree
}

func program(t testing.TB, expr string) *Program {
	t.Helper()
	p := Compile(parse(t, expr))
	if p == nil {
		t.Fatalf("%q is too large", expr)
	}
	return p
}

// check holds a machine to the regexp package over the lines of a text.
func check(t *testing.T, p *Program, m *Machine, re *regexp.Regexp, text []byte) {
	t.Helper()
	var got []int
	for _, at := range m.Lines(text, nil) {
		got = append(got, bytes.Count(text[:at], []byte{'\n'}))
	}
	if m.Failed() {
		return
	}
	lines := bytes.Split(text, []byte{'\n'})
	if len(lines[len(lines)-1]) == 0 {
		lines = lines[:len(lines)-1]
	}
	for i, line := range lines {
		told, want := slices.Contains(got, i), re.Match(line)
		unsure := p.Approximate() && !ascii(line)
		if told != want && !(unsure && told) {
			t.Errorf("%q: line %d of %d, %q: %v", re, i, len(lines), line, told)
		}
		if alone := m.Line(line); alone != told && !m.Failed() {
			t.Errorf("%q: line %d, %q: %v alone", re, i, line, alone)
		}
	}
	if !slices.IsSorted(got) || len(slices.Compact(got)) != len(got) {
		t.Errorf("%q: lines %v", re, got)
	}
}

func ascii(b []byte) bool {
	return !bytes.ContainsFunc(b, func(r rune) bool { return r >= utf8.RuneSelf })
}

var exprs = []string{
	``, `a`, `a.b`, `^$`, `^`, `$`, `\bfoo\b`, `(?i)k`, `[^x]+y`, `x*`, `\s+$`, `(a|b)+?c`, `ab|ac`, `\x{FFFD}`, `foo(bar)+baz`, `\Bx`, `\B`, `x\B.`,
	`\b^a`, `a$\b`, `[[:^alpha:]]`, `ſ`, `(?i)s$`, `\p{Cyrillic}{3,}`, `[А-я]+`, `^.{3}$`, `\w{5}\s+\w{5}\s+\w{5}`, `[0-9]{3}-[A-Z]{4}`, `é+[^a]`, `^\W+$`, `[\x{10000}-\x{10FFFF}]`,
	`[\x{D000}-\x{E000}x]`, `(?:a|b)*a(?:a|b){9}$`,
}

// FuzzLines holds the machine to the regexp package.
func FuzzLines(f *testing.F) {
	for i, expr := range exprs {
		f.Add(expr, []byte("foo\nxfoo a.b\n\nabc\nK k\u212a xyzzy\nfoobarbarbaz \xff\nДДД a\xd0\ns\n"), uint16(i*100))
	}
	f.Fuzz(func(t *testing.T, expr string, text []byte, times uint16) {
		if strings.Contains(expr, "\n") || len(expr) > 100 || len(text) > 1000 {
			t.Skip()
		}
		tree := parse(t, expr)
		re, err := regexp.Compile(`(?m)` + expr)
		if err != nil || crosses(tree) {
			t.Skip()
		}
		p := Compile(tree)
		if p == nil || len(p.inst) > 500 {
			t.Skip()
		}
		text = bytes.Repeat(text, 1+min(int(times), 5000/(len(text)+1)))
		check(t, p, p.Machine(), re, text)
		prefix(t, p, re, text)
	})
}

// crosses says that the tree is none that matches within a line.
func crosses(tree *syntax.Regexp) bool {
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return true
	}
	for i := range prog.Inst {
		in := &prog.Inst[i]
		switch in.Op {
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(in.Arg)&(syntax.EmptyBeginText|syntax.EmptyEndText) != 0 {
				return true
			}
		case syntax.InstRuneAny:
			return true
		case syntax.InstRune, syntax.InstRune1:
			if in.MatchRune('\n') {
				return true
			}
		}
	}
	return false
}

// prefix holds the bytes of every match to those that it may have.
func prefix(t *testing.T, p *Program, re *regexp.Regexp, text []byte) {
	sets := p.Prefix(5)
	for _, loc := range re.FindAllIndex(text, -1) {
		match := text[loc[0]:loc[1]]
		if len(match) < len(sets) && !p.Approximate() {
			t.Fatalf("%q: %q is shorter than %d", re, match, len(sets))
		}
		for i, c := range match[:min(len(match), len(sets))] {
			if !sets[i][c] && !(p.Approximate() && !ascii(text)) {
				t.Fatalf("%q: byte %d of %q is not in the prefix", re, i, match)
			}
		}
	}
}

func TestLongTextsOfManyStates(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	words := []string{"a", "b", "foo", " ", "  ", "x", "\n", "\n\n", "Д", "é", "7", "-", "\xff", "ABCD", "k", "word", "state "}
	for _, expr := range exprs {
		p, re := program(t, expr), regexp.MustCompile(`(?m)`+expr)
		m := p.Machine()
		for range 3 {
			var b bytes.Buffer
			for size := r.IntN(8_000); b.Len() < size; {
				b.WriteString(words[r.IntN(len(words))])
			}
			check(t, p, m, re, b.Bytes())
		}
		if m.Failed() {
			t.Errorf("%q failed", expr)
		}
	}
}

// TestWhatIsForgottenIsFoundAgain has so many states that they are forgotten in
// the middle of streams.
func TestWhatIsForgottenIsFoundAgain(t *testing.T) {
	const expr = `(?:a|b)*a(?:a|b){10}$`
	p, re := program(t, expr), regexp.MustCompile(`(?m)`+expr)
	m := p.Machine()
	m.max = 1 << 12
	r := rand.New(rand.NewPCG(3, 4))
	for range 3 {
		var b bytes.Buffer
		for b.Len() < 5_000 {
			for range r.IntN(60) {
				b.WriteByte("ab"[r.IntN(2)])
			}
			b.WriteByte('\n')
		}
		m.credit = firstCredit
		check(t, p, m, re, b.Bytes())
	}
	if m.forgot < 3 || m.Failed() {
		t.Errorf("forgot %d times, failed %v", m.forgot, m.Failed())
	}
}

func TestAMachineGivesUpWhereEveryByteIsANewState(t *testing.T) {
	p := program(t, `(?:a|b)*a(?:a|b){40}$`)
	m := p.Machine()
	r := rand.New(rand.NewPCG(5, 6))
	text := make([]byte, 1<<16)
	for i := range text {
		text[i] = "ab"[r.IntN(2)]
	}
	for i := 0; !m.Failed(); i++ {
		if i == 50 {
			t.Fatal("it went on")
		}
		m.Lines(text, nil)
	}
	if len(m.table) > 2*maxTable || len(m.nodes) > 2*maxTable {
		t.Errorf("%d entries, %d nodes", len(m.table), len(m.nodes))
	}
}

// TestRunIsThePortableOne holds one to the other on the same streams.
func TestRunIsThePortableOne(t *testing.T) {
	m := program(t, `[a-c]{3}x|\bd`).Machine()
	r := rand.New(rand.NewPCG(7, 8))
	text := make([]byte, 4000)
	for i := range text {
		text[i] = "abcdx \n"[r.IntN(7)]
	}
	m.Lines(text, nil)
	stopped := 0
	for range 1000 {
		var a, b [streams]stream
		for i := range a {
			at := r.IntN(3000)
			a[i] = stream{at, 4000, m.begin}
		}
		b = a
		n := r.IntN(900)
		got, want := run(&m.p.class, m.table, text, &a, n), runPortable(&m.p.class, m.table, text, &b, n)
		if got != want || a != b {
			t.Fatalf("%d and %v, not %d and %v", got, a, want, b)
		}
		if got < n {
			stopped++
		}
	}
	if stopped == 0 {
		t.Error("nothing was found")
	}
}

func BenchmarkLines(b *testing.B) {
	text := []byte(strings.Repeat("func (p *Pattern) Search(ctx context.Context, r io.Reader, w Want) (Result, error)\n\treturn nil, nil\n", 1<<9))
	for _, expr := range []string{`\w{6}\s+\w{5}\s+\w{5}`, `[a-z]+[0-9][a-z]`, `rr.*nil`} {
		p := program(b, expr)
		m := p.Machine()
		b.Run(fmt.Sprintf("%q", expr), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			var found []int
			for b.Loop() {
				found = m.Lines(text, found[:0])
			}
		})
	}
}
