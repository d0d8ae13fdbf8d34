package audit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/flock"
)

// rawLine is a line of a file. text is valid until the next one.
type rawLine struct {
	text  []byte // without its newline; of a line over MaxLine only the beginning
	size  int64  // in the file, in bytes, newline included
	whole bool   // it ends in a newline
}

// lines splits r. Memory is bounded whatever r holds.
func lines(r io.Reader) iter.Seq2[rawLine, error] {
	return func(yield func(rawLine, error) bool) {
		in := bufio.NewReaderSize(r, MaxLine)
		for {
			text, err := in.ReadSlice('\n')
			line := rawLine{text: text, size: int64(len(text)), whole: err == nil}
			if err == nil {
				line.text = text[:len(text)-1]
			}
			if errors.Is(err, bufio.ErrBufferFull) { // the rest of it is not kept
				line.text = bytes.Clone(text)
				for errors.Is(err, bufio.ErrBufferFull) {
					text, err = in.ReadSlice('\n')
					line.size += int64(len(text))
				}
				line.whole = err == nil
			}
			if line.size > 0 && !yield(line, nil) {
				return
			}
			if err != nil {
				if err != io.EOF {
					yield(rawLine{}, err)
				}
				return
			}
		}
	}
}

// view is a log at one moment: which files there were, how far the current one went, and the
// head record. Taking it holds the lock for as long as a directory listing takes, so no rotation
// falls in between.
type view struct {
	path    string
	old     []rotated
	current *os.File    // nil if it is missing
	info    fs.FileInfo // of current
	head    head
	sealed  bool // there is a head record
}

// look takes a view. It only reads, and works without the right to write.
func look(file string) (v *view, err error) {
	v = &view{}
	defer func() {
		if err != nil {
			v.close()
			err = failed("cannot be read", err)
		}
	}()
	if v.path, err = filepath.Abs(file); err != nil {
		return v, err
	}
	h, err := openShared(headPath(v.path))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return v, err
	}
	if err == nil {
		defer h.Close() //nolint:errcheck // only read from
		if err := lockWait(h, false); err != nil {
			return v, err
		}
		defer func() { err = errors.Join(err, flock.Unlock(h)) }()
		raw, err := readHead(h, make([]byte, headSize))
		if err != nil {
			return v, err
		}
		v.head, v.sealed = parseHead(raw)
	}
	if v.old, err = rotatedFiles(v.path); err != nil {
		return v, err
	}
	v.current, err = openShared(v.path)
	if errors.Is(err, fs.ErrNotExist) {
		v.current = nil
		if len(v.old) == 0 && !v.sealed {
			return v, fault.New(fault.NotFound, "there is no audit log of that name", "Look at --audit-log, or start the server once")
		}
		return v, nil
	}
	if err == nil {
		v.info, err = v.current.Stat()
	}
	return v, err
}

func (v *view) close() {
	if v.current != nil {
		_ = v.current.Close() // only read from
	}
}

// from is the current file from an offset to where it ended.
func (v *view) from(offset int64) io.Reader {
	return io.NewSectionReader(v.current, offset, v.info.Size()-offset)
}

// part is one file of a log, to be read once.
type part struct {
	path    string
	number  int // 0 for the current one
	content io.Reader
}

// errPruned says that the view is out of date.
var errPruned = errors.New("a rotated file was pruned meanwhile")

func (r rotated) open() (*os.File, error) {
	f, err := openShared(r.path)
	if errors.Is(err, fs.ErrNotExist) {
		err = errPruned
	}
	return f, err
}

// parts opens the files one after the other, oldest first.
func (v *view) parts() iter.Seq2[part, error] {
	return func(yield func(part, error) bool) {
		for _, r := range v.old {
			f, err := r.open()
			more := yield(part{r.path, r.number, f}, err)
			_ = f.Close() // only read from
			if !more {
				return
			}
		}
		if v.current != nil {
			yield(part{path: v.path, content: v.from(0)}, nil)
		}
	}
}

