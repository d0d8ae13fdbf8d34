package output

// Bound sets how many turns are kept of a run.
func (s *Store) Bound(turns int) { s.maxTurns = turns }
