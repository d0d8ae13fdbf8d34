package toolkit

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"maps"
	"math"
	"sync"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
)

// maxOpen is how many questions may wait for an answer at once, of all clients.
const maxOpen = 1024

// number names one state.
type number [16]byte

// states gives out request states and takes each back once. A state comes from the
// client, so nothing in it is believed but for its seal: a key that lives as long as the
// process. It is bound to the client, the tool, its arguments and the question, and not to
// a session, for 2026-07-28 has none.
type states struct {
	key  [32]byte
	mu   sync.Mutex
	open map[number]time.Time // given out and not taken back; until when
}

// state is what a call is resumed with.
type state struct {
	call   digest   // client, tool and arguments
	asked  digest   // the question
	agreed []digest // questions before it
}

// errForged is behind the refusal of a state without our seal. It is an error of the
// protocol: 2026-07-28 wants a client to keep a state as it is.
var errForged = errors.New("the request state is forged")

// The bytes of a state: number, end, call, question, questions agreed to, seal.
const (
	endAt    = len(number{})
	callAt   = endAt + 8
	askedAt  = callAt + sha256.Size
	agreedAt = askedAt + sha256.Size
)

// seal gives out a state that counts for patience. Where there is no room for it, nobody
// else's is forgotten.
func (s *states) seal(now time.Time, patience time.Duration, st state) (string, error) {
	var n number
	rand.Read(n[:])
	end := now.Add(patience)

	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.open) >= maxOpen {
		maps.DeleteFunc(s.open, func(_ number, until time.Time) bool { return !now.Before(until) })
	}
	if len(s.open) >= maxOpen {
		next := end
		for _, until := range s.open {
			if until.Before(next) {
				next = until
			}
		}
		seconds := int(math.Ceil(next.Sub(now).Seconds()))
		return "", fault.New(fault.LimitReached, "too many questions wait for a person's answer", "Answer or wait for those that were asked").
			With("limit", maxOpen).With("retry_after_seconds", seconds)
	}
	s.open[n] = end

	raw := binary.BigEndian.AppendUint64(n[:], uint64(end.UnixMilli()))
	raw = append(append(raw, st.call[:]...), st.asked[:]...)
	for _, d := range st.agreed {
		raw = append(raw, d[:]...)
	}
	return base64.RawURLEncoding.EncodeToString(append(raw, s.mac(raw)...)), nil
}

// askAgain is what a client does whose state does not count.
const askAgain = "Call again without a request state; the person is then asked about this call"

// take gives the state back its meaning, once, for the same call, and in time.
func (s *states) take(now time.Time, sealed string, call digest) (state, error) {
	raw, err := base64.RawURLEncoding.DecodeString(sealed)
	whole := len(raw) - sha256.Size
	if err != nil || whole < agreedAt || (whole-agreedAt)%sha256.Size != 0 || !hmac.Equal(raw[whole:], s.mac(raw[:whole])) {
		return state{}, fault.New(fault.Forbidden, "the request state was not made by this server, or was changed", askAgain).Because(errForged)
	}
	raw = raw[:whole]
	if digest(raw[callAt:askedAt]) != call {
		what := "the request state is that of another call: the client, the tool or its arguments are not the same"
		return state{}, fault.New(fault.Forbidden, what, askAgain)
	}
	if end := int64(binary.BigEndian.Uint64(raw[endAt:callAt])); now.UnixMilli() >= end {
		do := "Call again without a request state; the person is asked anew"
		return state{}, fault.New(fault.Forbidden, "the answer came too late to count", do).With("answer", late)
	}
	s.mu.Lock()
	_, open := s.open[number(raw[:endAt])]
	delete(s.open, number(raw[:endAt]))
	s.mu.Unlock()
	if !open {
		return state{}, fault.New(fault.Forbidden, "the request state has been used already", askAgain)
	}
	st := state{call: call, asked: digest(raw[askedAt:agreedAt])}
	for rest := raw[agreedAt:]; len(rest) > 0; rest = rest[sha256.Size:] {
		st.agreed = append(st.agreed, digest(rest[:sha256.Size]))
	}
	return st, nil
}

func (s *states) mac(raw []byte) []byte {
	h := hmac.New(sha256.New, s.key[:])
	h.Write(raw)
	return h.Sum(nil)
}
