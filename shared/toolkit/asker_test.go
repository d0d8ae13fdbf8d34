package toolkit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/mcptest"
	"github.com/multiollama/mcp-server/shared/transport"
)

func TestMain(m *testing.M) { mcptest.Main(m, "asker", asker) }

// asker is a server of tools that ask a person first.
func asker() {
	s, err := NewServer(Config{Name: "asker", Version: "1", Vocabulary: Vocabulary{Name: "asking", Tools: askingTools(new(atomic.Int64))}})
	if err == nil {
		err = transport.ServeStdio(context.Background(), s, os.Stdin, os.Stdout, transport.StdioOptions{Context: WithRequestID})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type doIn struct {
	What     string   `json:"what"`
	Patience int      `json:"patience_ms,omitempty"`
	Also     []string `json:"also,omitempty"`
}

type doOut struct {
	Done int64 `json:"done"` // so far, by every tool
}

// askingTools count in done how often something was done.
func askingTools(done *atomic.Int64) []Tool {
	spec := func(name string) Spec { return Spec{Name: name, Doc: name, Effect: Runs} }
	do := func(ctx context.Context, in doIn) (doOut, error) {
		for _, what := range append([]string{in.What}, in.Also...) {
			if err := Confirm(ctx, in.question(what)); err != nil {
				return doOut{}, fmt.Errorf("%s: %w", what, err)
			}
		}
		return doOut{done.Add(1)}, nil
	}
	together := func(ctx context.Context, in doIn) (doOut, error) {
		errs := make([]error, len(in.Also))
		var all sync.WaitGroup
		for i, what := range in.Also {
			all.Go(func() { errs[i] = Confirm(ctx, in.question(what)) })
		}
		all.Wait()
		if err := errors.Join(errs...); err != nil {
			return doOut{}, err
		}
		return doOut{done.Add(1)}, nil
	}
	return []Tool{
		New(spec("do"), do),
		New(spec("redo"), do),
		New(spec("together"), together),
		New(spec("count"), func(context.Context, doIn) (doOut, error) { return doOut{done.Load()}, nil }),
	}
}

func (in doIn) question(what string) Question {
	return Question{ID: "id of " + what, Title: "Do " + what + "?", Text: "It cannot be undone.", Patience: time.Duration(in.Patience) * time.Millisecond}
}

// came is what came of a call: "done", an answer from the details, or a code.
func came(t testing.TB, r mcptest.Result) string {
	t.Helper()
	switch {
	case r.Asked().InputRequired():
		return "asked"
	case !r.IsError:
		return "done"
	}
	if r.Raw == nil { // the protocol refuses
		return r.Code
	}
	var e fault.Envelope
	if err := json.Unmarshal(r.Structured, &e); err != nil {
		t.Fatalf("%v: %s", err, r.Raw)
	}
	if answer, ok := e.Error.Details["answer"].(string); ok && r.Code == "SECURITY_003" {
		return answer
	}
	return r.Code
}

// wasDone fails the test unless so many things were done.
func wasDone(t testing.TB, c *mcptest.Client, want int64) {
	t.Helper()
	var out doOut
	if err := c.Call("count", `{"what":""}`).Decode(&out); err != nil || out.Done != want {
		t.Errorf("%d things were done (%v), not %d", out.Done, err, want)
	}
}

func inBothEras(t *testing.T, test func(*testing.T, mcptest.Options)) {
	for _, era := range mcptest.Eras() {
		t.Run(era.String(), func(t *testing.T) { test(t, mcptest.Options{Era: era}) })
	}
}
