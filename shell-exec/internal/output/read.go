package output

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/multiollama/mcp-server/shared/fault"
)

// What the size of a page may be, in bytes.
const (
	DefaultPage = 8 << 10
	MaxPage     = 1 << 20
)

// Encoding is how the content of a page is written.
type Encoding string

// The encodings. As UTF8 a page begins and ends between characters, and bytes that are no characters are shown as
// U+FFFD; as Base64 it is exact.
const (
	UTF8   Encoding = "utf-8"
	Base64 Encoding = "base64"
)

// Window says what to read of an output.
type Window struct {
	Offset   int64    // in bytes
	Size     int      // in bytes; 0 is DefaultPage
	Encoding Encoding // none is UTF8
}

// Page is a part of an output. Pages that follow each other, whether by Next or by steps of the same size (of 4 bytes or
// more), are together what is stored, each character once.
type Page struct {
	ID       string
	Raw      []byte // as stored; Content is what to tell
	Offset   int64  // where it begins: as UTF8 up to 3 bytes before the offset that was asked for
	Next     int64  // where it ends
	Total    int64  // bytes that can be read of the output now
	Encoding Encoding
	State    State // while Running there may be more later
}

// More says whether something follows that can be read now.
func (p Page) More() bool { return p.Next < p.Total }

// Content is the page in its encoding. Controls are in it as they were stored; screen.Render resolves them.
func (p Page) Content() string {
	if p.Encoding == Base64 {
		return base64.StdEncoding.EncodeToString(p.Raw)
	}
	return string([]rune(string(p.Raw)))
}

// Read is a page of an output. An unknown id is fault.NotFound; an offset beyond the end, and what else is out of range,
// fault.ParamInvalid.
func (s *Store) Read(id string, w Window) (Page, error) {
	switch Encoding(strings.ToLower(string(w.Encoding))) {
	case "", UTF8, "utf8":
		w.Encoding = UTF8
	case Base64:
		w.Encoding = Base64
	default:
		return Page{}, fault.New(fault.ParamInvalid, "there is no such encoding", "Use utf-8 or base64").
			With("encoding", string(w.Encoding))
	}
	if w.Size = cmp.Or(w.Size, DefaultPage); w.Size < 0 || w.Size > MaxPage {
		return Page{}, fault.New(fault.ParamInvalid, fmt.Sprintf("a size of %d bytes is out of range", w.Size),
			fmt.Sprintf("Use 1 to %d, and read in parts", MaxPage)).With("minimum", 1).With("maximum", MaxPage)
	}
	if w.Offset < 0 {
		return Page{}, fault.New(fault.ParamInvalid, "the offset is below zero", "Use 0 for the beginning")
	}

	run, t, err := s.parse(id)
	if err != nil {
		return Page{}, err
	}
	r, err := s.about(run)
	if err != nil {
		return Page{}, err
	}
	state, err := s.state(run, r)
	if err != nil {
		return Page{}, err
	}
	v, err := s.view(run, t, state == Running)
	if err != nil {
		return Page{}, failed("read", err)
	}
	defer v.close()

	// The files may have been removed before they were opened: a run goes with the file about it. A stream without a file has
	// said nothing yet, or was deleted.
	part := aboutName
	if t != Combined && state != Running {
		part = string(t)
	}
	if _, err := s.root.Lstat(fileName(run, part)); os.IsNotExist(err) {
		return Page{}, unknown(id)
	}
	p, err := v.page(w, state == Running)
	p.ID, p.Encoding, p.State = id, w.Encoding, state
	return p, failed("read", err)
}

// page reads a page. As UTF-8 it begins and ends where characters begin, but has one at least; of an output that still
// grows, a last character that is not complete is no part yet.
func (v *view) page(w Window, grows bool) (Page, error) {
	if w.Offset > v.size {
		return Page{}, fault.New(fault.ParamInvalid, "the offset is beyond the end of the output", "Use an offset up to its total size").
			With("total_size", v.size)
	}
	p := Page{Offset: w.Offset, Next: min(w.Offset+int64(w.Size), v.size), Total: v.size}
	if w.Encoding == UTF8 {
		if grows {
			n, err := v.unfinished()
			if err != nil {
				return Page{}, err
			}
			p.Total -= n
		}
		wanted := p.Next > p.Offset
		var err error
		if p.Offset, err = v.border(min(p.Offset, p.Total)); err != nil {
			return Page{}, err
		}
		if p.Next, err = v.border(min(p.Next, p.Total)); err != nil {
			return Page{}, err
		}
		for end := p.Offset + 1; wanted && p.Next == p.Offset && end <= p.Total; end++ {
			if p.Next, err = v.border(end); err != nil {
				return Page{}, err
			}
		}
	}
	p.Raw = make([]byte, p.Next-p.Offset)
	_, err := v.ReadAt(p.Raw, p.Offset)
	return p, err
}

// unfinished is how many bytes at the end are the beginning of a character.
func (v *view) unfinished() (int64, error) {
	tail := make([]byte, min(v.size, utf8.UTFMax-1))
	_, err := v.ReadAt(tail, v.size-int64(len(tail)))
	return int64(unfinished(tail)), err
}

// border is where the character begins that the byte at a place belongs to.
func (v *view) border(at int64) (int64, error) {
	from := max(at-utf8.UTFMax+1, 0)
	around := make([]byte, min(at+utf8.UTFMax-1, v.size)-from)
	if _, err := v.ReadAt(around, from); err != nil {
		return 0, err
	}
	for back := 1; int64(back) <= at-from; back++ {
		c := around[at-from-int64(back):]
		if utf8.RuneStart(c[0]) {
			if _, n := utf8.DecodeRune(c); n > back {
				return at - int64(back), nil
			}
			break
		}
	}
	return at, nil
}
