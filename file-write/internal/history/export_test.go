package history

import "context"

// Bound makes the limits that have no setting small enough to be reached.
func (s *Store) Bound(changes, deadLines int) { s.maxChanges, s.maxDead = changes, deadLines }

// Lost counts the changes of the index whose content is not there; List hides them.
func (s *Store) Lost() (n int, err error) {
	err = s.locked(context.Background(), func() error {
		for _, c := range s.index.kept {
			if !s.present(c) {
				n++
			}
		}
		return nil
	})
	return n, err
}
