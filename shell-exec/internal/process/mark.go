package process

// A number and a time tell one process from another, but not ours from a stranger's. So what may be signalled by a record
// carries the job's ID where others can see it and the process cannot have been given it by chance.

// jobVariable is what a detached command has in its environment.
const jobVariable = "MCP_SHELL_JOB"

// ofSupervisor and ofCommand are the marks of a job's two processes: a word of the command line, and a variable.
func ofSupervisor(id string) string { return "--job=" + id }
func ofCommand(id string) string    { return jobVariable + "=" + id }
