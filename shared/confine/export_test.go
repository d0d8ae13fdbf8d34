package confine

// OpenBy is Open with the mechanism forced.
func OpenBy(dirs []string, o Options, by Mechanism) (*Roots, error) { return open(dirs, o, by) }

type Mechanism = mechanism

const (
	ByKernel = byKernel
	ByWalk   = byWalk
)

// Chosen is the mechanism that Open chose.
func (r *Roots) Chosen() Mechanism { return r.by }

// SecretTable is the patterns of the set, readable ones apart.
func SecretTable() (denied, readable []string) {
	for _, s := range secretTable {
		if s.readable {
			readable = append(readable, s.pattern)
		} else {
			denied = append(denied, s.pattern)
		}
	}
	return denied, readable
}
