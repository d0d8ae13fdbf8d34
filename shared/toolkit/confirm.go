package toolkit

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/multiollama/mcp-server/shared/fault"
	safe "github.com/multiollama/mcp-server/shared/text"
)

// Question is what a person is asked before something happens.
type Question struct {
	ID    string // of what is asked, a decision's digest for one; an answer counts for exactly this
	Title string // one line
	// Text is plain, and its lines stay lines: what others wrote into it is to be quoted
	// where it must not look like a line of the question. Control and bidirectional
	// characters are escaped here. What is then too long to be shown is not asked.
	Text     string
	Patience time.Duration // how long to wait; 0 is 2 minutes
}

const (
	defaultPatience = 2 * time.Minute
	maxTitle        = 256     // bytes shown of a title
	maxQuestion     = 8 << 10 // bytes shown of a text, escaped as it is shown
)

// What comes of a question: in Details["answer"] of a refusal, and after "confirm:" in
// the rule of the audit log.
const (
	agreed      = "agreed"
	unsupported = "unsupported" // nobody could be asked
	declined    = "declined"
	cancelled   = "cancelled" // closed without a choice
	late        = "timeout"
)

// reply is what came of one question.
type reply struct {
	answer  string
	because error
}

// Confirm asks the person behind the client of this call. It is nil when the person
// agreed to exactly this question. Otherwise it is fault.Forbidden, with what came of
// it in Details["answer"]: "unsupported" at once where the client cannot ask, or
// answered in a way that says nothing; "declined", "cancelled" or "timeout".
// That it was a person who answered is the client's word.
//
// A tool must not have changed anything before it calls Confirm, and returns the error
// as it is. In protocol 2026-07-28 there is no question during a call: Confirm then
// fails with an error that toolkit turns into the question, and the client calls again,
// with the answer. The tool starts again, decides again what it has to ask, and where
// that is the same question, has its answer at once. A tool with several questions asks
// one after the other; what was agreed to is not asked again. A question is asked once
// in a call.
func Confirm(ctx context.Context, q Question) error {
	if q.ID == "" || q.Title == "" {
		return errors.New("a question without an ID or a title")
	}
	if !q.Fits() {
		return fault.New(fault.Forbidden, "this needs the consent of a person, and is too long to be shown as a whole", "Ask for less at once")
	}
	c := callFrom(ctx)
	if c == nil {
		return q.refusal(reply{answer: unsupported})
	}
	if !canAsk(ctx) {
		return c.settle(q, reply{answer: unsupported})
	}
	c.replies.mu.Lock()
	known, given := c.replies.given[q.digest()]
	e := c.event
	c.replies.mu.Unlock()
	if given {
		return c.settle(q, known)
	}

	// That a person is asked is recorded. Where the record is required and fails, nobody is.
	e.Verdict, e.Outcome, e.Rule, e.Cause = "ask", "begin", "confirm", q.name()
	e.Time = c.server.config.Clock()
	if err := c.record(e); err != nil {
		return err
	}

	if !server.IsModernRequest(ctx) {
		return c.settle(q, c.ask(ctx, q))
	}
	st := state{call: c.identity(), asked: q.digest()}
	c.replies.mu.Lock()
	for question, before := range c.replies.given {
		if before.answer == agreed {
			st.agreed = append(st.agreed, question)
		}
	}
	c.replies.mu.Unlock()
	sealed, err := c.server.states.seal(e.Time, q.patience(), st)
	if err != nil {
		return err
	}
	return &pause{q, sealed}
}

// canAsk reports whether the client said that it can show a form to a person. mcp-go
// would ask any client. The capability without members means forms, as it did before
// there were URLs to ask with.
func canAsk(ctx context.Context) bool {
	var can mcp.ClientCapabilities
	if server.IsModernRequest(ctx) {
		if declared := server.RequestProtocolInfoFromContext(ctx).ClientCapabilities; declared != nil {
			can = *declared
		}
	} else if session, ok := server.ClientSessionFromContext(ctx).(server.SessionWithClientInfo); ok {
		can = session.GetClientCapabilities()
	}
	return can.Elicitation != nil && (can.Elicitation.Form != nil || can.Elicitation.URL == nil)
}

// ask puts a question with a request of ours, and waits.
func (c *call) ask(ctx context.Context, q Question) reply {
	waiting, stop := context.WithTimeout(ctx, q.patience())
	defer stop()
	result, err := c.server.mcp.RequestElicitation(waiting, mcp.ElicitationRequest{Params: q.form()})
	switch {
	case ctx.Err() != nil:
		return reply{cancelled, context.Cause(ctx)}
	case waiting.Err() != nil:
		return reply{late, err}
	case errors.Is(err, server.ErrElicitationNotSupported):
		return reply{answer: unsupported}
	case err != nil:
		return reply{unsupported, err}
	}
	return replyOf(result)
}

