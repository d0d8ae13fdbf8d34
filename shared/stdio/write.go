package stdio

import (
	"io"

	"github.com/multiollama/mcp-server/shared/rpc"
)

// output is the only way to the client. One Write per message: a line is never
// cut by another one.
type output struct {
	turn   chan struct{} // holds one token: whose turn it is to write
	w      io.Writer
	err    error         // the first failure; nothing is written after it
	broken chan struct{} // closed at that moment
	sealed chan struct{} // closed when nothing may be written any more
	lines  rpc.Encoder   // makes them
}

func newOutput(w io.Writer) *output {
	return &output{turn: make(chan struct{}, 1), w: w, broken: make(chan struct{}), sealed: make(chan struct{})}
}

// write sends a line, if it still may when its turn has come. May is asked then
// and not before, so that whoever sees a later message of ours has seen all
// there will be of a request it cancelled before. A nil may is yes.
func (o *output) write(line []byte, may func() bool) error {
	o.turn <- struct{}{}
	defer func() { <-o.turn }()
	select {
	case <-o.sealed:
		return errClosing
	default:
	}
	if o.err != nil || may != nil && !may() {
		return o.err
	}
	if _, err := o.w.Write(line); err != nil {
		o.err = err
		close(o.broken)
	}
	return o.err
}

// seal ends writing: the writer is not ours any longer. Only a Write that is
// under way because nobody reads can outlast it.
func (o *output) seal() {
	select {
	case o.turn <- struct{}{}:
		defer func() { <-o.turn }()
	default:
	}
	close(o.sealed)
}

// failure is why writing ended, or nil. It does not wait for a Write that is
// under way.
func (o *output) failure() error {
	select {
	case <-o.broken:
		return o.err
	default:
		return nil
	}
}
