package toolkit

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/multiollama/mcp-server/shared/fault"
)

// Asking in 2026-07-28 takes two calls: the first one's result is the question with a
// sealed state, the second brings the state back with the answer. In between the server
// keeps nothing but the state's number.

// questionKey is the name of the question in a result, and of its answer.
const questionKey = "confirm"

// replies are what a call knows of its questions.
type replies struct {
	args  json.RawMessage // of the call
	mu    sync.Mutex
	given map[digest]reply
}

func (r *replies) to(q Question) (reply, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	given, ok := r.given[q.digest()]
	return given, ok
}

func (r *replies) keep(q Question, given reply) { r.put(q.digest(), given) }

func (r *replies) put(question digest, given reply) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.given == nil {
		r.given = map[digest]reply{}
	}
	r.given[question] = given
}

// agreed are the questions that need not be asked again.
func (r *replies) agreed() (all []digest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for question, given := range r.given {
		if given.answer == agreed {
			all = append(all, question)
		}
	}
	return all
}

// pause ends a call with a question. It is no failure, only an error for the tool.
type pause struct {
	question Question
	state    string
}

func (*pause) Error() string { return "a person has to be asked first" }

// pause makes the error, or refuses where too many questions wait for an answer.
func (c *call) pause(q Question) error {
	sealed, err := c.server.states.seal(c.server.config.Clock(), q.patience(), state{c.identity(), q.digest(), c.replies.agreed()})
	if err != nil {
		return err
	}
	return &pause{q, sealed}
}

// result is the question as the result of the call.
func (p *pause) result() *mcp.CallToolResult {
	return server.NewInputRequestBuilder(p.state).Elicit(questionKey, p.question.form()).ToolResult()
}

// resume takes the answer that a call brings, before anything of it runs. A state that
// is not exactly what was given out for this call is refused, whether or not the tool
// would ask.
func (c *call) resume(ctx context.Context, args json.RawMessage, again mcp.MultiRoundTripParams) *fault.Error {
	c.replies.args = args
	if !server.IsModernRequest(ctx) || again.RequestState == "" {
		return nil
	}
	st, err := c.server.states.take(c.server.config.Clock(), again.RequestState, c.identity())
	if err != nil {
		c.event.Rule = "confirm:state"
		return err
	}
	for _, question := range st.agreed {
		c.replies.put(question, reply{answer: agreed})
	}
	c.replies.put(st.asked, replyOf(server.ElicitationResponse(again.InputResponses, questionKey)))
	return nil
}

// identity is what a state is bound to: the client whose calls count together (over HTTP,
// that of a token), the tool, and its arguments.
func (c *call) identity() digest {
	return digestOf(c.counted, c.event.Tool, canonical(c.replies.args))
}

// canonical is JSON in one spelling: a client may write the same arguments in another
// order when it sends them again.
func canonical(args json.RawMessage) string {
	d := json.NewDecoder(bytes.NewReader(args))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil || v == nil {
		return "{}" // read has refused what is no object; absent and null are the empty one
	}
	raw, _ := json.Marshal(v)
	return string(raw)
}