// replyOf reads an answer. Whoever did not set agree to true did not agree.
func replyOf(r *mcp.ElicitationResult) reply {
	if r == nil {
		return reply{unsupported, errors.New("the client brought no answer")}
	}
	content, _ := r.Content.(map[string]any)
	agree, given := content[agreeField].(bool)
	switch {
	case r.Action == mcp.ElicitationResponseActionDecline:
		return reply{answer: declined}
	case r.Action == mcp.ElicitationResponseActionCancel:
		return reply{answer: cancelled}
	case r.Action == mcp.ElicitationResponseActionAccept && given && agree:
		return reply{answer: agreed}
	case r.Action == mcp.ElicitationResponseActionAccept && given:
		return reply{answer: declined}
	}
	return reply{unsupported, fmt.Errorf("the client's answer says neither yes nor no: action %s", quote(string(r.Action)))}
}

// settle keeps what came of a question, for the rest of the call and its last event.
func (c *call) settle(q Question, r reply) error {
	c.replies.keep(q.digest(), r)
	c.replies.mu.Lock()
	c.event.Rule, c.event.Cause = "confirm:"+r.answer, q.name()
	c.replies.mu.Unlock()
	if r.answer == agreed {
		return nil
	}
	return q.refusal(r)
}

// refusal is the error of a question that was not agreed to.
func (q Question) refusal(r reply) error {
	what := "what was asked for needs the consent of a person, and this client cannot ask one"
	do := "Leave it to the person, or find a way that needs no consent"
	switch r.answer {
	case declined:
		what, do = "the person was asked, and declined", "Do not try it again, in this way or another, unless the person wants it"
	case cancelled:
		what, do = "the question to the person was closed without a choice", "Talk to the person before you try again"
	case late:
		what, do = fmt.Sprintf("the person was asked, and did not answer within %s", q.patience()), "Try again when somebody is there to answer"
	case unsupported:
		if r.because != nil {
			what = "the client was told to ask a person, and what it answered is neither yes nor no"
		}
	}
	e := fault.New(fault.Forbidden, what, do).With("answer", r.answer)
	e.Err = r.because
	return e
}

func (q Question) patience() time.Duration {
	if q.Patience <= 0 {
		return defaultPatience
	}
	return q.Patience
}

// Fits says that a person is shown all of the question. A part that nobody saw would
// have the same yes.
func (q Question) Fits() bool {
	return len(safe.Escape(q.Title)) <= maxTitle && len(safe.Escape(q.Text, '\n')) <= maxQuestion
}

// name is the question in the audit log, without what it says.
func (q Question) name() string { return "question " + safe.Escape(safe.Cut(q.ID, 128)) }

// digest is the same for the same question only.
func (q Question) digest() digest { return digestOf(q.ID, q.Title, q.Text) }

type digest = [sha256.Size]byte

// digestOf puts its length before each part, so that no two lists of parts are alike.
func digestOf(parts ...string) (sum digest) {
	h := sha256.New()
	for _, p := range parts {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(p))))
		h.Write([]byte(p))
	}
	h.Sum(sum[:0])
	return sum
}

// agreeField is the one value of the form. Action accept alone would not do: some
// clients let a person accept before they show what there is to choose.
const agreeField = "agree"

// form is the question as MCP puts it. The mode stays away: a client of before
// 2025-11-25 does not know the word.
func (q Question) form() mcp.ElicitationParams {
	message := shown(safe.Escape(q.Title), maxTitle)
	if q.Text != "" {
		message += "\n\n" + shown(safe.Escape(q.Text, '\n'), maxQuestion)
	}
	return mcp.ElicitationParams{Message: message, RequestedSchema: map[string]any{
		"type": "object",
		"properties": map[string]any{agreeField: map[string]any{
			"type": "boolean", "title": "Yes, do it", "description": "Whether this may be done, this once", "default": false,
		}},
		"required": []string{agreeField},
	}}
}

// shown is at most about max bytes of s, its beginning and its end: what matters in a
// command may stand at either.
func shown(s string, max int) string {
	if len(s) <= max {
		return s
	}
	head := safe.Cut(s, max*3/4)
	tail := strings.ToValidUTF8(s[len(s)-max/4:], "")
	return fmt.Sprintf("%s\n[%d bytes are not shown here]\n%s", head, len(s)-len(head)-len(tail), tail)
}
