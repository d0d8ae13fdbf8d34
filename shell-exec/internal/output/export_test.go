package output

// RenderParts is Render of a stream that comes in parts.
func RenderParts(parts ...[]byte) string {
	r := newRenderer()
	for _, p := range parts {
		r.write(p)
	}
	return r.finish()
}

// What a screen remembers.
const (
	Columns  = columns
	MostRows = mostRows
)

// Bound sets how many turns are kept of a run.
func (s *Store) Bound(turns int) { s.mostTurns = turns }
