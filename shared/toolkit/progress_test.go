package toolkit

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// working is a fixture whose only tool does what the test says.
func working(t testing.TB, work func(context.Context)) *fixture {
	return newFixture(t, func(c *Config) {
		c.Vocabulary.Tools = []Tool{New(Spec{Name: "work", Doc: "Work.", Effect: Reads},
			func(ctx context.Context, _ struct{}) (struct{}, error) { work(ctx); return struct{}{}, nil })}
	})
}

// told are the progress notifications a client has, as "token progress/total message".
func (c *client) told() []string {
	var all []string
	for {
		select {
		case n := <-c.notes:
			f := n.Params.AdditionalFields
			all = append(all, fmt.Sprintf("%v %v/%v %v", f["progressToken"], f["progress"], f["total"], f["message"]))
		default:
			return all
		}
	}
}

const workLine = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"work","_meta":{"progressToken":"t7"}}}`

func TestProgressIsThrottledAndOnlyGrows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var after context.Context
		w := working(t, func(ctx context.Context) {
			after = ctx
			Progress(ctx, 1, 10, "one")
			Progress(ctx, 2, 10, "too soon")
			time.Sleep(progressPause)
			Progress(ctx, 1, 10, "back")
			Progress(ctx, math.NaN(), 10, "nothing")
			Progress(ctx, math.Inf(1), 10, "nothing")
			Progress(ctx, 3, 0, "")
			time.Sleep(progressPause)
			Progress(ctx, 3, 10, "the same")
			Progress(ctx, 3.5, 10, "a little")
		})
		c := newClient("s")
		w.send(t, w.WithContext(t.Context(), c), workLine)
		time.Sleep(progressPause)
		Progress(after, 9, 10, "after the end")
		if got, want := fmt.Sprint(c.told()), "[t7 1/10 one t7 3/<nil> <nil> t7 3.5/10 a little]"; got != want {
			t.Errorf("got %s", got)
		}
	})
}

func TestProgressOfASecondIsAtMostTen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := working(t, func(ctx context.Context) {
			for i := range 1000 {
				Progress(ctx, float64(i), 1000, "")
				time.Sleep(time.Millisecond)
			}
		})
		c := newClient("s")
		w.send(t, w.WithContext(t.Context(), c), workLine)
		if got := c.told(); len(got) != 10 {
			t.Errorf("%d notifications: %v", len(got), got)
		}
	})
}

func TestProgressIsOnlyForWhoAskedForIt(t *testing.T) {
	for _, c := range []struct {
		what, line string
		want       int
	}{
		{"with a token", workLine, 1},
		{"with a number for a token, in 2026-07-28", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"work",` + modern[:len(modern)-1] + `,"progressToken":7}}}`, 1},
		{"without a token", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"work"}}`, 0},
	} {
		w := working(t, func(ctx context.Context) { Progress(ctx, 1, 2, "m") })
		one := newClient("s")
		if a := w.send(t, w.WithContext(t.Context(), one), c.line); a.Error != nil {
			t.Fatalf("%s: %+v", c.what, a.Error)
		}
		if got := one.told(); len(got) != c.want {
			t.Errorf("%s: %v", c.what, got)
		}
	}
	Progress(t.Context(), 1, 2, "outside of any call")
	w := working(t, func(ctx context.Context) { Progress(ctx, 1, 2, "from a command line") })
	if r := read(t, w.Call(t.Context(), "work", nil)); r.IsError {
		t.Errorf("%s", r.StructuredContent)
	}
}

func TestProgressFromManyGoroutinesStillGrows(t *testing.T) {
	w := working(t, func(ctx context.Context) {
		var all sync.WaitGroup
		for i := range 64 {
			all.Go(func() { Progress(ctx, float64(i), 64, "") })
		}
		all.Wait()
	})
	c := newClient("s")
	w.send(t, w.WithContext(t.Context(), c), workLine)
	if got := c.told(); len(got) == 0 {
		t.Error("nothing was told")
	}
}

func rootsOf(uris ...string) func(context.Context) (*mcp.ListRootsResult, error) {
	return func(context.Context) (*mcp.ListRootsResult, error) {
		r := &mcp.ListRootsResult{}
		for _, uri := range uris {
			r.Roots = append(r.Roots, mcp.Root{URI: uri})
		}
		return r, nil
	}
}

func withRoots(id string) *client {
	c := newClient(id)
	_ = json.Unmarshal([]byte(`{"roots":{"listChanged":true}}`), &c.caps)
	return c
}
