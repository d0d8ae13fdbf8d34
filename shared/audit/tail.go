package audit

import (
	"errors"
	"io"
	"slices"
)

// tail is the last n whole lines of a view, read from the newest file back, and
// the end of the last whole line in the current file.
func (v *view) tail(n int) (recent [][]byte, end int64, err error) {
	if v.current != nil {
		recent, end, err = lastLines(io.NewSectionReader(v.current, 0, v.size), n)
		if err != nil {
			return nil, 0, err
		}
	}
	for _, r := range slices.Backward(v.old) {
		if len(recent) >= n {
			break
		}
		var more [][]byte
		yieldRotated(r, func(p part, failure error) bool {
			if err = failure; err == nil {
				more, _, err = lastLines(p.content, n-len(recent))
			}
			return true
		})
		if err != nil && !errors.Is(err, errPruned) {
			return nil, 0, err
		}
		recent = append(more, recent...)
	}
	return recent, end, nil
}

// lastLines keeps copies of the last n whole lines of r, n being at least 1.
func lastLines(r io.Reader, n int) (kept [][]byte, end int64, err error) {
	count := 0
	for line, err := range lines(r) {
		if err != nil {
			return nil, 0, err
		}
		if !line.whole {
			break
		}
		end += line.size
		if len(kept) < n {
			kept = append(kept, nil)
		}
		kept[count%n] = append(kept[count%n][:0], line.text...)
		count++
	}
	if first := count % n; count > n { // the ring, from its oldest line
		kept = append(slices.Clone(kept[first:]), kept[:first]...)
	}
	return kept, end, nil
}
