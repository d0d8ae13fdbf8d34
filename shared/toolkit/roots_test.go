package toolkit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/multiollama/mcp-server/shared/fault"
)

// asking is a fixture whose tool asks for the client's roots and tells them.
func asking(t testing.TB) (*fixture, func() string) {
	var mu sync.Mutex
	var last string
	w := working(t, func(ctx context.Context) {
		roots, ok, err := ClientRoots(ctx)
		mu.Lock()
		defer mu.Unlock()
		last = fmt.Sprint(roots, ok)
		if err != nil {
			last = string(fault.From(err).Code)
		}
	})
	return w, func() string { mu.Lock(); defer mu.Unlock(); return last }
}

const changed = `{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`

func TestRootsAreAskedForOncePerSessionUntilTheyChange(t *testing.T) {
	w, told := asking(t)
	one, two := withRoots("one"), withRoots("two")
	one.answer, two.answer = rootsOf("file:///a", "file:///b"), rootsOf()
	step := func(c *client, line, want string, asked int) {
		t.Helper()
		if raw := w.HandleMessage(w.WithContext(t.Context(), c), json.RawMessage(line)); raw != nil && told() != want {
			t.Errorf("told %s, want %s", told(), want)
		}
		if c.asked != asked {
			t.Errorf("asked %d times, want %d", c.asked, asked)
		}
	}
	step(one, workLine, "[file:///a file:///b] true", 1)
	step(one, workLine, "[file:///a file:///b] true", 1)
	step(two, workLine, "[] true", 1)
	step(two, workLine, "[] true", 1)
	one.answer = rootsOf("file:///c")
	step(one, workLine, "[file:///a file:///b] true", 1)
	step(one, changed, "", 1)
	step(one, workLine, "[file:///c] true", 2)
	step(two, workLine, "[] true", 1)
	w.UnregisterSession(t.Context(), "one")
	step(one, workLine, "[file:///c] true", 3)
}

func TestAClientWithoutRootsIsNotAsked(t *testing.T) {
	for _, c := range []struct {
		what   string
		client *client
		line   string
	}{
		{"none declared", newClient("s"), workLine},
		{"declared, but in 2026-07-28", withRoots("s"), `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"work",` + strings.Replace(modern, "{}", `{"roots":{}}`, 1) + `}}`},
	} {
		w, told := asking(t)
		w.HandleMessage(w.WithContext(t.Context(), c.client), json.RawMessage(c.line))
		if told() != "[] false" || c.client.asked != 0 {
			t.Errorf("%s: told %s, asked %d times", c.what, told(), c.client.asked)
		}
	}
	w, told := asking(t)
	w.Call(t.Context(), "work", nil)
	if told() != "[] false" {
		t.Errorf("from a command line: %s", told())
	}
	if roots, ok, err := ClientRoots(t.Context()); roots != nil || ok || err != nil {
		t.Errorf("outside of any call: %v %v %v", roots, ok, err)
	}
}

func TestAFailureToListIsNotRemembered(t *testing.T) {
	w, told := asking(t)
	c := withRoots("s")
	c.answer = func(context.Context) (*mcp.ListRootsResult, error) { return nil, errors.New("not now") }
	ctx := w.WithContext(t.Context(), c)
	w.HandleMessage(ctx, json.RawMessage(workLine))
	if told() != "SYSTEM_002" {
		t.Errorf("told %s", told())
	}
	c.answer = rootsOf("file:///a")
	w.HandleMessage(ctx, json.RawMessage(workLine))
	if told() != "[file:///a] true" || c.asked != 2 {
		t.Errorf("told %s, asked %d times", told(), c.asked)
	}
}

func TestCallsAtOnceAskOnceAndAChangeMeanwhileIsNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := asking(t)
		c := withRoots("s")
		release := make(chan struct{})
		c.answer = func(ctx context.Context) (*mcp.ListRootsResult, error) { <-release; return rootsOf("file:///old")(ctx) }
		ctx := w.WithContext(t.Context(), c)
		var calls sync.WaitGroup
		for range 8 {
			calls.Go(func() { w.HandleMessage(ctx, json.RawMessage(workLine)) })
		}
		synctest.Wait()
		if c.asked != 1 {
			t.Errorf("asked %d times at once", c.asked)
		}
		w.HandleMessage(ctx, json.RawMessage(changed)) // the answer on its way is old now
		close(release)
		calls.Wait()
		if c.asked != 2 {
			t.Errorf("asked %d times, want once more after the change", c.asked)
		}
	})
}

func TestAClientThatNeverAnswersDoesNotHoldTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, told := asking(t)
		c := withRoots("s")
		c.answer = func(ctx context.Context) (*mcp.ListRootsResult, error) { <-ctx.Done(); return nil, ctx.Err() }
		ctx, cancel := context.WithCancel(w.WithContext(t.Context(), c))
		var calls sync.WaitGroup
		calls.Go(func() { w.HandleMessage(ctx, json.RawMessage(workLine)) })
		synctest.Wait()
		calls.Go(func() { // waits for the first one's answer, and gives up
			w.HandleMessage(ctx, json.RawMessage(workLine))
		})
		synctest.Wait()
		cancel()
		calls.Wait()
		if told() != "SYSTEM_002" || c.asked != 1 {
			t.Errorf("told %s, asked %d times", told(), c.asked)
		}
		begun := time.Now()
		w.HandleMessage(w.WithContext(t.Context(), c), json.RawMessage(workLine))
		if waited := time.Since(begun); waited != rootsPatience {
			t.Errorf("waited %v", waited)
		}
	})
}
