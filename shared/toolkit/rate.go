package toolkit

import (
	"fmt"
	"maps"
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

// take uses up one call of the session, or says when the next one is free.
func (l *limits) take(session string, now time.Time) error {
	if !l.rate.limits() {
		return nil
	}
	l.mu.Lock()
	one, ok := l.sessions[session]
	if !ok {
		// A session that has all its calls left needs no memory: a new limiter would be the same.
		if len(l.sessions) >= maxSessions {
			maps.DeleteFunc(l.sessions, func(_ string, other *rate.Limiter) bool { return other.TokensAt(now) >= float64(l.rate.Calls) })
		}
		one = rate.NewLimiter(rate.Every(l.rate.Per/time.Duration(l.rate.Calls)), l.rate.Calls)
		l.sessions[session] = one
	}
	l.mu.Unlock()

	r := one.ReserveN(now, 1)
	wait := r.DelayFrom(now)
	if wait == 0 {
		return nil
	}
	r.CancelAt(now)
	seconds := int(math.Ceil(wait.Seconds()))
	what := fmt.Sprintf("the limit of %d calls in %s is used up", l.rate.Calls, l.rate.Per)
	return fault.New(fault.LimitReached, what, fmt.Sprintf("Try again in %d seconds", seconds)).
		With("limit", l.rate.Calls).With("per_seconds", l.rate.Per.Seconds()).With("retry_after_seconds", seconds)
}

func (l *limits) forget(session string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.sessions, session)
}
