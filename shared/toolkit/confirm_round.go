package toolkit

import (
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/multiollama/mcp-server/shared/jsonx"
)

// Asking in 2026-07-28 takes two calls: the first one's result is the question with a
// sealed state, the second brings the state back with the answer. In between the server
// keeps nothing but the state's number.

// questionKey is the name of the question in a result, and of its answer.
const questionKey = "confirm"

// replies are what a call knows of its questions.
type replies struct {
	mu    sync.Mutex
	given map[digest]reply
}

func (r *replies) keep(question digest, given reply) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.given == nil {
		r.given = map[digest]reply{}
	}
	r.given[question] = given
}

// pause ends a call with a question. It is no failure, only an error for the tool.
type pause struct {
	question Question
	state    string
}

func (*pause) Error() string { return "a person has to be asked first" }

// result is the question as the result of the call.
func (p *pause) result() *mcp.CallToolResult {
	return server.NewInputRequestBuilder(p.state).Elicit(questionKey, p.question.form()).ToolResult()
}

// identity is what a state is bound to: the client whose calls count together (over HTTP,
// that of a token), the tool, and its arguments, in one spelling: a client may write the same
// ones in another order when it sends them again.
func (c *call) identity() digest {
	args := "{}" // absent and null are the empty object
	if c.args.Kind == jsonx.Object {
		args = string(c.args.AppendCanonical(nil))
	}
	return digestOf(c.counted, c.event.Tool, args)
}
