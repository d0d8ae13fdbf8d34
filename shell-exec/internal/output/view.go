package output

import (
	"errors"
	"io/fs"
	"os"
	"sort"
)

// view is an output as one row of bytes, whatever files it is in. A row consists of segments: one for each turn, and
// then what the stream that did not have the last turn still wrote.
type view struct {
	files [2]*os.File // nil where there is nothing
	ends  [2]int64    // what is seen of each
	order turns
	last  turn
	size  int64 // of the row
}

// view opens an output, of a run that still grows so that every byte of the row stays where it is.
func (s *Store) view(run string, t Type, grows bool) (v *view, err error) {
	v = &view{}
	defer func() {
		v.size = v.ends[0] + v.ends[1]
		if err != nil {
			v.close()
		}
	}()
	if t != Combined {
		return v, v.openStream(s, run, 0, t)
	}
	if err := v.openOrder(s, run); err != nil {
		return v, err
	}
	if err := errors.Join(v.openStream(s, run, 0, Stdout), v.openStream(s, run, 1, Stderr)); err != nil {
		return v, err
	}
	if v.order.count == 0 && v.ends[0] == 0 {
		v.last.who = 1
	}
	if !grows {
		return v, nil
	}

	// Take from the row what may still move: what the stream said that has not the turn, the beginning of a character, and
	// what was said in a turn that was taken after the turns were counted and before the ends were seen.
	seen := v.order.count
	if err := v.openOrder(s, run); err != nil {
		return v, err
	}
	if seen == 0 { // the streams may have begun to take turns meanwhile: then one that speaks from the beginning is the first
		seen = min(v.order.count, 1)
	}
	if seen > 0 {
		last, err := v.order.turn(seen - 1)
		if err != nil {
			return v, err
		}
		v.last = last
	}
	if v.order.count > seen {
		next, err := v.order.turn(seen)
		if err != nil {
			return v, err
		}
		v.ends[v.last.who] = min(v.ends[v.last.who], next.at[v.last.who])
	}
	v.order.count = seen
	other := 1 - v.last.who
	v.ends[other] = min(v.ends[other], v.last.at[other])
	v.size = v.ends[0] + v.ends[1]
	n, err := v.unfinished()
	v.ends[v.last.who] -= n
	return v, err
}

func (v *view) openStream(s *Store, run string, i int, t Type) (err error) {
	if v.files[i], err = s.openIfThere(run, string(t)); v.files[i] == nil {
		return err
	}
	info, err := v.files[i].Stat()
	if err == nil {
		v.ends[i] = info.Size()
	}
	return err
}

func (v *view) openOrder(s *Store, run string) (err error) {
	if v.order.file == nil {
		v.order.file, err = s.openIfThere(run, orderName)
	}
	if err == nil {
		err = v.order.recount()
	}
	if err == nil && v.order.count > 0 {
		v.last, err = v.order.turn(v.order.count - 1)
	}
	return err
}

func (s *Store) openIfThere(run, part string) (*os.File, error) {
	f, err := s.root.Open(fileName(run, part))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return f, err
}

func (v *view) close() {
	for _, f := range append(v.files[:], v.order.file) {
		if f != nil {
			f.Close()
		}
	}
}

// segment is a part of the row that is in one file.
type segment struct {
	who   int
	start int64 // in the row
	from  int64 // in the file
	size  int64
}

// segment is the part of the row with a number: those of the turns, and after the last of them the rest of the other stream.
func (v *view) segment(i int) (segment, error) {
	if i < v.order.count-1 {
		t, err := v.order.turn(i)
		if err != nil {
			return segment{}, err
		}
		next, err := v.order.turn(i + 1)
		return segment{t.who, v.start(t), t.at[t.who], v.start(next) - v.start(t)}, err
	}
	t := v.last
	turn := segment{t.who, v.start(t), t.at[t.who], max(v.ends[t.who]-t.at[t.who], 0)}
	if i < max(v.order.count, 1) {
		return turn, nil
	}
	other := 1 - t.who
	return segment{other, turn.start + turn.size, t.at[other], max(v.ends[other]-t.at[other], 0)}, nil
}

// start is where in the row a turn begins. A stream that was deleted has no part in it.
func (v *view) start(t turn) int64 { return min(t.at[0], v.ends[0]) + min(t.at[1], v.ends[1]) }

// ReadAt reads from the row.
func (v *view) ReadAt(p []byte, at int64) (int, error) {
	var err error
	next := sort.Search(v.order.count, func(i int) bool { // the first turn that begins after the place
		t, failure := v.order.turn(i)
		err = errors.Join(err, failure)
		return failure != nil || v.start(t) > at
	})
	done := 0
	for i := max(next-1, 0); err == nil && done < len(p) && i <= max(v.order.count, 1); i++ {
		var s segment
		if s, err = v.segment(i); err != nil {
			break
		}
		skip := at + int64(done) - s.start
		if n := min(int64(len(p)-done), s.size-skip); n > 0 {
			_, err = v.files[s.who].ReadAt(p[done:done+int(n)], s.from+skip)
			done += int(n)
		}
	}
	return done, err
}
