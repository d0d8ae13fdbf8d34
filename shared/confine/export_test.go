package confine

import (
	"path"
	"path/filepath"
)

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

// Judged says of an entry of a directory whether the rules are spared it, and whether
// they name it.
func (r *Roots) Judged(dir, name string) (spared, named bool) {
	p := Path{roots: r, root: r.list[0], rel: path.Clean(dir), words: dir}
	if !filepath.IsLocal(dir) || !isEntry(name) {
		p.rel = "."
	}
	d := &Dir{path: p, plain: !p.watched()}
	if !isEntry(name) {
		return false, false
	}
	entry := d.below(name)
	return d.spares(name), entry.judgeLast() != nil || entry.fileOnly
}
