package mcptest

import (
	"encoding/json"
	"maps"
)

// maxRounds is how often a client of 2026-07-28 calls again with what it was asked for.
const maxRounds = 10

// Asked is what a result of 2026-07-28 asks for before the call can continue (SEP-2322).
type Asked struct {
	ResultType    string             `json:"resultType"`
	InputRequests map[string]Message `json:"inputRequests"` // method and params
	RequestState  string             `json:"requestState"`
}

// InputRequired says that the server waits for answers.
func (a Asked) InputRequired() bool { return a.ResultType == "input_required" }

// Asked is what the result asks for; where it asks nothing, InputRequired is false.
func (r Result) Asked() Asked { return askedIn(r.Raw) }

func askedIn(result json.RawMessage) (a Asked) {
	_ = json.Unmarshal(result, &a) // a result that is no object asks for nothing
	return a
}

// answers are the client's, by the names of the requests; one that it refuses is left out.
func (c *conn) answers(asked Asked) map[string]any {
	all := map[string]any{}
	for name, request := range asked.InputRequests {
		if value, refusal := c.answer(request.Method, request.Params); refusal == nil {
			all[name] = value
		}
	}
	return all
}

// WithPerson is o with a person behind the client, who is shown a question and says
// "accept", "decline" or "cancel". Whoever accepts says yes to everything in the form
// that is asked for with yes or no.
func (o Options) WithPerson(says func(question string) string) Options {
	o.Capabilities = maps.Clone(o.Capabilities)
	if o.Capabilities == nil {
		o.Capabilities = map[string]any{}
	}
	o.Capabilities["elicitation"] = map[string]any{}
	before := o.Answer
	o.Answer = func(method string, params json.RawMessage) (any, *Error) {
		switch {
		case method == "elicitation/create":
			return filled(params, says), nil
		case before != nil:
			return before(method, params)
		}
		return nil, &Error{Code: -32601, Message: "the client knows no method " + method}
	}
	return o
}

func filled(params json.RawMessage, says func(string) string) any {
	var form struct {
		Message         string `json:"message"`
		RequestedSchema struct {
			Properties map[string]struct {
				Type string `json:"type"`
			} `json:"properties"`
		} `json:"requestedSchema"`
	}
	_ = json.Unmarshal(params, &form)
	action := says(form.Message)
	if action != "accept" {
		return map[string]any{"action": action}
	}
	content := map[string]any{}
	for name, property := range form.RequestedSchema.Properties {
		if property.Type == "boolean" {
			content[name] = true
		}
	}
	return map[string]any{"action": action, "content": content}
}
