package process

// identity is a process that a number alone does not name: numbers come again.
type identity struct {
	PID  int    `json:"pid"`
	Born string `json:"born"` // what no later process of that number has; "": nothing is known
}

// identify is the process that has the number at this moment.
func identify(pid int) identity { return identity{PID: pid, Born: born(pid)} }

// alive says whether the very process is still there.
func (i identity) alive() bool { return i.Born != "" && born(i.PID) == i.Born }
