package sandbox

import "sync"

// spare is a thread that is bound before there is a command for it: to make and
// bind one takes half as long as to start a program. It is made while a command
// runs, for the next one, and serves one whose plan is the very same: what binds
// a thread is its plan and nothing else. There is one at most, until close.
type spare struct {
	mu     sync.Mutex
	plan   *plan
	thread *thread // nil while it is being made
	over   bool
}

// take is the thread that p has bound, which is the caller's now; nil where there
// is none.
func (s *spare) take(p *plan) *thread {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.thread
	if t == nil || s.plan != p {
		return nil
	}
	s.plan, s.thread = nil, nil
	return t
}

// prepare makes the next thread for p, unless there is one or it is on its way.
// One for another plan ends: that one is not what commands have now.
func (s *spare) prepare(p *plan) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || s.plan == p {
		return
	}
	s.drop()
	s.plan = p
	go func() {
		t, err := newThread(p.enter)
		if err == nil && !s.keep(p, t) {
			t.end()
		}
	}()
}

// keep is false where t is not wanted any more.
func (s *spare) keep(p *plan, t *thread) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || s.plan != p || s.thread != nil {
		return false
	}
	s.thread = t
	return true
}

// drop ends what there is. The lock is held.
func (s *spare) drop() {
	if s.thread != nil {
		s.thread.end()
	}
	s.plan, s.thread = nil, nil
}

func (s *spare) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	s.drop()
}
