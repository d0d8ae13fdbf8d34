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

// MostTurns is how many turns are kept of a run.
const MostTurns = mostTurns
