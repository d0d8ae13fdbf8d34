package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/multiollama/mcp-server/shared/quoted"
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
	if b, ok := appendBody(make([]byte, 0, 512+len(e.Arguments)), e); ok {
		if b = inert(b); len(b) <= maxBody-len(emptySeq)-len(emptyChain) {
			return b, nil
		}
	}
	b, err := quoted.JSON(e)
	if b = inert(b); err != nil || len(b) > maxBody {
		b, err = quoted.JSON(reduced(e))
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

// appendBody appends what marshal makes of an event, up to its place in the chain;
// false where it holds something that only marshal can judge.
func appendBody(b []byte, e Event) ([]byte, bool) {
	arguments, ok := compact(e.Arguments)
	small := e.DurationMS != 0 && math.Abs(e.DurationMS) < 1e-6
	if y := e.Time.Year(); !ok || small || !(math.Abs(e.DurationMS) < 1e21) || e.Time.Location() != time.UTC || y < 0 || y > 9999 {
		return nil, false
	}
	b = e.Time.AppendFormat(append(b, `"time":"`...), time.RFC3339Nano)
	b = appendText(append(b, '"'), "server", e.Server)
	b = appendText(b, "version", e.Version)
	b = strconv.AppendInt(append(b, `,"pid":`...), int64(e.PID), 10)
	b = appendTold(b, "session", e.Session)
	b = appendTold(b, "client", e.Client)
	b = appendTold(b, "request_id", e.RequestID)
	b = appendText(b, "tool", e.Tool)
	if len(arguments) > 0 {
		b = append(append(b, `,"arguments":`...), arguments...)
	}
	b = appendPaths(b, e.Paths)
	b = appendText(b, "verdict", e.Verdict)
	b = appendTold(b, "rule", e.Rule)
	b = appendText(b, "outcome", e.Outcome)
	b = appendTold(b, "code", e.Code)
	b = appendTold(b, "cause", e.Cause)
	b = strconv.AppendFloat(append(b, `,"duration_ms":`...), e.DurationMS, 'f', -1, 64)
	return strconv.AppendInt(append(b, `,"bytes":`...), e.Bytes, 10), true
}

func appendText(b []byte, name, value string) []byte {
	b = append(append(append(b, `,"`...), name...), `":`...)
	return quoted.Append(b, value)
}

// appendTold appends what is left out where it is empty.
func appendTold(b []byte, name, value string) []byte {
	if value == "" {
		return b
	}
	return appendText(b, name, value)
}

func appendPaths(b []byte, paths []string) []byte {
	for i, p := range paths {
		if i == 0 {
			b = append(b, `,"paths":[`...)
		} else {
			b = append(b, ',')
		}
		b = quoted.Append(b, p)
	}
	if len(paths) > 0 {
		b = append(b, ']')
	}
	return b
}

// compact is raw without space between its values; false for what is no JSON.
func compact(raw json.RawMessage) (json.RawMessage, bool) {
	if !json.Valid(raw) {
		return nil, len(raw) == 0
	}
	if bytes.ContainsAny(raw, " \t\r\n") {
		var b bytes.Buffer
		err := json.Compact(&b, raw)
		return b.Bytes(), err == nil
	}
	return raw, true
}

// reduced is e with every part bounded: arguments become their digest.
func reduced(e Event) Event {
	if e.Arguments != nil {
		e.Arguments = digestJSON(e.Arguments)
	}
	for _, s := range []*string{&e.Server, &e.Version, &e.Session, &e.Client, &e.RequestID, &e.Tool, &e.Verdict, &e.Rule, &e.Outcome, &e.Code} {
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
	kept := make([]string, 0, min(len(paths), count+1))
	for _, p := range paths[:min(len(paths), count)] {
		kept = append(kept, cut(p, length))
	}
	if more := len(paths) - len(kept); more > 0 {
		kept = append(kept, "… and "+strconv.Itoa(more)+" more")
	}
	return kept
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
