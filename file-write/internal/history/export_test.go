package history

// Bound makes the limits that have no setting small enough to be reached.
func (s *Store) Bound(changes, deadLines int) { s.most, s.slack = changes, deadLines }
