package quoted

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
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
			if got, want := string(Append(nil, s)), theirs(t, s); got != want {
				t.Errorf("%q: %s, want %s", s, got, want)
			}
		}
	}
}

func TestATextIsTheSameWhateverRoomThereIs(t *testing.T) {
	s := strings.Repeat("a line of some length, \"quoted\", and then\n\x01 é\u2028", 200)
	want := theirs(t, s)
	for room := range 2 * len(want) / 7 {
		if got := string(Append(make([]byte, 0, 7*room), s)); got != want {
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
			if got := Plain(b); got != want {
				t.Fatalf("byte %#x at %d: %d", c, at, got)
			}
			if c == 0xe2 {
				want = at
			}
			out := make([]byte, len(b)+slack)
			if got := copyRun(out, b); got != want || !bytes.Equal(out[:want], b[:want]) {
				t.Fatalf("byte %#x at %d: %d, %q", c, at, got, out)
			}
		}
	}
}

func TestALongTextIsReadInPieces(t *testing.T) {
	escaped := `"` + strings.Repeat(`\ud83d\ude00`, 1<<13) + `"`
	if want := strings.Repeat("😀", 1<<13); Text([]byte(escaped)) != want {
		t.Error("surrogate pairs are not read")
	}
	for _, s := range []string{strings.Repeat("x", 1<<17), strings.Repeat("\n\u2028é", 1<<15), strings.Repeat("31 bytes and then an escape ....\n", 5000), strings.Repeat("x\x01", 1<<15)} {
		var got strings.Builder
		most := 0
		raw := Append(nil, s)
		Pieces(raw, func(p []byte) { got.Write(p); most = max(most, len(p)) })
		if got.String() != s || most > 32<<10 || Text(raw) != s {
			t.Errorf("%.20q: %d bytes of %d, at most %d", s, got.Len(), len(s), most)
		}
	}
}

// FuzzAppend: what is written is what encoding/json writes, and is read back.
func FuzzAppend(f *testing.F) {
	for _, s := range texts {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		b := Append(nil, s)
		if want := theirs(t, s); string(b) != want {
			t.Fatalf("%q: %s, want %s", s, b, want)
		}
		if size, wrong := Valid(append(bytes.Clone(b), s...)); size != len(b) || wrong != 0 {
			t.Fatalf("%s: %d bytes of %d, %d", b, size, len(b), wrong)
		}
		if got := Text(b); got != strings.ToValidUTF8(s, "\ufffd") && !strings.Contains(got, "\ufffd") {
			t.Fatalf("%q: %q", s, got)
		}
	})
}

// FuzzValid: what is valid is JSON, and is read as encoding/json reads it; what is
// not is no JSON, or no I-JSON (RFC 7493).
func FuzzValid(f *testing.F) {
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
		size, wrong := Valid(b)
		if size > len(b) {
			t.Fatalf("%q: %d bytes of %d", b, size, len(b))
		}
		if wrong != 0 {
			var s string
			if json.Unmarshal(b, &s) == nil && wrong != NotUTF8 && !strings.Contains(s, "\ufffd") {
				t.Fatalf("%q is refused (%d), and is %q", b, wrong, s)
			}
			return
		}
		var want string
		if err := json.Unmarshal(b[:size], &want); err != nil || Text(b[:size]) != want {
			t.Fatalf("%q: %q, want %q, %v", b, Text(b[:size]), want, err)
		}
		var pieces []byte
		Pieces(b[:size], func(p []byte) { pieces = append(pieces, p...) })
		if string(pieces) != want {
			t.Fatalf("%q: %q, want %q", b, pieces, want)
		}
	})
}

func source() string {
	return strings.Repeat("\tif err := work(\"of some kind\"); err != nil {\n\t\treturn err\n\t}\n", 1<<14)
}

func BenchmarkAppend(b *testing.B) {
	s := source()
	out := make([]byte, 0, 2*len(s))
	b.SetBytes(int64(len(s)))
	for b.Loop() {
		Append(out, s)
	}
}

func BenchmarkText(b *testing.B) {
	raw := Append(nil, source())
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		if _, wrong := Valid(raw); wrong != 0 {
			b.Fatal(wrong)
		}
		Text(raw)
	}
}

// without is the variable that runs these tests as on a processor for which there is no
// assembly, such as every one that is not of amd64.
const without = "QUOTED_TEST_WITHOUT"

func TestWithoutTheInstructionsOfThisProcessor(t *testing.T) {
	if os.Getenv(without) != "" {
		if fast {
			t.Fatal("the processor has them nevertheless")
		}
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.v", "-test.timeout=60s")
	cmd.Env = append(os.Environ(), without+"=1", "GODEBUG=cpu.avx2=off")
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("%v\n%s", err, out)
	}
}
