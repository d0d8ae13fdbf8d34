package text

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/gabriel-vasile/mimetype"
)

// Detected is what the first bytes of a file say about it.
type Detected struct {
	Encoding Encoding // the zero Encoding if Binary
	Binary   bool     // no encoding explains the bytes as text
	MIME     string   // type/subtype by content, without parameters
}

// head is the start of a file.
type head struct {
	bytes []byte
	whole bool // the file ends here, so a cut character is an error
}

// Detect says which encoding a file is in, or that it is not text. content is
// its first 64 KiB or fewer; whole says that there is no more of it. A
// character cut at the end of content is no error unless whole is set. The
// empty file is text in UTF-8.
//
// A PDF is binary even if it consists of ASCII only: nobody reads it as text.
func Detect(content []byte, whole bool) Detected {
	if e, ok := EncodingOf(content, whole); ok {
		return Detected{Encoding: e, MIME: textType(e, content)}
	}
	if found := mimetype.Detect(content); !isText(found) {
		return Detected{Binary: true, MIME: essence(found)}
	}
	return Detected{Binary: true, MIME: "application/octet-stream"}
}

// EncodingOf is the encoding that Detect would tell, without the type; not ok where
// content is binary.
func EncodingOf(content []byte, whole bool) (e Encoding, ok bool) {
	if bytes.HasPrefix(content, []byte("%PDF-")) {
		return Encoding{}, false
	}
	h := head{content, whole}
	for _, guess := range []func(head) (Encoding, bool){
		byMark, byEscapes, asUTF8, asUTF16, byLanguage,
	} {
		if e, ok := guess(h); ok {
			return e, true
		}
	}
	return Encoding{}, false
}

// textType is the type of a text by its content in UTF-8. A type that is not
// one of text (two letters are enough to look like some executables) is not
// believed.
func textType(e Encoding, content []byte) string {
	const enough = 4 << 10 // mimetype looks no further
	start := bytes.TrimPrefix(content[:min(len(content), enough)], e.BOM())
	if !e.IsUTF8() {
		start = []byte(e.scheme.decode(start))
	}
	if found := mimetype.Detect(start); isText(found) {
		return essence(found)
	}
	return "text/plain"
}

// isText says that a type is text/plain or one of its descendants, as HTML,
// JSON and SVG are.
func isText(m *mimetype.MIME) bool {
	for ; m != nil; m = m.Parent() {
		if essence(m) == "text/plain" { // Is would parse both
			return true
		}
	}
	return false
}

func essence(m *mimetype.MIME) string {
	name, _, _ := strings.Cut(m.String(), ";")
	return strings.TrimSpace(name)
}

// byMark believes a byte-order mark if what follows it is text.
func byMark(h head) (Encoding, bool) {
	for i := range schemes {
		e := Encoding{&schemes[i]}
		if !e.HasBOM(h.bytes) {
			continue
		}
		s, ok := e.strict(head{h.bytes[len(e.BOM()):], h.whole})
		if ok && oddControls([]byte(s))*16 <= len(s) && !strings.Contains(s, "\x00") {
			return e, true
		}
	}
	return Encoding{}, false
}

// byEscapes finds ISO-2022-JP (RFC 1468), which is ASCII apart from the escape
// sequences that switch to Japanese and back.
func byEscapes(h head) (Encoding, bool) {
	if !bytes.Contains(h.bytes, []byte("\x1b$B")) && !bytes.Contains(h.bytes, []byte("\x1b$@")) &&
		!bytes.Contains(h.bytes, []byte("\x1b(I")) {
		return Encoding{}, false
	}
	e := must("iso-2022-jp")
	s, ok := e.strict(h)
	return e, ok && oddControls([]byte(s)) == 0 && strings.IndexFunc(s, notASCII) >= 0
}

func notASCII(r rune) bool { return r >= utf8.RuneSelf }

// asUTF8 accepts UTF-8, and text that is UTF-8 apart from a few broken bytes:
// a damaged log is still a log.
func asUTF8(h head) (Encoding, bool) {
	e := must("utf-8")
	if bytes.IndexByte(h.bytes, 0) >= 0 || oddControls(h.bytes)*16 > len(h.bytes) {
		return e, false
	}
	if utf8.Valid(h.bytes) {
		return e, true
	}
	good, bad := 0, 0
	for rest := h.bytes; len(rest) > 0; {
		r, n := utf8.DecodeRune(rest)
		switch {
		case n > 1:
			good++
		case r == utf8.RuneError && (h.whole || utf8.FullRune(rest)):
			bad++
		}
		rest = rest[n:]
	}
	return e, bad == 0 || good > 16*bad
}

// strict decodes h if all of it is valid. A character cut at the end is left
// out where the file continues.
func (e Encoding) strict(h head) (string, bool) {
	body := h.bytes
	if e.IsUTF8() {
		for cut := 0; !h.whole && cut < utf8.UTFMax-1 && len(body) > 0 && !utf8.Valid(body); cut++ {
			if r, _ := utf8.DecodeLastRune(body); r != utf8.RuneError {
				break
			}
			body = body[:len(body)-1]
		}
		return string(body), utf8.Valid(body)
	}
	dst := make([]byte, 3*len(body)+16)
	n, used, _ := e.scheme.codec.NewDecoder().Transform(dst, body, h.whole)
	s := string(dst[:n])
	if len(body)-used > 4 {
		return "", false
	}
	return s, e.scheme.firstInvalid(s, body[:used]) < 0
}

// oddControls counts the control characters that text does not use. Escape and
// backspace are used by terminal logs, form feed by sources, and SUB ends files
// of DOS.
func oddControls(b []byte) int {
	const used = 1<<'\a' | 1<<'\b' | 1<<'\t' | 1<<'\n' | 1<<'\v' | 1<<'\f' | 1<<'\r' | 1<<0x1A | 1<<0x1B
	n := 0
	for _, c := range b {
		if c < ' ' && uint32(used)>>c&1 == 0 || c == 0x7F {
			n++
		}
	}
	return n
}
