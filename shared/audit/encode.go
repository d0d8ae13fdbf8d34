package audit

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/multiollama/mcp-server/shared/jsonx"
)

// MaxLine bounds one line of the log, its newline included, in bytes.
const MaxLine = 64 << 10

const (
	// chainRoom is what seq, prev, hash and newline take beside the body.
	chainRoom = 256
	maxBody   = MaxLine - chainRoom
)

// What is looked at of a text at all. Masking takes time for each byte, and a
// caller may hand over megabytes.
const (
	seenCause = 32 << 10
	seenPaths = 512
	seenPath  = 4 << 10 // PATH_MAX of Linux
)

// What an event is reduced to when its line would be too long. JSON may write
// one byte as six (\u0001), and the sum of these limits times six stays below
// maxBody.
const (
	maxCause   = 2048
	maxPaths   = 8
	maxPath    = 512
	maxName    = 128
	cutMark    = "… [cut]"
	emptySeq   = `{"seq":0,`
	emptyChain = `,"prev":"","hash":""}`
)

// bodyOf is e as JSON from "time" to "bytes": without braces and without its
// place in the chain, which is known only under the lock. It never exceeds
// maxBody and never fails on what a caller can put into an Event.
func bodyOf(e Event) ([]byte, error) {
	e.Seq, e.Prev, e.Hash = 0, "", ""
	b, err := jsonx.Append(make([]byte, 0, 512+len(e.Arguments)), &e)
	if b = inert(b); err != nil || len(b) > maxBody {
		b, err = jsonx.Append(nil, reduced(e))
		b = inert(b)
	}
	if err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(bytes.TrimPrefix(b, []byte(emptySeq)), []byte(emptyChain)), nil
}

// inert is JSON in which nothing steers a terminal or turns text around when somebody prints the
// file as it is: control and format characters are written as escapes. They stand in texts only,
// where an escape means the same.
func inert(b []byte) []byte {
	if !bytes.ContainsFunc(b, steers) {
		return b
	}
	out := make([]byte, 0, len(b)+64)
	for _, r := range string(b) { // bytes that are no UTF-8 are U+FFFD here
		switch {
		case !steers(r):
			out = utf8.AppendRune(out, r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}

// steers says whether a character is none that is shown. The controls of ASCII are escaped before.
func steers(r rune) bool {
	return r >= 0x7f && (r == utf8.RuneError || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp))
}

// reduced is e with every part bounded: arguments become their digest.
func reduced(e Event) Event {
	if e.Arguments != nil {
		e.Arguments = digest(e.Arguments)
	}
	for _, s := range []*string{&e.Server, &e.Version, &e.Session, &e.Client, &e.RequestID, &e.Tool, &e.Verdict, &e.Rule, &e.Outcome,
		&e.Code} {
		*s = cut(*s, maxName)
	}
	e.Cause = cut(e.Cause, maxCause)
	e.Paths = fewer(e.Paths, maxPaths, maxPath)
	if math.IsNaN(e.DurationMS) || math.IsInf(e.DurationMS, 0) {
		e.DurationMS = 0
	}
	if y := e.Time.Year(); y < 0 || y > 9999 { // RFC 3339 has no others
		e.Time = time.Time{}
	}
	return e
}

// fewer is the first paths, each cut to length, and a word on how many are left
// out. The caller's list is left alone.
func fewer(paths []string, count, length int) []string {
	if paths == nil {
		return nil
	}
	first := make([]string, 0, min(len(paths), count+1))
	for _, p := range paths[:min(len(paths), count)] {
		first = append(first, cut(p, length))
	}
	if more := len(paths) - len(first); more > 0 {
		first = append(first, "… and "+strconv.Itoa(more)+" more")
	}
	return first
}

// cut is s if it has at most max bytes, else its beginning up to a rune border
// and a mark.
func cut(s string, max int) string {
	if len(s) <= max {
		return s
	}
	for max > 0 && !utf8.RuneStart(s[max]) {
		max--
	}
	return s[:max] + cutMark
}