// tail is the last n whole lines of a view, read from the newest file back, and
// the end of the last whole line in the current file.
func (v *view) tail(n int) (recent [][]byte, end int64, err error) {
	if v.current != nil {
		if recent, end, err = lastLines(v.from(0), n); err != nil {
			return nil, 0, err
		}
	}
	for _, r := range slices.Backward(v.old) {
		if len(recent) >= n {
			break
		}
		f, err := r.open()
		if errors.Is(err, errPruned) {
			continue
		}
		var more [][]byte
		if err == nil {
			more, _, err = lastLines(f, n-len(recent))
			_ = f.Close() // only read from
		}
		if err != nil {
			return nil, 0, err
		}
		recent = append(more, recent...)
	}
	return recent, end, nil
}

// lastLines keeps copies of the last n whole lines of r, n being at least 1.
func lastLines(r io.Reader, n int) (recent [][]byte, end int64, err error) {
	count := 0
	for line, err := range lines(r) {
		if err != nil {
			return nil, 0, err
		}
		if !line.whole {
			break
		}
		end += line.size
		if len(recent) < n {
			recent = append(recent, nil)
		}
		recent[count%n] = append(recent[count%n][:0], line.text...)
		count++
	}
	if first := count % n; count > n { // the ring, from its oldest line
		recent = append(slices.Clone(recent[first:]), recent[:first]...)
	}
	return recent, end, nil
}

// Filter chooses events; what is zero chooses all.
type Filter struct {
	Tool    string
	Since   time.Time // not before
	Until   time.Time // before
	Denied  bool      // verdict deny or outcome refused
	Code    string
	Outcome string
	Session string
	Limit   int // the last so many of those chosen
}

// Query yields the chosen events of all files in their order. A line that is not an
// event is an error, after which it continues; it does not verify the chain.
func Query(file string, f Filter) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		var ring []Event // of the last events, if they are limited
		count := 0
		for e, err := range events(file) {
			switch {
			case err != nil:
			case f.Tool != "" && e.Tool != f.Tool,
				f.Code != "" && e.Code != f.Code,
				f.Outcome != "" && e.Outcome != f.Outcome,
				f.Session != "" && e.Session != f.Session,
				f.Denied && e.Verdict != "deny" && e.Outcome != "refused",
				!f.Since.IsZero() && e.Time.Before(f.Since),
				!f.Until.IsZero() && !e.Time.Before(f.Until):
				continue
			case f.Limit > 0:
				if len(ring) < f.Limit {
					ring = append(ring, e)
				} else {
					ring[count%f.Limit] = e
				}
				count++
				continue
			}
			if !yield(e, err) {
				return
			}
		}
		for i := range ring {
			if !yield(ring[(count+i)%len(ring)], nil) {
				return
			}
		}
	}
}

// events yields every event of a log as it is now. A last line without newline is still
// being written, or was never finished.
func events(file string) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		v, err := look(file)
		if err != nil {
			yield(Event{}, err)
			return
		}
		defer v.close()
		for p, err := range v.parts() {
			if errors.Is(err, errPruned) {
				continue
			}
			if err != nil {
				yield(Event{}, failed("cannot be read", err))
				return
			}
			number := 0
			for line, err := range lines(p.content) {
				if err != nil {
					yield(Event{}, failed("cannot be read", err))
					return
				}
				number++
				if line.whole && !yield(decode(line.text, p.path, number)) {
					return
				}
			}
		}
	}
}

func decode(line []byte, path string, number int) (Event, error) {
	var e Event
	if err := json.Unmarshal(line, &e); err != nil {
		return Event{}, fault.New(fault.ParamMalformed, "a line of the audit log is no event", "Run audit verify").
			With("file", filepath.Base(path)).With("line", number).Because(err)
	}
	return e, nil
}
