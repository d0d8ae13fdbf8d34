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

// A number and a time tell one process from another, but not ours from a stranger's. So what may be signalled by a record
// carries the job's ID where others can see it and the process cannot have been given it by chance.

// jobVariable is what a detached command has in its environment.
const jobVariable = "MCP_SHELL_JOB"

// ofSupervisor and ofCommand are the marks of a job's two processes: a word of the command line, and a variable.
func ofSupervisor(id string) string { return "--job=" + id }
func ofCommand(id string) string    { return jobVariable + "=" + id }
