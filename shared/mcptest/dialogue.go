package mcptest

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// dialogue is a session test as it is played: a running server, and what its client knows of whose turn it is.
type dialogue struct {
	*conn
	closed bool // the client has ended the input
	names  *names
	owed   map[string]remark // requests without an answer, by id
	news   map[string]bool   // progress tokens of which there was some
}

// remark is a message, the client's or the server's, and what a client must understand
// of it to know whose turn it is.
type remark struct {
	Message
	Params struct {
		RequestID json.RawMessage `json:"requestId"`
		Token     json.RawMessage `json:"progressToken"`
		Meta      struct {
			Token json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	} `json:"params"`
}

func (r remark) asks() bool    { return r.Method != "" && r.ID != nil }
func (r remark) answers() bool { return r.Result != nil || r.Error != nil }
func (r remark) cancels() bool { return r.Method == "notifications/cancelled" }

// key is the id; that of an answer to no request is "".
func (r remark) key() string {
	if string(r.ID) == "null" {
		return ""
	}
	return string(r.ID)
}

// exchange sends a passage and returns what the server writes until it is the client's turn again.
func (d *dialogue) exchange(p, next passage) (came []string, err error) {
	for _, line := range p.sent {
		if err := d.sendLine(line); err != nil {
			return nil, err
		}
	}
	var cancelled []string // requests that are cancelled next are not waited for
	for _, line := range next.sent {
		var r remark
		if json.Unmarshal([]byte(strings.TrimPrefix(line, "> ")), &r) == nil && r.cancels() {
			cancelled = append(cancelled, string(r.Params.RequestID))
		}
	}
	for question := false; d.closed || !question && d.waits(cancelled); {
		line, ok, err := d.hear()
		if err != nil || !ok {
			return came, err
		}
		var r remark
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			return came, err
		}
		token := string(r.Params.Token)
		switch progress := r.Method == "notifications/progress"; {
		case progress && d.news[token]:
			continue // of the news of a request only the first is written down
		case progress:
			d.news[token] = true
		case r.answers():
			delete(d.owed, r.key())
		case r.asks():
			question = true
		}
		came = append(came, d.names.hide(line))
	}
	return came, nil
}

// sendLine sends a line of a passage and notes which answer it calls for; what is not a message calls for an answer to no
// request.
func (d *dialogue) sendLine(line string) error {
	if line == endOfInput {
		d.closed = true
		return d.stdin.Close()
	}
	line = d.names.expand(strings.TrimPrefix(line, "> "))
	var r remark
	switch err := json.Unmarshal([]byte(line), &r); {
	case err == nil && r.cancels():
		delete(d.owed, string(r.Params.RequestID))
	case err == nil && (r.Method != "" && !r.asks() || r.Method == "" && r.answers()):
	default:
		d.owed[r.key()] = r
	}
	_, err := io.WriteString(d.stdin, line+"\n")
	return err
}

// waits reports whether something has yet to come, when those requests are to be cancelled.
func (d *dialogue) waits(cancelled []string) bool {
	for id, r := range d.owed {
		token := r.Params.Meta.Token
		if !slices.Contains(cancelled, id) || token != nil && !d.news[string(token)] {
			return true
		}
	}
	return false
}

// hear returns the next line of the server, which has to be a message; ok is false after the last one.
func (d *dialogue) hear() (line string, ok bool, err error) {
	select {
	case line, ok = <-d.lines:
	case <-time.After(patience):
		return "", false, fmt.Errorf("no answer in %v", patience)
	}
	if !ok && !d.closed {
		return "", false, errGone
	}
	if ok {
		if _, err = parse([]byte(line)); err != nil {
			err = fmt.Errorf("the server wrote %q: %w", line, err)
		}
	}
	return line, ok, err
}
