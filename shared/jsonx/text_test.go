package jsonx

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
)

// theirs is s as encoding/json writes it.
func theirs(t testing.TB, s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

var texts = []string{
	"", "a", "plain, and longer than eight bytes", "tab\tnew\nline\rback\bform\f", `"\/`, "\x00\x01\x1f\x7f", "é日本語😀", "“—” \u2028\u2029\u2027\u202a",
	"1234567\u2028", "12345678\u2029", "\xff", "good\xc3", "\xe2\x80", "a\xe2\x28\xa1", "\xed\xa0\x80", "<b>&", "\x80\x9f\xa0\xe2\xc0", "\ufffd",
}

func TestEveryTextIsWrittenAsEncodingJSONWritesIt(t *testing.T) {
	for _, s := range texts {
		for pad := range 17 {
			s := strings.Repeat("x", pad) + s + strings.Repeat("é", pad)
			if got, want := string(AppendText(nil, s)), theirs(t, s); got != want {
				t.Errorf("%q: %s, want %s", s, got, want)
			}
		}
	}
}

func TestATextIsTheSameWhateverRoomThereIs(t *testing.T) {
	s := strings.Repeat("a line of some length, \"quoted\", and then\n\x01 é\u2028", 200)
	want := theirs(t, s)
	for room := range 2 * len(want) / 7 {
		if got := string(AppendText(make([]byte, 0, 7*room), s)); got != want {
			t.Fatalf("room for %d: %.100s", 7*room, got)
		}
	}
}

func TestEveryByteIsFoundInEveryPlace(t *testing.T) {
	for c := range 256 {
		for at := range 40 {
			b := bytes.Repeat([]byte{'a' + byte(rand.IntN(26))}, 40)
			b[at] = byte(c)
			want := len(b)
			if c < 0x20 || c == '"' || c == '\\' {
				want = at
			}
			if got := literalRun(b); got != want {
				t.Fatalf("byte %#x at %d: %d", c, at, got)
			}
			if c == 0xe2 {
				want = at
			}
			if got := unescaped(string(b), true); got != want {
				t.Fatalf("byte %#x at %d: %d", c, at, got)
			}
			if c >= 0x80 {
				want = at
			}
			if got := unescaped(string(b), false); got != want {
				t.Fatalf("byte %#x at %d: %d", c, at, got)
			}
		}
	}
}

func TestALongTextIsReadBack(t *testing.T) {
	escaped := `"` + strings.Repeat(`\ud83d\ude00`, 1<<13) + `"`
	if want := strings.Repeat("😀", 1<<13); Text([]byte(escaped)) != want {
		t.Error("surrogate pairs are not read")
	}
	for _, s := range []string{strings.Repeat("x", 1<<17), strings.Repeat("\n\u2028é", 1<<15), strings.Repeat("31 bytes and then an escape ....\n", 5000), strings.Repeat("x\x01", 1<<15)} {
		if got := Text(AppendText(nil, s)); got != s {
			t.Errorf("%.20q: %d bytes of %d", s, len(got), len(s))
		}
	}
}

// FuzzAppendText: what is written is what encoding/json writes, and is read back.
func FuzzAppendText(f *testing.F) {
	for _, s := range texts {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		b := AppendText(nil, s)
		if want := theirs(t, s); string(b) != want {
			t.Fatalf("%q: %s, want %s", s, b, want)
		}
		if size, wrong := read(append(bytes.Clone(b), s...)); size != len(b) || wrong != nil {
			t.Fatalf("%s: %d bytes of %d, %v", b, size, len(b), wrong)
		}
		if got := Text(b); got != strings.ToValidUTF8(s, "\ufffd") && !strings.Contains(got, "\ufffd") {
			t.Fatalf("%q: %q", s, got)
		}
	})
}

// read is how many bytes at the start of b are a string, and what is wrong with it.
func read(b []byte) (size int, wrong *Malformed) {
	s := Scan(b)
	s.Quoted()
	return s.at, s.wrong
}

// FuzzQuoted: what is valid is JSON, and is read as encoding/json reads it; what is
// not is no JSON, or no I-JSON (RFC 7493).
func FuzzQuoted(f *testing.F) {
	for _, s := range texts {
		f.Add([]byte(`"` + s + `"`))
	}
	for _, s := range []string{`"\n\u00e9\/"`, `"\ud83d\ude00"`, `"\ud800"`, `"\ud800\u0041"`, `"\u12G4"`, `"\`, `"\u`, `"\x"`, `"1234567\"`, `"12345678\n"`, `"a"b`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) == 0 || b[0] != '"' {
			return
		}
		size, wrong := read(b)
		if size > len(b) {
			t.Fatalf("%q: %d bytes of %d", b, size, len(b))
		}
		var want string
		if wrong != nil {
			if json.Unmarshal(b, &want) == nil && (!strings.Contains(want, "\ufffd") || Text(b) != want) {
				t.Fatalf("%q is refused (%v), and is %q", b, wrong, want)
			}
			return
		}
		if err := json.Unmarshal(b[:size], &want); err != nil || Text(b[:size]) != want {
			t.Fatalf("%q: %q, want %q, %v", b, Text(b[:size]), want, err)
		}
	})
}

func source() string {
	return strings.Repeat("\tif err := work(\"of some kind\"); err != nil {\n\t\treturn err\n\t}\n", 1<<14)
}

func BenchmarkAppendText(b *testing.B) {
	s := source()
	out := make([]byte, 0, 2*len(s))
	b.SetBytes(int64(len(s)))
	for b.Loop() {
		AppendText(out, s)
	}
}

func BenchmarkText(b *testing.B) {
	raw := AppendText(nil, source())
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		if _, wrong := read(raw); wrong != nil {
			b.Fatal(wrong)
		}
		Text(raw)
	}
}

func TestNumbersAreThoseOfEncodingJSON(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	numbers := 0
	for range 200_000 {
		b := make([]byte, r.IntN(8))
		for i := range b {
			b[i] = "-0123.eE+"[r.IntN(9)]
		}
		s := Scan(b)
		ok := s.number()
		if whole := ok && s.at == len(b); whole != json.Valid(b) {
			t.Fatalf("%q: %d bytes, %v", b, s.at, ok)
		}
		more := Scan(append(b, ' '))
		if more.number(); more.at != s.at {
			t.Fatalf("%q: %d bytes with a space behind it, %d without", b, more.at, s.at)
		}
		if ok && s.at == len(b) {
			numbers++
		}
	}
	if numbers < 1000 {
		t.Errorf("only %d numbers", numbers)
	}
}
