package fault

import (
	"bytes"
	"encoding/json"
	"time"
)

// Envelope is how a failure looks to a program: as structuredContent of a result, and as
// the body of an HTTP response.
type Envelope struct {
	Error Failure `json:"error"`
}

// Failure is what an Envelope holds.
type Failure struct {
	Code      Code           `json:"code"`
	Message   string         `json:"message"`
	Category  string         `json:"category"`
	Details   map[string]any `json:"details"`
	Timestamp string         `json:"timestamp"` // RFC 3339
	RequestID string         `json:"request_id"`
}

// Envelope is e as JSON. Details that cannot be encoded are left out: the failure
// itself must always arrive.
func (e *Error) Envelope(at time.Time, requestID string) json.RawMessage {
	f := Failure{
		Code: e.Code, Message: e.Sentence(), Category: e.Code.Category(), Details: e.Details,
		Timestamp: at.Format(time.RFC3339Nano), RequestID: requestID,
	}
	if f.Details == nil {
		f.Details = map[string]any{}
	}
	raw, err := plainJSON(Envelope{f})
	if err != nil {
		f.Details = map[string]any{}
		raw, _ = plainJSON(Envelope{f})
	}
	return raw
}

// plainJSON leaves <, > and & as they are: this is no HTML, and a model reads it.
func plainJSON(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
