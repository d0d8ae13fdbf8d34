package transport

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/multiollama/mcp-server/shared/fault"
)

func TestProgressIsCompleteInOrderAndBeforeItsResponse(t *testing.T) {
	const calls, steps = 20, 150
	synctest.Test(t, func(t *testing.T) {
		c := dial(t, mcpServer(mcpTools{"work": func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			for i := range steps {
				if err := notify(ctx, "notifications/progress", map[string]any{"progressToken": r.Params.Meta.ProgressToken, "progress": i}); err != nil {
					t.Error(err)
				}
			}
			return mcp.NewToolResultText("done"), nil
		}}), StdioOptions{})
		c.handshake(`{}`)
		for id := range calls {
			c.send(toolCall(id, "work"))
		}
		all, err := c.rest()
		if err != nil {
			t.Fatal(err)
		}
		seen, answered := map[string]int{}, map[string]bool{}
		for _, h := range all {
			if h.Method == "" {
				answered[string(h.ID)] = true
				continue
			}
			token := fmt.Sprint(h.Params["progressToken"])
			if answered[token] {
				t.Errorf("progress %v of call %s after its response", h.Params["progress"], token)
			}
			if h.Params["progress"] != float64(seen[token]) {
				t.Errorf("call %s: progress %v where %d was due", token, h.Params["progress"], seen[token])
			}
			seen[token]++
		}
		for id := range calls {
			if id := fmt.Sprint(id); seen[id] != steps || !answered[id] {
				t.Errorf("call %s: %d of %d notifications, answered %v", id, seen[id], steps, answered[id])
			}
		}
	})
}

func TestNothingOfACancelledCallIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		causes := make(chan error, 200)
		c := dial(t, mcpServer(mcpTools{"wait": func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			<-ctx.Done()
			causes <- context.Cause(ctx)
			notify(ctx, "notifications/progress", map[string]any{"progressToken": 1, "progress": 1})
			return mcp.NewToolResultText("too late"), nil
		}}), StdioOptions{})
		c.handshake(`{}`)
		c.send(toolCall(1, "wait"))
		synctest.Wait()
		c.send(cancelled(1))
		if before := c.ping(); len(before) > 0 {
			t.Errorf("written after the cancel: %v", before)
		}
		c.quiet()
		if cause := <-causes; !errors.Is(cause, errCancelled) {
			t.Errorf("the tool was told %v", cause)
		}
		for range 100 { // the id is free again at once
			c.send(toolCall(1, "wait"), cancelled(1))
		}
		c.quiet()
	})
}

func TestACancelNamesItsRequestExactly(t *testing.T) {
	for _, w := range []struct {
		what       string
		id, cancel string
		hit        bool
	}{
		{"a number", `7`, `7`, true},
		{"a string", `"7"`, `"7"`, true},
		{"a string written otherwise", `"a/b"`, `"a\/b"`, true},
		{"a number is not a string", `7`, `"7"`, false},
		{"a string is not a number", `"7"`, `7`, false},
		{"another request", `7`, `8`, false},
		{"big numbers are not rounded together", `9007199254740993`, `9007199254740992`, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			done := make(chan struct{})
			c := dial(t, mcpServer(mcpTools{"wait": waitsFor(done)}), StdioOptions{})
			c.handshake(`{}`)
			c.send(toolCall(w.id, "wait"))
			synctest.Wait()
			c.send(cancelled(w.cancel))
			synctest.Wait()
			close(done)
			all, err := c.rest()
			if err != nil || len(all) == 1 == w.hit {
				t.Errorf("%s: %v %v", w.what, all, err)
			}
		})
	}
}

func TestAQueuedCallCanBeCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		done := make(chan struct{})
		var ran atomic.Int32
		c := dial(t, mcpServer(mcpTools{"wait": waitsFor(done), "count": func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			ran.Add(1)
			return mcp.NewToolResultText("ran"), nil
		}}), StdioOptions{MaxInFlight: 1})
		c.handshake(`{}`)
		c.send(toolCall(1, "wait"))
		synctest.Wait()
		c.send(toolCall(2, "count"), toolCall(3, "count"), cancelled(2))
		synctest.Wait()
		if ran.Load() != 0 {
			t.Fatal("the queue is no queue")
		}
		close(done)
		all, _ := c.rest()
		if ran.Load() != 1 || len(byID(all, "2")) != 0 || len(byID(all, "1")) != 1 || len(byID(all, "3")) != 1 {
			t.Errorf("%d calls ran: %v", ran.Load(), all)
		}
	})
}

