package text

import "bytes"

// LineEnding is how the lines of a text end.
type LineEnding string

// The line endings. Mixed is any two of the first three together; None is text
// without a line end.
const (
	LF    LineEnding = "lf"
	CRLF  LineEnding = "crlf"
	CR    LineEnding = "cr"
	Mixed LineEnding = "mixed"
	None  LineEnding = "none"
)

// LineEndingOf looks at all of b, which is UTF-8 or another encoding in which
// CR and LF are the bytes 0x0D and 0x0A and nothing else is. A CR as the very
// last byte counts only where it is the only line end, since b may be the head
// of a file, cut within a CRLF.
func LineEndingOf(b []byte) LineEnding {
	crlf := bytes.Count(b, []byte("\r\n"))
	lf := bytes.Count(b, []byte("\n")) - crlf
	cr := bytes.Count(b, []byte("\r")) - crlf
	if cr == 1 && crlf+lf > 0 && b[len(b)-1] == '\r' {
		cr = 0
	}
	switch {
	case lf+crlf+cr == 0:
		return None
	case crlf+cr == 0:
		return LF
	case lf+cr == 0:
		return CRLF
	case lf+crlf == 0:
		return CR
	}
	return Mixed
}
