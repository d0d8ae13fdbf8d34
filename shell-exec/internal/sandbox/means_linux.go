package sandbox

// means is which holder a command gets.
type means int

const (
	_         means = iota
	byDomain        // Landlock's signal scope
	bySpace         // a PID namespace, at level 2
	byGroup         // a control group
	byLineage       // parents, sessions and what Landlock lets its thread look at
)

func (m means) String() string {
	return [...]string{"", "Landlock's signal scope", "a PID namespace", "a control group", "a walk through /proc"}[m]
}

// means is the surest that there is: the first two cannot be left by any means,
// nor the third by who may not write to it. The last can be outrun.
func (m machine) means(level2 bool) means {
	switch {
	case m.scoped():
		return byDomain
	case level2:
		return bySpace
	case m.group != "":
		return byGroup
	}
	return byLineage
}
