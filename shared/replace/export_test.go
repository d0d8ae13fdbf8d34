//go:build linux || darwin

package replace

// Without makes the Writer work as on a file system that lacks functions.
func (w *Writer) Without(unnamed, exclusive, exchange bool) {
	w.lacks = lacks{unnamed: unnamed, exclusive: exclusive, exchange: exchange}
}

// Lack makes the Writer work as on a file system that cannot exchange two names.
func (w *Writer) Lack(exchange bool) { w.lacks.exchange = exchange }

// Alike is another Writer for a file system of the same kind.
func (w *Writer) Alike() *Writer {
	var other Writer
	other.lacks = w.lacks
	return &other
}

// When runs do at each moment of the kind, in the middle of a change.
func (w *Writer) When(at Step, do func()) {
	before := w.moved
	w.moved = func(s step) {
		if before != nil {
			before(s)
		}
		if s == at {
			do()
		}
	}
}

type Step = step

const (
	BeforeSwap = beforeSwap
	AfterSwap  = afterSwap
)

// Waiting is how many entries are being changed.
func (w *Writer) Waiting() int {
	w.order.mu.Lock()
	defer w.order.mu.Unlock()
	return len(w.order.turns)
}

// DraftName is a name that Sweep knows.
func DraftName() string { return draftName() }
