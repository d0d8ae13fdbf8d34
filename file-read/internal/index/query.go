package index

import "slices"

// Query is texts of which one stands in everything that matches.
type Query struct {
	texts [][]uint32 // the hashes of the runs of each
}

// NewQuery is a query for any of the texts, whatever the case of their ASCII
// letters. It is nil where filters cannot help: one of the texts is too short, or
// there are none.
func NewQuery(texts ...[]byte) *Query {
	q := &Query{}
	for _, t := range texts {
		runs := runsOf(t)
		if len(runs) == 0 {
			return nil
		}
		q.texts = append(q.texts, runs)
	}
	if q.texts == nil {
		return nil
	}
	return q
}

// runsOf is the hashes of the runs of three bytes in text. Those with a line end
// are left out: a search takes the carriage return out of one.
func runsOf(text []byte) []uint32 {
	var runs []uint32
	for i := 0; i+3 <= len(text); i++ {
		a, b, c := lower(text[i]), lower(text[i+1]), lower(text[i+2])
		if isLineEnd(a) || isLineEnd(b) || isLineEnd(c) {
			continue
		}
		if h := hash(uint64(a) | uint64(b)<<8 | uint64(c)<<16); !slices.Contains(runs, h) {
			runs = append(runs, h)
		}
	}
	return runs
}

func isLineEnd(c byte) bool { return c == '\n' || c == '\r' }

// mayBeIn says that all runs of one of the texts are in a filter.
func (q *Query) mayBeIn(filter []uint64) bool {
	mask := uint32(len(filter)*64 - 1)
	for _, runs := range q.texts {
		if hasAll(filter, mask, runs) {
			return true
		}
	}
	return false
}

func hasAll(filter []uint64, mask uint32, runs []uint32) bool {
	for _, h := range runs {
		if filter[h&mask>>6]>>(h&63)&1 == 0 {
			return false
		}
	}
	return true
}
