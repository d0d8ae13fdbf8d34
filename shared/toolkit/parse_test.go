package toolkit

import (
	"strings"
	"testing"
)

func TestParseTakesWhatRFC8259Allows(t *testing.T) {
	for _, c := range []struct{ what, in, text string }{
		{"every escape", `"\"\\\/\b\f\n\r\t\u0041"`, "\"\\/\b\f\n\r\tA"},
		{"a surrogate pair", `"\ud83d\ude00"`, "😀"},
		{"an escaped NUL", `"a\u0000b"`, "a\x00b"},
		{"the replacement character itself", `"\ufffd"`, "\ufffd"},
		{"text without escapes, not ASCII", `"héllo 世界"`, "héllo 世界"},
		{"an escape at the end", `"abc\n"`, "abc\n"},
		{"white space around", " \t\r\n\"x\" \n", "x"},
	} {
		n, err := parse([]byte(c.in))
		if err != nil {
			t.Errorf("%s: %v", c.what, err)
			continue
		}
		if got := unquote(n.raw); got != c.text {
			t.Errorf("%s: %q, want %q", c.what, got, c.text)
		}
	}
}

func TestParseKeepsTheBytesOfNumbers(t *testing.T) {
	for _, in := range []string{"0", "-0", "12", "-3.25", "1e9", "1E-9", "0.5e+3", "9007199254740993", "1e400"} {
		n, err := parse([]byte(in))
		if err != nil || n.kind != kindNumber || string(n.raw) != in {
			t.Errorf("%s: %q %v", in, n.raw, err)
		}
	}
}

func TestParseRefusesWhatIsNotJSON(t *testing.T) {
	for _, in := range []string{
		``, ` `, `{`, `}`, `[`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`, `[1,]`, `[,]`, `[1 2]`, `{"a":1 "b":2}`,
		`{a:1}`, `{'a':1}`, `01`, `-`, `1.`, `.5`, `+1`, `1e`, `1e+`, `0x10`, `NaN`, `Infinity`, `-Infinity`,
		`tru`, `True`, `nul`, `undefined`, `"`, `"abc`, `"\`, `"\x"`, `"\u12"`, `"\u12g4"`, "\"a\nb\"", "\"a\x00b\"",
		"\"\xff\"", "\"\xc3\"", "\"\xed\xa0\x80\"", `"\ud800"`, `"\udc00"`, `"\ud800x"`, `"\ud800\u0041"`, `"\ud800\ud800"`,
		`{}{}`, `{} x`, `1 2`, "\ufeff{}", `/* */{}`, `{"a":1}//`, "\x00",
	} {
		if n, err := parse([]byte(in)); err == nil {
			t.Errorf("%q was read as %s", in, n.kind.said())
		}
	}
}

func TestParseHasLimits(t *testing.T) {
	for _, c := range []struct {
		what, in string
		ok       bool
	}{
		{"as deep as allowed", strings.Repeat("[", maxDepth) + "1" + strings.Repeat("]", maxDepth), true},
		{"one deeper", strings.Repeat("[", maxDepth+1) + "1" + strings.Repeat("]", maxDepth+1), false},
		{"a million deep, never closed", strings.Repeat("[", 1_000_000), false},
		{"a million deep, in objects", strings.Repeat(`{"a":`, 1_000_000), false},
		{"as many values as allowed", "[" + strings.Repeat("1,", maxValues-2) + "1]", true},
		{"one value more", "[" + strings.Repeat("1,", maxValues-1) + "1]", false},
	} {
		if _, err := parse([]byte(c.in)); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.what, err)
		}
	}
}

func TestANameThatStandsTwiceIsFoundAtAnyDepth(t *testing.T) {
	many := strings.Builder{}
	for i := range fewMembers * 2 {
		many.WriteString(`"k` + strings.Repeat("x", i) + `":1,`)
	}
	for _, c := range []struct{ what, in, path string }{
		{"at the top", `{"a":1,"a":2}`, "a"},
		{"the same name by an escape", `{"a":1,"\u0061":2}`, "a"},
		{"the empty name", `{"":1,"":2}`, ""},
		{"in an object", `{"a":{"b":1,"b":1}}`, "a.b"},
		{"in a list", `{"a":[{"b":1},{"b":1,"c":2,"c":3}]}`, "a[1].c"},
		{"among many", `{` + many.String() + `"k":2}`, "k"},
	} {
		n, err := parse([]byte(c.in))
		if err != nil {
			t.Fatal(err)
		}
		if path, found := n.twice(); !found || path != c.path {
			t.Errorf("%s: %q %v, want %q", c.what, path, found, c.path)
		}
	}
	for _, in := range []string{`{"a":1,"A":2}`, `[{"a":1},{"a":1}]`, `{"a":{"a":{"a":1}}}`, `[1,1,1]`, `{` + many.String() + `"b":2}`} {
		n, err := parse([]byte(in))
		if err != nil {
			t.Fatal(err)
		}
		if path, found := n.twice(); found {
			t.Errorf("%s: %q does not stand twice", in, path)
		}
	}
}
