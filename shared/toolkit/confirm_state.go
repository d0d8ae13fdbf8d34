package toolkit

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
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

func newStates() *states {
	s := &states{open: map[number]time.Time{}}
	rand.Read(s.key[:]) // never fails (crypto/rand)
	return s
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

// seal gives out a state that counts for patience.
func (s *states) seal(now time.Time, patience time.Duration, st state) (string, *fault.Error) {
	var n number
	rand.Read(n[:])
	end := now.Add(patience)
	if err := s.enter(n, now, end); err != nil {
		return "", err
	}
	raw := binary.BigEndian.AppendUint64(n[:], uint64(end.UnixMilli()))
	raw = append(append(raw, st.call[:]...), st.asked[:]...)
	for _, d := range st.agreed {
		raw = append(raw, d[:]...)
	}
	return base64.RawURLEncoding.EncodeToString(append(raw, s.mac(raw)...)), nil
}

// enter remembers a state that is given out. Where there is no room for it, nobody
// else's is forgotten.
func (s *states) enter(n number, now, end time.Time) *fault.Error {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := end
	if len(s.open) >= maxOpen {
		for old, end := range s.open {
			switch {
			case !now.Before(end):
				delete(s.open, old)
			case end.Before(next):
				next = end
			}
		}
	}
	if len(s.open) >= maxOpen {
		seconds := int(math.Ceil(next.Sub(now).Seconds()))
		return fault.New(fault.LimitReached, "too many questions wait for a person's answer", "Answer or wait for those that were asked").
			With("limit", maxOpen).With("retry_after_seconds", seconds)
	}
	s.open[n] = end
	return nil
}

// take gives the state back its meaning, once, for the same call, and in time.
func (s *states) take(now time.Time, sealed string, call digest) (state, *fault.Error) {
	raw, ok := s.unsealed(sealed)
	if !ok {
		return state{}, badState("the request state was not made by this server, or was changed").Because(errForged)
	}
	if digest(raw[callAt:askedAt]) != call {
		return state{}, badState("the request state is that of another call: the client, the tool or its arguments are not the same")
	}
	if end := int64(binary.BigEndian.Uint64(raw[endAt:callAt])); now.UnixMilli() >= end {
		return state{}, fault.New(fault.Forbidden, "the answer came too late to count", "Call again without a request state; the person is asked anew").With("answer", late)
	}
	if !s.close(number(raw[:endAt])) {
		return state{}, badState("the request state has been used already")
	}
	st := state{call: call, asked: digest(raw[askedAt:agreedAt])}
	for rest := raw[agreedAt:]; len(rest) > 0; rest = rest[sha256.Size:] {
		st.agreed = append(st.agreed, digest(rest[:sha256.Size]))
	}
	return st, nil
}

// unsealed is a state without its seal, if that is ours.
func (s *states) unsealed(sealed string) ([]byte, bool) {
	raw, err := base64.RawURLEncoding.DecodeString(sealed)
	whole := len(raw) - sha256.Size
	if err != nil || whole < agreedAt || (whole-agreedAt)%sha256.Size != 0 {
		return nil, false
	}
	return raw[:whole], hmac.Equal(raw[whole:], s.mac(raw[:whole]))
}

func (s *states) mac(raw []byte) []byte {
	h := hmac.New(sha256.New, s.key[:])
	h.Write(raw)
	return h.Sum(nil)
}

// close reports whether the state was open until now.
func (s *states) close(n number) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, open := s.open[n]
	delete(s.open, n)
	return open
}

func badState(what string) *fault.Error {
	return fault.New(fault.Forbidden, what, "Call again without a request state; the person is then asked about this call")
}