func TestSlowCallsDoNotStopAPing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		done := make(chan struct{})
		c := dial(t, mcpServer(mcpTools{"wait": waitsFor(done)}), StdioOptions{})
		c.handshake(`{}`)
		for id := range 300 {
			c.send(toolCall(id, "wait"))
		}
		synctest.Wait()
		if before := c.ping(); len(before) > 0 {
			t.Errorf("answered already: %v", before)
		}
		close(done)
		all, err := c.rest()
		if err != nil || len(all) != 300 {
			t.Errorf("%d of 300 answered: %v", len(all), err)
		}
	})
}

func TestWhatSaysThatItWaitsHandsOnTheTurnToReadAtOnceAndIsNotWatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := dial(t, mcpServer(mcpTools{"wait": func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			server.ClientSessionFromContext(ctx).(*stdioSession).Waits()
			<-ctx.Done()
			return nil, ctx.Err()
		}}), StdioOptions{})
		c.handshake(`{}`)
		begun := time.Now()
		c.send(toolCall(1, "wait"))
		synctest.Wait()
		c.ping()
		if d := time.Since(begun); d > 0 { // of the clock of the bubble
			t.Errorf("the turn was taken from it after %v", d)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		handed := 0
		turn := newTurn(func() { handed++ })
		kept := turn.keep()
		turn.yield()
		if turn.look(); handed != 1 || turn.back(kept) || turn.watched.Load() {
			t.Errorf("handed on %d times, watched %v", handed, turn.watched.Load())
		}
		turn.timer.Stop()
	})
}

func TestEverythingBeforeTheEndOfTheInputIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := dial(t, mcpServer(mcpTools{"slow": func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			time.Sleep(2 * time.Second)
			return mcp.NewToolResultText("done"), nil
		}}), StdioOptions{})
		lines := []string{fmt.Sprintf(stdioInitialize, `{}`), `{"jsonrpc":"2.0","method":"notifications/initialized"}`}
		for id := range 20 {
			lines = append(lines, toolCall(id, "slow"))
		}
		fmt.Fprint(c.in, strings.Join(lines, "\n")) // the last line has no end
		all, err := c.rest()
		if err != nil || len(all) != 21 {
			t.Fatalf("%d of 21 answered: %v", len(all), err)
		}
		for id := range 20 {
			if h := byID(all, fmt.Sprint(id)); len(h) != 1 || text(h[0]) != "done" {
				t.Errorf("call %d: %v", id, h)
			}
		}
	})
}

func TestCallsThatOutlastTheInputAreCancelledInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := dial(t, mcpServer(mcpTools{"wait": waitsFor(nil)}), StdioOptions{Drain: 4 * time.Second})
		c.handshake(`{}`)
		c.send(toolCall(1, "wait"))
		began := time.Now()
		all, err := c.rest()
		if took := time.Since(began); err != nil || took < 3*time.Second || took > 3*time.Second+2*patience {
			t.Errorf("ended with %v after %v", err, took)
		}
		if len(all) != 1 || string(all[0].ID) != "1" {
			t.Errorf("the cancelled call was not answered: %v", all)
		}
	})
}

func TestTheEndOfTheContextCancelsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := dial(t, mcpServer(mcpTools{"wait": waitsFor(nil)}), StdioOptions{})
		c.handshake(`{}`)
		c.send(toolCall(1, "wait"))
		synctest.Wait()
		began := time.Now()
		c.cancel()
		if err := <-c.served; err != nil || time.Since(began) != 0 {
			t.Errorf("ended with %v after %v", err, time.Since(began))
		}
		if h := c.next(); string(h.ID) != "1" {
			t.Errorf("the cancelled call was not answered: %v", h)
		}
	})
}

