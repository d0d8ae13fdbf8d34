package audit

import (
	"encoding/json"
	"time"
)

// Event is one line of the log. The comment of a field says what its zero value means; the
// order of the fields is the order in the line, and Hash must stay last.
type Event struct {
	Seq       uint64          `json:"seq"`                  // counts from 1 over all processes and rotated files
	Time      time.Time       `json:"time"`                 // UTC; the clock may go back, Seq never does
	Server    string          `json:"server"`               // file-read, file-write, shell-exec
	Version   string          `json:"version"`              // of the server
	PID       int             `json:"pid"`                  // of the server
	Session   string          `json:"session,omitempty"`    // of the transport
	Client    string          `json:"client,omitempty"`     // as the client names itself
	RequestID string          `json:"request_id,omitempty"` // as in the error envelope
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments,omitempty"` // already masked, see MaskArguments
	Paths     []string        `json:"paths,omitempty"`     // absolute, as far as they are known
	Verdict   string          `json:"verdict"`             // allow, deny or ask
	Rule      string          `json:"rule,omitempty"`      // that led to the verdict
	Outcome   string          `json:"outcome"`             // begin, ok, error or refused
	Code      string          `json:"code,omitempty"`      // of the error table
	Cause     string          `json:"cause,omitempty"`     // never sent to clients
	// DurationMS is in milliseconds, zero at a begin.
	DurationMS float64 `json:"duration_ms"`
	Bytes      int64   `json:"bytes"` // of content that was read or written
	Prev       string  `json:"prev"`  // Hash of event Seq-1, empty for the first
	Hash       string  `json:"hash"`  // SHA-256 in hex over Prev and the line without hash
}
