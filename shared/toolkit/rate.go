package toolkit

import (
	"fmt"
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/multiollama/mcp-server/shared/fault"
)

// Rate is how many calls one client may make in a span of time. The
// zero Rate does not limit.
type Rate struct {
	Calls int
	Per   time.Duration
}

func (r Rate) limits() bool { return r.Calls > 0 && r.Per > 0 }

// maxSessions bounds what is remembered of sessions that never said goodbye.
const maxSessions = 10_000

// limits is a token bucket for every session: Calls at once, refilled evenly.
type limits struct {
	rate     Rate
	mu       sync.Mutex
	sessions map[string]*rate.Limiter
}

func newLimits(r Rate) *limits {
	return &limits{rate: r, sessions: map[string]*rate.Limiter{}}
}

// take uses up one call of the session, or says when the next one is free.
func (l *limits) take(session string, now time.Time) *fault.Error {
	if !l.rate.limits() {
		return nil
	}
	r := l.of(session, now).ReserveN(now, 1)
	wait := r.DelayFrom(now)
	if wait == 0 {
		return nil
	}
	r.CancelAt(now)
	seconds := int(math.Ceil(wait.Seconds()))
	return fault.New(fault.LimitReached, fmt.Sprintf("the limit of %d calls in %s is used up", l.rate.Calls, l.rate.Per), fmt.Sprintf("Try again in %d seconds", seconds)).
		With("limit", l.rate.Calls).With("per_seconds", l.rate.Per.Seconds()).With("retry_after_seconds", seconds)
}

func (l *limits) of(session string, now time.Time) *rate.Limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	one, ok := l.sessions[session]
	if !ok {
		l.makeRoom(now)
		one = rate.NewLimiter(rate.Every(l.rate.Per/time.Duration(l.rate.Calls)), l.rate.Calls)
		l.sessions[session] = one
	}
	return one
}

// makeRoom drops sessions that have all their calls left: a new limiter for
// one of them would be the same.
func (l *limits) makeRoom(now time.Time) {
	if len(l.sessions) < maxSessions {
		return
	}
	for id, one := range l.sessions {
		if one.TokensAt(now) >= float64(l.rate.Calls) {
			delete(l.sessions, id)
		}
	}
}

func (l *limits) forget(session string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.sessions, session)
}