func TestAHandlerThatIgnoresItsContextIsAbandonedAfterDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		done := make(chan struct{})
		s := mcpServer(mcpTools{"stuck": func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			<-done
			return mcp.NewToolResultText("at last"), nil
		}})
		var out writes
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		time.AfterFunc(time.Second, cancel)
		in := strings.NewReader(fmt.Sprintf(stdioInitialize, `{}`) + "\n" + toolCall(1, "stuck"))
		err := ServeStdio(ctx, s, in, &out, StdioOptions{Drain: 8 * time.Second})
		// The end of the input gave it 6 s, that of the context cut them to one.
		if !errors.Is(err, fault.TimedOut) || time.Since(began) != 3*time.Second {
			t.Errorf("ended with %v after %v", err, time.Since(began))
		}
		close(done)
		synctest.Wait()
		if len(out.each) != 1 {
			t.Errorf("written after the end: %q", out.each[1:])
		}
	})
}

func TestValuesOfTheContextReachTheHandler(t *testing.T) {
	type key struct{}
	s := mcpServer(mcpTools{"value": func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(fmt.Sprint(ctx.Value(key{}))), nil
	}})
	var out writes
	ServeStdio(context.WithValue(t.Context(), key{}, "here"), s, strings.NewReader(toolCall(1, "value")), &out, StdioOptions{})
	if len(out.each) != 1 || !strings.Contains(out.each[0], "here") {
		t.Errorf("answered %q", out.each)
	}
}

func TestAnIDInFlightIsRefusedASecondTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		done := make(chan struct{})
		c := dial(t, mcpServer(mcpTools{"wait": waitsFor(done), "say": says("second")}), StdioOptions{})
		c.handshake(`{}`)
		c.send(toolCall(1, "wait"))
		synctest.Wait()
		c.send(toolCall(1, "say"))
		h := c.next()
		if h.Error == nil || h.Error.Code != mcp.INVALID_REQUEST || string(h.ID) != "null" || h.Error.Data["id"] != float64(1) {
			t.Errorf("the second request with the id: %v", h)
		}
		close(done)
		if h := c.next(); string(h.ID) != "1" || text(h) != "done" {
			t.Errorf("the first request with the id: %v", h)
		}
		for range 100 {
			c.send(toolCall(1, "say"))
			if h := c.next(); text(h) != "second" {
				t.Fatalf("the id used again after its answer: %v", h)
			}
		}
	})
}

// unencodable panics where nobody expects a panic: while it is written.
type unencodable struct{}

func (unencodable) MarshalJSON() ([]byte, error) { panic("a secret of the server") }

func TestAPanicIsAnErrorOfItsRequestOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := dial(t, mcpServer(mcpTools{
			"panic": func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				panic("a secret of the server")
			},
			"unencodable": func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{StructuredContent: unencodable{}}, nil
			},
			"notify": func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return mcp.NewToolResultText("ok"), notify(ctx, "x", map[string]any{"x": unencodable{}})
			},
		}), StdioOptions{})
		c.handshake(`{}`)
		for id, tool := range []string{"panic", "unencodable"} {
			c.send(toolCall(id, tool))
			h := c.next()
			if h.Error == nil || h.Error.Code != mcp.INTERNAL_ERROR || string(h.ID) != fmt.Sprint(id) || strings.Contains(h.String(), "secret") {
				t.Errorf("%s: %v", tool, h)
			}
		}
		c.send(toolCall(9, "notify"))
		if h := c.next(); text(h) != "ok" {
			t.Errorf("a notification that cannot be encoded: %v", h)
		}
		c.ping()
	})
}

func TestTheHandlerKnowsTheRequestID(t *testing.T) {
	type idInContext struct{}
	synctest.Test(t, func(t *testing.T) {
		c := dial(t, mcpServer(mcpTools{"id": func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText(fmt.Sprint(ctx.Value(idInContext{}))), nil
		}}), StdioOptions{Context: func(ctx context.Context, id string) context.Context {
			return context.WithValue(ctx, idInContext{}, id)
		}})
		c.handshake(`{}`)
		for _, id := range []string{`12`, `"a\"\u00e9"`, `9007199254740993`, `-1`, `""`} {
			c.send(toolCall(id, "id"))
			h := c.next()
			if text(h) != idText([]byte(id)) || keyOf(h.ID) != keyOf([]byte(id)) {
				t.Errorf("id %s: the handler saw %q, the client %s", id, text(h), h.ID)
			}
		}
	})
}
