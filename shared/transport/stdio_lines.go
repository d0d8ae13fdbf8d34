package transport

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
)

// lines cuts a stream into messages and holds no more than one of them, of at
// most max bytes.
type lines struct {
	r     *bufio.Reader
	max   int
	begun bool
}

func newLines(in io.Reader, max int) *lines {
	return &lines{r: bufio.NewReaderSize(in, 64<<10), max: max}
}

// next is the next line that is not blank, without surrounding space; the caller
// owns it. The error is *oversize for a line beyond the limit, after which the
// next one can be read, and final otherwise. A last line without its end counts.
func (l *lines) next() ([]byte, error) {
	for {
		line, err := l.line()
		if !l.begun { // some shells put a byte order mark before what they pipe
			l.begun = true
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// line reads up to a line's end. Bytes and an error come together only at the
// end of the stream.
func (l *lines) line() ([]byte, error) {
	chunk, err := l.r.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		if len(chunk) > l.max {
			return nil, l.skip(bytes.Clone(chunk), err)
		}
		return bytes.Clone(chunk), err
	}
	line := make([]byte, 0, 4*len(chunk))
	for {
		if len(line)+len(chunk) > cap(line) {
			line = append(make([]byte, 0, 2*cap(line)), line...) // append alone would copy it five times
		}
		line = append(line, chunk...)
		if len(line) > l.max {
			return nil, l.skip(line, err)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
		chunk, err = l.r.ReadSlice('\n')
	}
}

// oversize is a line that was skipped because of its length.
type oversize struct {
	max int
	id  json.RawMessage // of the request in it, where that could be seen
}

func (e *oversize) Error() string { return fmt.Sprintf("message longer than %d bytes", e.max) }

// skip reads on to the end of a line that is too long. It keeps the last bytes,
// for the id: whoever sent the request waits for an answer to it.
func (l *lines) skip(line []byte, err error) error {
	const tail = 2 * maxID
	end := line
	for errors.Is(err, bufio.ErrBufferFull) {
		var chunk []byte
		chunk, err = l.r.ReadSlice('\n')
		end = append(bytes.Clone(end[max(0, len(end)-tail):]), chunk...)
	}
	id := idAtStart(line)
	if id == nil {
		id = idAtEnd(end[max(0, len(end)-tail):])
	}
	return &oversize{max: l.max, id: id}
}

// idAtStart finds the id among the first members of a message, before one whose
// value is not plain.
func idAtStart(line []byte) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(line[:min(len(line), 4*maxID)]))
	d.UseNumber()
	if t, _ := d.Token(); t != json.Delim('{') {
		return nil
	}
	for {
		name, err := d.Token()
		if err != nil {
			return nil
		}
		value, err := d.Token()
		if _, nested := value.(json.Delim); err != nil || nested {
			return nil
		}
		if name == "id" {
			id, _ := json.Marshal(value)
			return usableID(id)
		}
	}
}

// lastMember matches a message whose last member is its id: some clients write
// it behind the parameters. What the last brace of a message closes is the
// message itself, so the member before it is the message's own.
var lastMember = regexp.MustCompile(`,\s*"id"\s*:\s*(-?[0-9]+|"[^"\\]*")\s*\}\s*$`)

func idAtEnd(line []byte) json.RawMessage {
	m := lastMember.FindSubmatch(line)
	if m == nil {
		return nil
	}
	return usableID(m[1])
}
