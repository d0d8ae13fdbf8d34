package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/mcptest"
	"github.com/multiollama/mcp-server/shell-exec/internal/cmdline"
	"github.com/multiollama/mcp-server/shell-exec/internal/policy"
)

var (
	yes, no = true, false
	at      = time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC)
)

// operatorLimits allow a house with two rooms, five minutes, 1 GiB and the network.
func operatorLimits(t *testing.T) (*sessionLimits, string) {
	t.Helper()
	dir := mcptest.Tree(t, "kitchen/", "cellar/", "letter.txt=hello")
	roots, err := confine.Open([]string{dir}, confine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = roots.Close() })
	p, err := policy.Preset("development")
	if err != nil {
		t.Fatal(err)
	}
	agent, err := p.Limited("agent")
	if err != nil {
		t.Fatal(err)
	}
	l := &sessionLimits{}
	l.current.Store(&limits{policy: p, agent: agent, scope: confine.NewScope(roots, nil), time: 5 * time.Minute, memory: 1 << 30, network: true})
	return l, dir
}

func dirs(b limits) []string {
	roots, err := b.scope.Roots(context.Background())
	if err != nil {
		panic(err)
	}
	return roots.Dirs()
}

func verdict(b limits, text string) string {
	dirs := dirs(b)
	return b.policy.Judge(policy.Request{Text: text, Shell: policy.Shell{Path: "/bin/bash", Grammar: cmdline.Bash}, Dir: dirs[0], Workspace: dirs, Env: map[string]string{}}).Verdict().String()
}

func TestAWishTightens(t *testing.T) {
	allowed, nothing := []string{"git status", "ls"}, []string{}
	for _, c := range []struct {
		name  string
		wish  restrictIn
		holds func(b limits, dir string) bool
	}{
		{"nothing wished, nothing changed", restrictIn{}, func(b limits, dir string) bool {
			return b.time == 5*time.Minute && b.network && verdict(b, "make") == "allow"
		}},
		{"allowed commands", restrictIn{Allowed: allowed}, func(b limits, dir string) bool {
			return verdict(b, "git status") == "allow" && verdict(b, "git log") == "deny" && verdict(b, "ls -l") == "allow"
		}},
		{"an empty list allows nothing", restrictIn{Allowed: nothing}, func(b limits, dir string) bool { return verdict(b, "ls") == "deny" }},
		{"blocked commands", restrictIn{Blocked: []string{"git push"}}, func(b limits, dir string) bool {
			return verdict(b, "git push") == "deny" && verdict(b, "git status") == "allow"
		}},
		{"a stricter preset", restrictIn{Preset: "minimal"}, func(b limits, dir string) bool {
			return verdict(b, "ls") == "allow" && verdict(b, "make") == "deny"
		}},
		{"restrictive without a list is the listed programs", restrictIn{Mode: "restrictive"}, func(b limits, dir string) bool {
			return verdict(b, "ls") == "allow" && verdict(b, "make") == "deny"
		}},
		{"restrictive with a list is that list", restrictIn{Mode: "restrictive", Allowed: []string{"make"}}, func(b limits, dir string) bool {
			return verdict(b, "ls") == "deny" && verdict(b, "make") == "allow"
		}},
		{"fewer directories", restrictIn{Directories: []string{"kitchen"}}, func(b limits, dir string) bool {
			return slices.Equal(dirs(b), []string{filepath.Join(dir, "kitchen")})
		}},
		{"limits, in a permissive mode too", restrictIn{Mode: "permissive", Time: 1, Memory: 64, Network: &no}, func(b limits, dir string) bool {
			return b.time == time.Second && b.memory == 64<<20 && !b.network
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, dir := operatorLimits(t)
			b, err := h.tighten(t.Context(), c.wish, at)
			if err != nil {
				t.Fatal(err)
			}
			if !c.holds(b, dir) || b.id == "" || !b.set.Equal(at) || h.now().id != b.id {
				t.Errorf("%+v", b)
			}
		})
	}
}

func TestNothingIsTakenBack(t *testing.T) {
	for _, c := range []struct {
		name string
		wish restrictIn
	}{
		{"more time", restrictIn{Time: 60}},
		{"more memory", restrictIn{Memory: 512}},
		{"the network", restrictIn{Network: &yes}},
		{"a directory that was left", restrictIn{Directories: []string{"../cellar"}}},
		{"the directory above", restrictIn{Directories: []string{"/"}}},
		{"permissive", restrictIn{Mode: "permissive"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, _ := operatorLimits(t)
			first, err := h.tighten(t.Context(), restrictIn{Time: 1, Memory: 64, Network: &no, Directories: []string{"kitchen"}}, at)
			if err != nil {
				t.Fatal(err)
			}
			_, err = h.tighten(t.Context(), c.wish, at)
			if f, ok := errors.AsType[*fault.Error](err); !ok || f.Code != fault.Forbidden || f.Details["restriction_id"] != first.id {
				t.Errorf("the answer is %v", err)
			}
			if h.now().id != first.id {
				t.Error("a part of the wish was granted")
			}
		})
	}
}

func TestCommandsOnceForbiddenStayForbidden(t *testing.T) {
	h, _ := operatorLimits(t)
	for _, w := range []restrictIn{{Blocked: []string{"ls"}}, {Allowed: []string{"ls", "cat"}}, {Preset: "sandbox"}} {
		if _, err := h.tighten(t.Context(), w, at); err != nil {
			t.Fatal(err)
		}
		if got := verdict(h.now(), "ls"); got != "deny" {
			t.Errorf("after %+v ls is %s", w, got)
		}
	}
}

func TestAWishThatMeansNothingIsRefused(t *testing.T) {
	for _, c := range []struct {
		name string
		wish restrictIn
		code fault.Code
	}{
		{"an unknown mode", restrictIn{Mode: "open"}, fault.ParamInvalid},
		{"an unknown preset", restrictIn{Preset: "open"}, fault.ParamInvalid},
		{"permissive with a list", restrictIn{Mode: "permissive", Blocked: []string{"ls"}}, fault.ParamInvalid},
		{"a file", restrictIn{Directories: []string{"letter.txt"}}, fault.ParamInvalid},
		{"a directory that is not there", restrictIn{Directories: []string{"attic"}}, fault.NotFound},
		{"an empty command", restrictIn{Blocked: []string{""}}, fault.ParamInvalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, _ := operatorLimits(t)
			if _, err := h.tighten(t.Context(), c.wish, at); fault.From(err).Code != c.code {
				t.Errorf("the answer is %v", err)
			}
		})
	}
}

func TestTwoWishesAtOnceBothCount(t *testing.T) {
	h, dir := operatorLimits(t)
	if err := os.MkdirAll(filepath.Join(dir, "kitchen/shelf"), 0o755); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			w := restrictIn{Blocked: []string{"ls"}}
			if i%2 == 0 {
				w = restrictIn{Time: 1}
			}
			if _, err := h.tighten(t.Context(), w, at); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if b := h.now(); b.time != time.Second || verdict(b, "ls") != "deny" {
		t.Errorf("%+v", b)
	}
}
