package mcptest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// dialogue is a story as it is played: a running server, and what its client knows of
// whose turn it is to speak.
type dialogue struct {
	program
	heard  chan string // the server's lines; closed where its output ends
	closed bool        // the client has ended the input
	gone   bool        // and the server its output
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
func (r remark) reports() bool { return r.Method == "notifications/progress" }

// key is the id; that of an answer to no request is "".
func (r remark) key() string {
	if string(r.ID) == "null" {
		return ""
	}
	return string(r.ID)
}

// begin starts the server of a story in its directory.
func begin(command []string, root, home string, names *names) (*dialogue, error) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_STATE_HOME="+home+"/.state")
	p, err := spawn(cmd)
	if err != nil {
		return nil, err
	}
	d := &dialogue{program: p, heard: make(chan string), names: names, owed: map[string]remark{}, news: map[string]bool{}}
	go d.listen()
	return d, nil
}

func (d *dialogue) listen() {
	defer close(d.heard)
	lines := bufio.NewScanner(d.stdout)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		d.heard <- lines.Text()
	}
}

// exchange sends a passage and is what came of it until it is the client's turn again.
func (d *dialogue) exchange(p, next passage) (came []string, err error) {
	for _, line := range p.sent {
		if err := d.say(line); err != nil {
			return nil, err
		}
	}
	cancelled := next.cancelled()
	for asked := false; !d.gone && (d.closed || !asked && d.waits(cancelled)); {
		line, err := d.hear()
		if err != nil {
			return came, err
		}
		keep, question := d.understand(line)
		asked = asked || question
		if keep {
			came = append(came, d.names.hide(line))
		}
	}
	return came, nil
}

// say sends a line of a story.
func (d *dialogue) say(line string) error {
	if line == endOfInput {
		d.closed = true
		return d.stdin.Close()
	}
	line = d.names.expand(strings.TrimPrefix(line, "> "))
	d.owe(line)
	_, err := io.WriteString(d.stdin, line+"\n")
	return err
}

// owe notes which answer a line calls for. What is no message calls for one that answers
// no request.
func (d *dialogue) owe(line string) {
	var r remark
	err := json.Unmarshal([]byte(line), &r)
	switch {
	case err == nil && r.cancels():
		delete(d.owed, string(r.Params.RequestID))
	case err == nil && (r.Method != "" && !r.asks() || r.Method == "" && r.answers()):
	default:
		d.owed[r.key()] = r
	}
}

// cancelled are the requests that a passage cancels.
func (p passage) cancelled() (ids []string) {
	for _, line := range p.sent {
		var r remark
		if json.Unmarshal([]byte(strings.TrimPrefix(line, "> ")), &r) == nil && r.cancels() {
			ids = append(ids, string(r.Params.RequestID))
		}
	}
	return ids
}

// waits says that something has yet to come, when those requests are to be cancelled.
func (d *dialogue) waits(cancelled []string) bool {
	for id, r := range d.owed {
		token := r.Params.Meta.Token
		if !slices.Contains(cancelled, id) || token != nil && !d.news[string(token)] {
			return true
		}
	}
	return false
}

// understand notes what a line of the server's does to whose turn it is.
func (d *dialogue) understand(line string) (keep, question bool) {
	var r remark
	if json.Unmarshal([]byte(line), &r) != nil {
		return line != "", false
	}
	if r.reports() {
		known := d.news[string(r.Params.Token)]
		d.news[string(r.Params.Token)] = true
		return !known, false
	}
	if r.answers() {
		delete(d.owed, r.key())
	}
	return true, r.asks()
}

// hear is the next line of the server's, which has to be a message; "" when there is
// none any more.
func (d *dialogue) hear() (string, error) {
	select {
	case line, ok := <-d.heard:
		if !ok {
			d.gone = true
			return "", d.premature()
		}
		if _, err := parse([]byte(line)); err != nil {
			return line, fmt.Errorf("the server wrote %q: %w", line, err)
		}
		return line, nil
	case <-time.After(patience):
		return "", fmt.Errorf("no answer in %v", patience)
	}
}

func (d *dialogue) premature() error {
	if d.closed {
		return nil
	}
	return errGone
}

// ended is why a story may not end as it does.
func (d *dialogue) ended() error {
	if !d.closed {
		return fmt.Errorf("the session does not end with %s", endOfInput)
	}
	return d.cmd.Wait()
}

// end leaves nothing of the server.
func (d *dialogue) end() {
	_ = d.cmd.Process.Kill()
	for range d.heard { // its last words
	}
	_ = d.cmd.Wait()
}
