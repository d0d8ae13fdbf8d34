package text

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/multiollama/mcp-server/shared/fault"
	"golang.org/x/text/runes"
	"golang.org/x/text/transform"
)

// Decode turns bytes into UTF-8, without the byte-order mark if there is one.
// It is exact or fails: bytes that mean no character are fault.ParamInvalid,
// with the line they stand in.
func (e Encoding) Decode(b []byte) (string, error) {
	if e.scheme == nil {
		return "", errNoEncoding()
	}
	body := bytes.TrimPrefix(b, e.BOM())
	s := e.scheme.decode(body)
	if at := e.scheme.firstInvalid(s, body); at >= 0 {
		line := 1 + strings.Count(s[:at], "\n")
		return "", fault.New(fault.ParamInvalid,
			"the content is not valid "+e.Name()+": line "+strconv.Itoa(line)+" holds bytes that mean no character",
			"Name the encoding the content really has, or leave it out to have it detected").
			With("encoding", e.Name()).With("line", line)
	}
	return s, nil
}

// Encode turns UTF-8 into bytes, behind a byte-order mark if bom is set and the
// encoding has one. It is exact or fails: the first character that the encoding
// cannot hold is named in a fault.ParamInvalid.
func (e Encoding) Encode(s string, bom bool) ([]byte, error) {
	if e.scheme == nil {
		return nil, errNoEncoding()
	}
	body, ok := e.scheme.encode(s)
	if !ok {
		return nil, e.errCannotHold(s)
	}
	if !bom {
		return body, nil
	}
	return append(e.BOM(), body...), nil
}

// Exact says that b decodes, and that encoding the outcome gives b back byte by
// byte. UTF-8, UTF-16 and the single-byte encodings are exact wherever they
// decode. The others write some characters in several ways (the vendor rows of
// Shift_JIS, needless escapes in ISO-2022-JP), and have a few that are only read
// (byte 0x80 in Shift_JIS, four letters of Big5 that are two in Unicode); a file
// with such bytes decodes but is not exact, and an edit must not rewrite it.
func (e Encoding) Exact(b []byte) bool {
	s, err := e.Decode(b)
	if err != nil {
		return false
	}
	again, err := e.Encode(s, e.HasBOM(b))
	return err == nil && bytes.Equal(again, b)
}

// NewDecoder decodes as far as there is room, so that a caller knows which bytes are which
// characters. It keeps no byte-order mark apart. UTF-8 needs none, and has none.
func (e Encoding) NewDecoder() transform.Transformer { return e.scheme.codec.NewDecoder() }

// NewReader decodes a stream to UTF-8, without its byte-order mark. Bytes that
// mean no character become U+FFFD, so it is for reading and searching, never
// for writing back. Memory is constant.
func (e Encoding) NewReader(r io.Reader) io.Reader {
	if e.scheme == nil {
		return failing{errNoEncoding()}
	}
	src := &afterBOM{r: bufio.NewReader(r), bom: e.BOM()}
	if e.IsUTF8() {
		return transform.NewReader(src, runes.ReplaceIllFormed())
	}
	return transform.NewReader(src, e.scheme.codec.NewDecoder())
}

// afterBOM reads r without the mark at its start.
type afterBOM struct {
	r   *bufio.Reader
	bom []byte // nil once the start is behind us
}

func (a *afterBOM) Read(p []byte) (int, error) {
	if a.bom != nil {
		if head, _ := a.r.Peek(len(a.bom)); bytes.Equal(head, a.bom) {
			_, _ = a.r.Discard(len(a.bom)) // cannot fail: these bytes are buffered
		}
		a.bom = nil
	}
	return a.r.Read(p)
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// decode never fails: what means nothing is U+FFFD in the outcome.
func (s *scheme) decode(b []byte) string {
	if s.codec == nil {
		return string(b)
	}
	out, err := s.codec.NewDecoder().Bytes(b)
	if err != nil {
		return "\uFFFD"
	}
	return string(out)
}

// firstInvalid is where in s, the outcome of decoding b, the first replaced
// character stands; -1 if nothing was replaced. A file may hold a true U+FFFD:
// encoding s back then gives b.
func (s *scheme) firstInvalid(out string, b []byte) int {
	if s.codec == nil {
		return illFormed(out)
	}
	at := strings.IndexRune(out, utf8.RuneError)
	if at < 0 {
		return -1
	}
	if again, ok := s.encode(out); ok && bytes.Equal(again, b) {
		return -1
	}
	return at
}

func illFormed(s string) int {
	if utf8.ValidString(s) {
		return -1
	}
	for i, r := range s {
		if r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD") {
			return i
		}
	}
	return -1
}

// encode is exact or not ok: an encoder may replace or unify characters without
// an error, so the bytes are decoded again and compared.
func (s *scheme) encode(text string) ([]byte, bool) {
	if s.codec == nil {
		return []byte(text), utf8.ValidString(text)
	}
	out, err := s.codec.NewEncoder().Bytes([]byte(text))
	if err != nil {
		return nil, false
	}
	return out, s.decode(out) == text
}

func errNoEncoding() error {
	return fault.New(fault.ParamInvalid, "no encoding was given", "Name one of "+strings.Join(Names(), ", "))
}

// errCannotHold names the first character of s that e cannot hold. The slow
// search runs only when the fast way has failed.
func (e Encoding) errCannotHold(s string) error {
	seen := map[rune]bool{}
	for i, r := range s {
		illFormed := r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD")
		if illFormed {
			return e.errCharacter(s, i, `byte \x`+strconv.FormatUint(uint64(s[i]), 16)+" that is not UTF-8")
		}
		if seen[r] {
			continue
		}
		seen[r] = true
		if _, ok := e.scheme.encode(string(r)); !ok {
			return e.errCharacter(s, i, `character "`+Escape(string(r))+`" (`+fmt.Sprintf("U+%04X", r)+")")
		}
	}
	return e.errCharacter(s, 0, "sequence of characters")
}

func (e Encoding) errCharacter(s string, at int, what string) error {
	line := 1 + strings.Count(s[:at], "\n")
	_, n := utf8.DecodeRuneInString(s[at:])
	return fault.New(fault.ParamInvalid,
		e.Name()+" cannot hold the "+what+" in line "+strconv.Itoa(line),
		"Leave it out, or use utf-8").
		With("encoding", e.Name()).With("line", line).With("character", Escape(s[at:at+n]))
}
