package main

import (
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/multiollama/mcp-server/examples/memory/internal/store"
	"github.com/multiollama/mcp-server/shared/mcptest"
)

// Two servers share a database, as where two hosts start one each. One after the other is
// killed in the midst of its work, with several calls under way at both.
func TestWhatWasAnsweredOutlivesAKillAtAnyMoment(t *testing.T) {
	const lives = 8
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	h := newHouse(t)
	answered, under := map[string]bool{}, map[string]bool{}
	servers := [2]*mcptest.Client{h.start(), h.start()}
	var waiting [2]map[string]*mcptest.Pending
	for life := range lives {
		victim := life % 2
		for end := time.Now().Add(time.Duration(rng.IntN(60_000)) * time.Microsecond); time.Now().Before(end) || len(waiting[victim]) == 0; {
			for i, s := range servers {
				waiting[i] = collect(t, waiting[i], answered)
				for len(waiting[i]) < 3 {
					content := fmt.Sprintf("life %d of server %d: 好きな数字は%d", life, i, rng.Uint64())
					waiting[i][content] = s.Begin("tools/call", map[string]any{"name": "remember", "arguments": map[string]any{"content": content}})
				}
			}
			time.Sleep(50 * time.Microsecond)
		}
		servers[victim].Signal(syscall.SIGKILL)
		if code := servers[victim].Close(); code != -1 {
			t.Fatalf("the server ended by itself: %d\n%s", code, servers[victim].Stderr())
		}
		for content := range collect(t, waiting[victim], answered) {
			under[content] = true
		}
		waiting[victim] = nil
		servers[victim] = h.start()
	}
	for i := range servers {
		for content, p := range waiting[i] {
			if r := p.Result(); r.IsError {
				t.Errorf("%s: %s", content, r.Text)
			}
			answered[content] = true
		}
	}
	h.autopsy(answered, under)
}

// collect takes in what was answered, and is what was not.
func collect(t *testing.T, waiting map[string]*mcptest.Pending, answered map[string]bool) map[string]*mcptest.Pending {
	t.Helper()
	rest := map[string]*mcptest.Pending{}
	for content, p := range waiting {
		if !p.Answered() {
			rest[content] = p
			continue
		}
		if r := p.Result(); r.IsError {
			t.Fatalf("%s: %s %s", content, r.Code, r.Text)
		}
		answered[content] = true
	}
	return rest
}

// autopsy checks that what was answered is there, that nothing is there that was never
// told, and that both the tables and the index are whole.
func (h house) autopsy(answered, under map[string]bool) {
	h.t.Helper()
	kept, happened := h.kept(), 0
	for content := range answered {
		if !kept[content] {
			h.t.Errorf("lost: %s", content)
		}
	}
	for content := range kept {
		switch {
		case answered[content]:
		case under[content]:
			happened++
		default:
			h.t.Errorf("never told: %s", content)
		}
	}
	if n, err := store.Check(h.t.Context(), h.database()); err != nil || n != len(kept) {
		h.t.Errorf("%d memories of %d, %v", n, len(kept), err)
	}
	h.verified()
	h.t.Logf("%d answered; killed with %d unanswered, %d of which had happened", len(answered), len(under), happened)
	if len(under) < 10 || len(answered) < 20 {
		h.t.Error("the kills did not come in the midst of work")
	}
}
