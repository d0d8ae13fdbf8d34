// Package lines cuts windows of whole lines out of a text of any size: from the
// start, from the end, or from the middle.
//
// It never holds more than a window in memory, never opens anything (it reads
// what it is given and does not import os), and never loses a byte silently: windows
// put together are the text again, and a line that was too long says by how
// much it was cut. The text is UTF-8, or any encoding in which the byte 0x0A is
// a line feed and nothing else. Carriage returns stay where they are; a line
// ends with a line feed or with the text, and a line feed at the very end does
// not begin another, empty line.
package lines

import (
	"context"
	"io"
	"math"
	"strconv"

	"github.com/multiollama/mcp-server/shared/fault"
)

const (
	// DefaultMaxBytes is the content of a window where Want.MaxBytes is 0.
	DefaultMaxBytes = 128 << 10
	// DefaultMaxLine is what is kept of a line where Want.MaxLine is 0.
	DefaultMaxLine = 64 << 10

	block     = 256 << 10 // read at once; larger is not faster
	near      = 32 << 10  // the same where the window is known to be near
	usualLine = 192       // bytes set aside for each of a limited number of lines
	countAll  = 8 << 20   // a text up to this size has its lines counted in any case
	ringSize  = 8 << 20   // what ReadStream remembers to count from the end
)

// Want says which lines. The zero Want is the first DefaultMaxBytes.
type Want struct {
	Offset   int64 // first line, from 1; 0 is 1; negative counts from the end, -1 is the last line
	Limit    int   // lines; 0 is no limit
	MaxBytes int   // bytes of content; 0 is DefaultMaxBytes
	MaxLine  int   // bytes kept of one line, without its line end; 0 is DefaultMaxLine; never more than MaxBytes
	// From is a place that is known, see [LineIndex]: Read reads nothing before it. One
	// that is not before the lines wanted, as the zero Place, changes nothing.
	From Place
}

// Window is the lines that were found. It ends at a line end, or with the text.
// A first line that fills MaxBytes alone brings its line end, and its [Marker] if
// it was cut, on top of that: a window without a line would never move on.
type Window struct {
	Text []byte // the lines with their line ends, as they stand
	// Start is the number of the first line in Text, or of the line asked for if
	// there is none. It is negative, counting from the end, where that was asked
	// for and the text is too large to count all its lines.
	Start     int64
	Count     int   // lines in Text
	Total     int64 // lines in the whole text; -1 if not known
	Truncated bool  // the text continues after the window
	Next      int64 // the Offset to continue with, 0 at the end; negative where Start is
	Cut       int   // lines in Text that were longer than MaxLine
}

// Place is somewhere in a text: the byte at At belongs to the line with that number.
type Place struct{ At, Line int64 }

// sizes are the constants above, as values so that tests can put their borders
// anywhere.
type sizes struct {
	block, near, ring int
	countAll          int64
}

var defaultSizes = sizes{block: block, near: near, ring: ringSize, countAll: countAll}

// Read finds a window in the first size bytes of r. It reads no more than it
// must: up to the end of the window going forward, back from the end for a
// negative offset, and everything only up to 8 MiB, for Total.
//
// A text that shrinks while it is read ends where it ends then; one that grows
// ends at size. Errors are those of r, of ctx, and fault.ParamInvalid for a
// want that makes no sense.
func Read(ctx context.Context, r io.ReaderAt, size int64, w Want) (Window, error) {
	return defaultSizes.read(ctx, r, size, w)
}

// ReadStream is Read where there is no way to seek: text decoded from another
// encoding. For a negative offset it reads to the end and remembers 8 MiB at
// most; if the lines asked for are more than that, it fails with
// fault.LimitReached. Total and a positive Start are then always known.
func ReadStream(ctx context.Context, r io.Reader, w Want) (Window, error) {
	return defaultSizes.readStream(ctx, r, w)
}

// checked fills in the defaults, or says what is wrong.
func (w Want) checked() (Want, error) {
	for _, n := range []struct {
		name  string
		value int
	}{{"limit", w.Limit}, {"maximum of bytes", w.MaxBytes}, {"maximum of bytes of a line", w.MaxLine}} {
		if n.value < 0 {
			return w, fault.New(fault.ParamInvalid, "the "+n.name+" is "+strconv.Itoa(n.value), "Use 0 or more")
		}
	}
	if w.Offset == 0 {
		w.Offset = 1
	}
	w.Offset = max(w.Offset, -math.MaxInt64) // so that it can be negated
	if w.MaxBytes == 0 {
		w.MaxBytes = DefaultMaxBytes
	}
	if w.MaxLine == 0 {
		w.MaxLine = DefaultMaxLine
	}
	w.MaxLine = min(w.MaxLine, w.MaxBytes)
	return w, nil
}
