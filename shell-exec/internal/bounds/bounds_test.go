package bounds_test

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
	"github.com/multiollama/mcp-server/shell-exec/internal/bounds"
	"github.com/multiollama/mcp-server/shell-exec/internal/cmdline"
	"github.com/multiollama/mcp-server/shell-exec/internal/policy"
)

var (
	yes, no = true, false
	at      = time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC)
)

// operator allows a house with two rooms, five minutes, 1 GiB and the network.
func operator(t *testing.T) (*bounds.Held, string) {
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
	return bounds.New(bounds.Bounds{Policy: p, Agent: agent, Scope: confine.NewScope(roots, nil), Time: 5 * time.Minute, Memory: 1 << 30, Network: true}), dir
}

func dirs(b bounds.Bounds) []string {
	roots, err := b.Scope.Roots(context.Background())
	if err != nil {
		panic(err)
	}
	return roots.Dirs()
}

func verdict(b bounds.Bounds, text string) string {
	dirs := dirs(b)
	return b.Policy.Judge(policy.Request{Text: text, Shell: policy.Shell{Path: "/bin/bash", Grammar: cmdline.Bash}, Dir: dirs[0], Workspace: dirs, Env: map[string]string{}}).Verdict().String()
}

func TestAWishTightens(t *testing.T) {
	allowed, nothing := []string{"git status", "ls"}, []string{}
	for _, c := range []struct {
		name  string
		wish  bounds.Wish
		holds func(b bounds.Bounds, dir string) bool
	}{
		{"nothing wished, nothing changed", bounds.Wish{}, func(b bounds.Bounds, dir string) bool {
			return b.Time == 5*time.Minute && b.Network && verdict(b, "make") == "allow"
		}},
		{"allowed commands", bounds.Wish{Allowed: &allowed}, func(b bounds.Bounds, dir string) bool {
			return verdict(b, "git status") == "allow" && verdict(b, "git log") == "deny" && verdict(b, "ls -l") == "allow"
		}},
		{"an empty list allows nothing", bounds.Wish{Allowed: &nothing}, func(b bounds.Bounds, dir string) bool { return verdict(b, "ls") == "deny" }},
		{"blocked commands", bounds.Wish{Blocked: []string{"git push"}}, func(b bounds.Bounds, dir string) bool {
			return verdict(b, "git push") == "deny" && verdict(b, "git status") == "allow"
		}},
		{"a stricter preset", bounds.Wish{Preset: "minimal"}, func(b bounds.Bounds, dir string) bool {
			return verdict(b, "ls") == "allow" && verdict(b, "make") == "deny"
		}},
		{"restrictive without a list is the listed programs", bounds.Wish{Mode: bounds.Restrictive}, func(b bounds.Bounds, dir string) bool {
			return verdict(b, "ls") == "allow" && verdict(b, "make") == "deny"
		}},
		{"restrictive with a list is that list", bounds.Wish{Mode: bounds.Restrictive, Allowed: &[]string{"make"}}, func(b bounds.Bounds, dir string) bool {
			return verdict(b, "ls") == "deny" && verdict(b, "make") == "allow"
		}},
		{"fewer directories", bounds.Wish{Directories: []string{"kitchen"}}, func(b bounds.Bounds, dir string) bool {
			return slices.Equal(dirs(b), []string{filepath.Join(dir, "kitchen")})
		}},
		{"limits, in a permissive mode too", bounds.Wish{Mode: bounds.Permissive, Time: time.Second, Memory: 64 << 20, Network: &no}, func(b bounds.Bounds, dir string) bool {
			return b.Time == time.Second && b.Memory == 64<<20 && !b.Network
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, dir := operator(t)
			b, err := h.Tighten(t.Context(), c.wish, at)
			if err != nil {
				t.Fatal(err)
			}
			if !c.holds(b, dir) || b.ID == "" || !b.Set.Equal(at) || h.Now().ID != b.ID {
				t.Errorf("%+v", b)
			}
		})
	}
}

func TestNothingIsTakenBack(t *testing.T) {
	for _, c := range []struct {
		name string
		wish bounds.Wish
	}{
		{"more time", bounds.Wish{Time: time.Minute}},
		{"more memory", bounds.Wish{Memory: 1 << 29}},
		{"the network", bounds.Wish{Network: &yes}},
		{"a directory that was left", bounds.Wish{Directories: []string{"../cellar"}}},
		{"the directory above", bounds.Wish{Directories: []string{"/"}}},
		{"permissive", bounds.Wish{Mode: bounds.Permissive}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, _ := operator(t)
			first, err := h.Tighten(t.Context(), bounds.Wish{Time: time.Second, Memory: 64 << 20, Network: &no, Directories: []string{"kitchen"}}, at)
			if err != nil {
				t.Fatal(err)
			}
			_, err = h.Tighten(t.Context(), c.wish, at)
			if f, ok := errors.AsType[*fault.Error](err); !ok || f.Code != fault.Forbidden || f.Details["restriction_id"] != first.ID {
				t.Errorf("the answer is %v", err)
			}
			if h.Now().ID != first.ID {
				t.Error("a part of the wish was granted")
			}
		})
	}
}

func TestCommandsOnceForbiddenStayForbidden(t *testing.T) {
	h, _ := operator(t)
	for _, w := range []bounds.Wish{{Blocked: []string{"ls"}}, {Allowed: &[]string{"ls", "cat"}}, {Preset: "sandbox"}} {
		if _, err := h.Tighten(t.Context(), w, at); err != nil {
			t.Fatal(err)
		}
		if got := verdict(h.Now(), "ls"); got != "deny" {
			t.Errorf("after %+v ls is %s", w, got)
		}
	}
}

func TestAWishThatMeansNothingIsRefused(t *testing.T) {
	for _, c := range []struct {
		name string
		wish bounds.Wish
		code fault.Code
	}{
		{"an unknown mode", bounds.Wish{Mode: "open"}, fault.ParamInvalid},
		{"an unknown preset", bounds.Wish{Preset: "open"}, fault.ParamInvalid},
		{"permissive with a list", bounds.Wish{Mode: bounds.Permissive, Blocked: []string{"ls"}}, fault.ParamInvalid},
		{"a file", bounds.Wish{Directories: []string{"letter.txt"}}, fault.ParamInvalid},
		{"a directory that is not there", bounds.Wish{Directories: []string{"attic"}}, fault.NotFound},
		{"an empty command", bounds.Wish{Blocked: []string{""}}, fault.ParamInvalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, _ := operator(t)
			if _, err := h.Tighten(t.Context(), c.wish, at); fault.From(err).Code != c.code {
				t.Errorf("the answer is %v", err)
			}
		})
	}
}

func TestTwoWishesAtOnceBothCount(t *testing.T) {
	h, dir := operator(t)
	if err := os.MkdirAll(filepath.Join(dir, "kitchen/shelf"), 0o755); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			w := bounds.Wish{Blocked: []string{"ls"}}
			if i%2 == 0 {
				w = bounds.Wish{Time: time.Second}
			}
			if _, err := h.Tighten(t.Context(), w, at); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if b := h.Now(); b.Time != time.Second || verdict(b, "ls") != "deny" {
		t.Errorf("%+v", b)
	}
}
