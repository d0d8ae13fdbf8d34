package jsonx

import (
	"bytes"
	"encoding/json"
	"reflect"
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
		n, err := Parse([]byte(c.in))
		if err != nil {
			t.Errorf("%s: %v", c.what, err)
			continue
		}
		if got := n.Text(); got != c.text {
			t.Errorf("%s: %q, want %q", c.what, got, c.text)
		}
	}
}

func TestParseKeepsTheBytesOfNumbers(t *testing.T) {
	for _, in := range []string{"0", "-0", "12", "-3.25", "1e9", "1E-9", "0.5e+3", "9007199254740993", "1e400"} {
		n, err := Parse([]byte(in))
		if err != nil || n.Kind != Number || string(n.Raw) != in {
			t.Errorf("%s: %q %v", in, n.Raw, err)
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
		if n, err := Parse([]byte(in)); err == nil {
			t.Errorf("%q was read as %v", in, n.Kind)
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
		if _, err := Parse([]byte(c.in)); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.what, err)
		}
	}
}

// FuzzParse: whatever the parser reads, encoding/json reads with the same text,
// and whatever it refuses is no JSON or breaks one of our rules.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{`{"a":[1,-2.5e3,true,null,"\n\u00e9"]}`, `"\ud83d\ude00"`, `"\ud800"`, `[1,]`, "\"\xff\"", ` 0 `, `01`, `{"a":1,"a":2}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		n, err := Parse(raw)
		if n.Kind == 0 {
			if err == nil {
				t.Fatalf("%q is no value and no error", raw)
			}
			return
		}
		var v any
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		if err := d.Decode(&v); err != nil {
			t.Fatalf("%q was read, encoding/json says %v", raw, err)
		}
		if s, ok := v.(string); ok != (n.Kind == String) || ok && s != n.Text() {
			t.Errorf("%q: %q is not %q", raw, n.Text(), s)
		}
		var again any
		d = json.NewDecoder(bytes.NewReader(n.AppendCanonical(nil)))
		d.UseNumber()
		if err := d.Decode(&again); err != nil || !reflect.DeepEqual(v, again) {
			t.Errorf("%q in one spelling is %s, %v", raw, n.AppendCanonical(nil), err)
		}
	})
}
