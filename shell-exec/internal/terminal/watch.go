package terminal

import (
	"fmt"

	"github.com/multiollama/mcp-server/shared/fault"
)

// Watched is a living session, for somebody who looks at its processes.
type Watched struct {
	ID string

	session *session
}

// PIDs are the processes of the session that live now.
func (w Watched) PIDs() []int { return w.session.tree.PIDs() }

// Gone is closed when none is left.
func (w Watched) Gone() <-chan struct{} { return w.session.tree.Gone() }

// Watch is the session whose program has the process ID; fault.NoProcess where there is
// none, whoever else has it.
func (s *Sessions) Watch(pid int) (Watched, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.all {
		if t.tree.PID() == pid && !t.exited() {
			return Watched{t.id, t}, nil
		}
	}
	return Watched{}, fault.New(fault.NoProcess, fmt.Sprintf("no terminal of this server has the process %d", pid),
		"terminal_list shows them").With("process_id", pid)
}
