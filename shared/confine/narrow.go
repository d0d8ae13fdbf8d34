package confine

import (
	"path/filepath"
	"strings"
)

// Narrow is what r and dirs have in common: where a directory of dirs lies beneath
// an allowed one, it; where it contains an allowed one, that. It is never wider
// than r: / and file:/// give r back, and nothing in common, or no dirs, gives a
// Roots that refuses every name. Each of dirs is an absolute path, ~/…, or a file:
// URI; one that cannot be read is fault.ParamMalformed. The deny rules and all
// options stay, and stay relative to the directories of r.
//
// The result shares the open directories of r and ends with it; a directory of
// dirs that is missing now or swapped for a link later is refused by the open, as
// any other path is.
func (r *Roots) Narrow(dirs []string) (*Roots, error) {
	n := &Roots{rules: r.rules, opts: r.opts, home: r.home, by: r.by, buffers: r.buffers}
	for _, dir := range dirs {
		name, err := r.directoryName(dir)
		if err != nil {
			return nil, err
		}
		n.meet(r.list, name, realName(name))
	}
	return n, nil
}

// directoryName reads one of Narrow's directories. RelativeOnly is a rule for
// paths in calls, not for these.
func (r *Roots) directoryName(dir string) (string, error) {
	plain := Roots{home: r.home}
	s, err := plain.spell(dir)
	if err != nil {
		return "", err.With("path", dir)
	}
	if s.abs == "" {
		return "", malformed("the root "+shown(dir)+" is not absolute", "Write file:///directory").With("path", dir)
	}
	return s.abs, nil
}

// realName is name without links where it can be told, else name. It only decides
// which part of an allowed directory is meant; the open is still the check.
func realName(name string) string {
	real, err := filepath.EvalSymlinks(filepath.FromSlash(name))
	if err != nil {
		return name
	}
	return cleanHost(real)
}

// meet adds what the directory called name, really real, has in common with each
// of list.
func (r *Roots) meet(list []*root, name, real string) {
	for _, one := range list {
		if part, ok := one.part(name, real); ok {
			r.addOnce(part)
		}
	}
}

// part is the smaller of the allowed directory and the other, if one is in the other.
func (one *root) part(name, real string) (*root, bool) {
	for _, pair := range [][2]string{{one.real, real}, {one.name, name}} {
		if _, ok := beneath(pair[1], pair[0]); ok {
			return one, true
		}
	}
	rel, ok := beneath(one.real, real)
	if !ok && real == name { // it does not exist yet: go by its name
		rel, ok = beneath(one.name, name)
	}
	if !ok {
		return nil, false
	}
	full := Path{root: one, rel: rel}.full()
	return &root{name: name, real: strings.TrimSuffix(one.real, "/") + "/" + rel, kept: one.kept, base: one.base, prefix: full}, true
}

func (r *Roots) addOnce(part *root) {
	for _, have := range r.list {
		if have.kept == part.kept && have.prefix == part.prefix {
			return
		}
	}
	r.list = append(r.list, part)
}
