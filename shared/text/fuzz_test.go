package text_test

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/multiollama/mcp-server/shared/text"
)

// oneWay are the encodings with exactly one way to write each character: what
// decodes is exact.
func oneWay(name string) bool {
	return strings.HasPrefix(name, "utf-") || strings.HasPrefix(name, "windows-") || name == "koi8-r"
}

// FuzzRoundTrip holds the properties of decoding and encoding, for every encoding:
//
//   - what decodes can be encoded, and decodes to the same again, or is said not
//     to be exact;
//   - where Exact says so, and always where there is one way to write each
//     character, the bytes are the same;
//   - a stream gives what Decode gives;
//   - what encodes decodes to itself.
func FuzzRoundTrip(f *testing.F) {
	for _, w := range writings {
		for _, name := range append([]string{"utf-8", "utf-16le"}, w.encodings...) {
			if e, err := text.Lookup(name); err == nil {
				b, _ := e.Encode(w.lines[0], true)
				f.Add(b)
			}
		}
	}
	for _, b := range []string{
		"", "\x00", "\xff\xfe", "\xfe\xff\xd8\x3d\xdc\x4d", "\xef\xbb\xbf\xef\xbb\xbf", "\x84\x31\x95\x33\x84\x31\xa4\x37",
		"\x1b$B", "\x1b(I1\x1b(J\\~", "\xed\x40\xfa\x5c\x81\xca", "\x8f\xa2\xaf", "\x88\x62\x88\x64", "\xa2\xe3\x80", "\x81\x30\x81\x30\xe3\x32\x9a\x35",
	} {
		f.Add([]byte(b))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, name := range text.Names() {
			e, err := text.Lookup(name)
			if err != nil {
				t.Fatal(err)
			}
			decodesAndEncodes(t, e, b)
			encodesAndDecodes(t, e, string(b))
		}
	})
}

func decodesAndEncodes(t *testing.T, e text.Encoding, b []byte) {
	s, err := e.Decode(b)
	if err != nil {
		return
	}
	if !utf8.ValidString(s) {
		t.Fatalf("%s: % x became %q", e, b, s)
	}
	again, err := e.Encode(s, e.HasBOM(b))
	if err != nil && !oneWay(e.Name()) && !e.Exact(b) {
		return // a few characters are only read: 0x80 in Shift_JIS, pairs in Big5
	}
	if err != nil {
		t.Fatalf("%s: % x became %q, which cannot be encoded: %v", e, b, s, err)
	}
	if back, err := e.Decode(again); err != nil || back != s {
		t.Fatalf("%s: %q became %q, %v", e, s, back, err)
	}
	if same := bytes.Equal(again, b); same != e.Exact(b) || !same && oneWay(e.Name()) {
		t.Fatalf("%s: % x became % x, exact %v", e, b, again, e.Exact(b))
	}
	if streamed, err := io.ReadAll(e.NewReader(bytes.NewReader(b))); err != nil || string(streamed) != s {
		t.Fatalf("%s: % x streamed is %q, %v, want %q", e, b, streamed, err, s)
	}
}

func encodesAndDecodes(t *testing.T, e text.Encoding, s string) {
	b, err := e.Encode(s, false)
	if err != nil || e.HasBOM(b) {
		return // a text that begins with U+FEFF is taken for one with a mark
	}
	if again, err := e.Decode(b); err != nil || again != s {
		t.Fatalf("%s: %q became % x became %q, %v", e, s, b, again, err)
	}
}

// FuzzDetect holds the properties of detection: it never panics; what it calls text
// has an encoding and no NUL once decoded; valid UTF-8 without control
// characters is UTF-8 or one of the encodings that announce themselves.
func FuzzDetect(f *testing.F) {
	for _, w := range writings {
		for _, name := range w.encodings {
			if e, err := text.Lookup(name); err == nil {
				b, _ := e.Encode(w.lines[0], false)
				f.Add(b, true)
				f.Add(b[:len(b)-1], false)
			}
		}
	}
	f.Add([]byte("\xff\xfe\x00"), false)
	f.Add([]byte("\x7fELF\x02\x01\x01\x00"), true)
	f.Add([]byte("\x1b$B$"), false)
	f.Fuzz(func(t *testing.T, b []byte, whole bool) {
		got := text.Detect(b, whole)
		if got.Binary != (got.Encoding == text.Encoding{}) || got.MIME == "" || strings.Contains(got.MIME, ";") {
			t.Fatalf("%+v", got)
		}
		shown, err := io.ReadAll(got.Encoding.NewReader(bytes.NewReader(b)))
		if !got.Binary && (err != nil || bytes.IndexByte(shown, 0) >= 0) {
			t.Fatalf("%s: %q, %v", got.Encoding, shown, err)
		}
		plain := bytes.IndexFunc(b, func(r rune) bool { return r < ' ' || r == utf8.RuneError || r == 0x7f }) < 0
		if plain && !bytes.HasPrefix(b, []byte("%PDF-")) && !got.Encoding.IsUTF8() && !got.Encoding.HasBOM(b) {
			t.Fatalf("%q is %q", b, got.Encoding)
		}
	})
}

// FuzzEscape holds that what is escaped does not act, and that cutting keeps a
// beginning.
func FuzzEscape(f *testing.F) {
	for _, s := range []string{"a\nb", "\x1b[0m", "\u202e", "\xff", "日本", "\u2028"} {
		f.Add(s, 3)
	}
	f.Fuzz(func(t *testing.T, s string, max int) {
		shown := text.Escape(s)
		if strings.ContainsAny(shown, "\n\r\t\x00\x1b\u0085\u2028\u2029\u202e") || !utf8.ValidString(shown) {
			t.Fatalf("%q is shown as %q", s, shown)
		}
		if text.Escape(shown) != shown {
			t.Fatalf("%q changes when escaped again", shown)
		}
		cut := text.Cut(s, max)
		if !strings.HasPrefix(s, cut) || len(cut) > len(s) || max >= 0 && len(cut) > max || utf8.ValidString(s) && !utf8.ValidString(cut) {
			t.Fatalf("%q cut at %d is %q", s, max, cut)
		}
	})
}
