package output

// Bound sets how many turns are kept of a run.
func (s *Store) Bound(turns int) { s.maxTurns = turns }

// Dropped is how many bytes of a stream were not stored so far.
func (r *Run) Dropped(t Type) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := t.index(); i >= 0 {
		return r.streams[i].dropped
	}
	return r.streams[0].dropped + r.streams[1].dropped
}
