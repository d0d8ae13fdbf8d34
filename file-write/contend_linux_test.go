package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shared/audit"
	"github.com/multiollama/mcp-server/shared/mcptest"
)

// Two servers share a directory, a history and an audit log, as they do where two hosts
// start one each.
func twoServers(t *testing.T, h house) []*mcptest.Client {
	t.Helper()
	return []*mcptest.Client{h.start(), h.start()}
}

const callers = 20 // of each server, all at once

func TestOfTwentyCallersOfTwoServersOneWins(t *testing.T) {
	h := newHouse(t, mcptest.Tree(t), "f=start")
	servers := twoServers(t, h)
	var wins [2]int
	const rounds = 20
	for round := range rounds {
		old := h.content("f")
		var waiting [2][]*mcptest.Pending
		for i := range callers {
			for n := range servers {
				s := (n + round) % 2 // each is told first half of the time
				waiting[s] = append(waiting[s], ask(servers[s], "file_write", map[string]any{
					"path": "f", "content": fmt.Sprintf("round %d, caller %d of server %d", round, i, s), "overwrite": true, "expected_sha256": sha256Of(old)}))
			}
		}
		var winners []string
		for s := range servers {
			for i, p := range waiting[s] {
				switch r := p.Result(); {
				case !r.IsError:
					wins[s]++
					winners = append(winners, fmt.Sprintf("round %d, caller %d of server %d", round, i, s))
				case r.Code != "RESOURCE_004" || !strings.Contains(string(r.Structured), "present_sha256"):
					t.Errorf("round %d: a loser is told %s %s", round, r.Code, r.Text)
				}
			}
		}
		if now := h.content("f"); len(winners) != 1 || now != winners[0] {
			t.Fatalf("round %d was won by %q, and the file holds %q", round, winners, now)
		}
	}
	raced := h.overlapped()
	if t.Logf("of %d rounds the servers won %d and %d; in %d the other was at it too", rounds, wins[0], wins[1], raced); raced < rounds/2 {
		t.Error("they did not race")
	}
	if all := changes(t, servers[0]); len(all) != rounds || all[rounds-1].SHA256 != sha256Of("start") {
		t.Errorf("the history lists %d changes", len(all))
	}
	if _, drafts := filesIn(t, h.dir); drafts > 0 {
		t.Errorf("%d drafts are left", drafts)
	}
	h.verified()
}

// overlapped counts the changes that were made while a call of another server was under
// way, by the order of the audit log.
func (h house) overlapped() (n int) {
	h.t.Helper()
	open := map[int]int{}
	for e, err := range audit.Query(h.record, audit.Filter{Tool: "file_write"}) {
		must(h.t, err)
		if e.Outcome == "begin" {
			open[e.PID]++
			continue
		}
		open[e.PID]--
		for pid, calls := range open {
			if e.Outcome == "ok" && pid != e.PID && calls > 0 {
				n++
			}
		}
	}
	return n
}

func TestNoAdditionOfTwoServersIsLostOrTorn(t *testing.T) {
	h := newHouse(t, mcptest.Tree(t), "f=")
	servers := twoServers(t, h)
	var want []string
	var waiting []*mcptest.Pending
	for i := range callers {
		for s, server := range servers {
			line := fmt.Sprintf("caller %d of server %d %s\n", i, s, strings.Repeat("x", 5000))
			want = append(want, line)
			waiting = append(waiting, ask(server, "file_write", map[string]any{"path": "f", "content": line, "append": true}))
		}
	}
	for _, p := range waiting {
		if r := p.Result(); r.IsError {
			t.Errorf("%s %s", r.Code, r.Text)
		}
	}
	got := slices.Sorted(strings.Lines(h.content("f")))
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("of %d lines %d are there", len(want), len(got))
	}
	if raced := h.overlapped(); raced < callers {
		t.Errorf("the servers did not race: %d of %d", raced, len(want))
	}
	if all := changes(t, servers[1]); len(all) != len(want) {
		t.Errorf("the history lists %d changes of %d", len(all), len(want))
	}
	h.verified()
}
