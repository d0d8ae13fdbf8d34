package output

import (
	"encoding/binary"
	"os"
)

const (
	turnBytes = 16
	maxTurns  = 1 << 18 // 4 MiB; after so many the order is kept no more, and what the other stream still says comes last
)

// order is the file of how Stdout and Stderr took turns: from each turn on, one of them writes. It is made when
// the second of them first writes something.
type order struct {
	file  *os.File
	turns int
	ended bool // no turn can be recorded any more
	who   int  // writes
	begun bool // somebody does
	at    [2]int64
}

// turn records that a stream writes from here on. What the other wrote of a character that is not complete is left to its
// next turn, so that no character is cut. The turn is recorded before anything of it is stored: so whatever is read of a
// run that continues stays where it is.
func (r *Run) turn(to int) {
	o := &r.order
	if to > 1 || o.ended || o.begun && o.who == to {
		return
	}
	if !o.begun {
		o.begun, o.who = true, to
		return
	}
	if o.file == nil {
		f, err := r.store.makePart(r.id, orderName)
		if err != nil {
			o.ended = true
			r.because(failed("added to", err))
			return
		}
		o.file = f
		if !o.add(o.who) {
			return
		}
	}
	st := &r.streams[o.who]
	before := o.at
	o.at[o.who] = st.size - int64(unfinished(st.tail))
	if o.turns == r.store.maxTurns || !o.add(to) {
		o.at, o.ended = before, true
		return
	}
	o.who = to
}

// add writes one turn: where both streams are, and in the highest bit of the first who speaks.
func (o *order) add(who int) bool {
	b := binary.LittleEndian.AppendUint64(nil, uint64(o.at[0])|uint64(who)<<63)
	b = binary.LittleEndian.AppendUint64(b, uint64(o.at[1]))
	n, err := o.file.Write(b)
	if err != nil {
		o.file.Truncate(int64(o.turns * turnBytes)) // what stays of it is no whole turn
		o.ended = true
		return false
	}
	o.turns += n / turnBytes
	return true
}

type turn struct {
	who int
	at  [2]int64
}

// turns reads a file of turns.
type turns struct {
	file  *os.File // nil where nobody took turns
	count int
	block []byte // turns that were read, from the one called first on
	first int
}

// turn is one of them; where nobody took turns, they are one that begins with nothing.
func (t *turns) turn(i int) (turn, error) {
	if i < t.first || i >= t.first+len(t.block)/turnBytes {
		b := make([]byte, turnBytes*min(t.count-i, 256))
		if _, err := t.file.ReadAt(b, int64(i)*turnBytes); err != nil {
			return turn{}, err
		}
		t.block, t.first = b, i
	}
	b := t.block[(i-t.first)*turnBytes:]
	first := binary.LittleEndian.Uint64(b)
	return turn{int(first >> 63), [2]int64{int64(first &^ (1 << 63)), int64(binary.LittleEndian.Uint64(b[8:]))}}, nil
}

func (t *turns) recount() error {
	if t.file == nil {
		return nil
	}
	info, err := t.file.Stat()
	if err == nil {
		t.count = int(info.Size() / turnBytes)
	}
	return err
}
