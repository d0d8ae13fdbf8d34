package command_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/multiollama/mcp-server/shared/command"
	"github.com/multiollama/mcp-server/shared/glob"
	"github.com/multiollama/mcp-server/shared/settings"
)

func TestTheAuditLogLiesWhereASystemKeepsState(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the paths of this table are those of POSIX")
	}
	home := []string{"HOME=/home/ada", "LOCALAPPDATA=/local"}
	for _, c := range []struct {
		what, goos string
		environ    []string
		want       string
	}{
		{"as XDG says", "linux", append(home, "XDG_STATE_HOME=/state"), "/state"},
		{"as XDG says on macOS too", "darwin", append(home, "XDG_STATE_HOME=/state"), "/state"},
		{"a relative one is ignored", "linux", append(home, "XDG_STATE_HOME=state"), "/home/ada/.local/state"},
		{"an empty one is ignored", "linux", append(home, "XDG_STATE_HOME="), "/home/ada/.local/state"},
		{"another spelling is another variable", "linux", append(home, "xdg_state_home=/state", "home=/else"), "/home/ada/.local/state"},
		{"Linux", "linux", home, "/home/ada/.local/state"},
		{"macOS", "darwin", home, "/home/ada/Library/Application Support"},
		{"Windows", "windows", home, "/local"},
		{"Windows, in another spelling", "windows", []string{"LocalAppData=/local"}, "/local"},
	} {
		got, err := command.DefaultAuditFile("fake", c.goos, c.environ)
		if want := filepath.Join(c.want, "mcp-server", "audit", "fake.jsonl"); err != nil || got != want {
			t.Errorf("%s: %q and %v, want %q", c.what, got, err, want)
		}
	}
	if got, err := command.DefaultAuditFile("fake", "linux", nil); err == nil {
		t.Errorf("without a home it lies in %q", got)
	}
}

func TestTheProgramsOwnFilesAreNamedAsPatterns(t *testing.T) {
	w := newFixture(t)
	var own command.Own
	w.program.Open = func(ctx context.Context, s *settings.Set, o command.Own) (*command.Service, error) {
		own = o
		return openFake(ctx, s, o)
	}
	config := filepath.Join(w.dir, "config [1].toml")
	must(t, os.WriteFile(config, []byte("log-level = \"error\"\n"), 0o600))
	w.must(t, 0, "tools", "--audit-log", filepath.Join(w.dir, "log.jsonl"), "--config", config)
	if want := filepath.Join(w.state, "mcp-server"); own.State != want {
		t.Errorf("state is %s, want %s", own.State, want)
	}
	for name, protected := range map[string]bool{
		filepath.Join(w.state, "mcp-server"): true,
		filepath.Join(w.dir, "log.jsonl"):    true, filepath.Join(w.dir, "log.000001.jsonl"): true,
		config: true, filepath.Join(w.dir, "config 1.toml"): false, filepath.Join(w.dir, "logs"): false,
	} {
		found := slices.ContainsFunc(own.Files, func(text string) bool {
			p, err := glob.Compile(text)
			return err == nil && p.Match(name)
		})
		if found != protected {
			t.Errorf("%s is among the own files: %t", name, found)
		}
	}
}

func TestWhatOnlyServingNeedsIsOpenedThenAndGivenBack(t *testing.T) {
	w := newFixture(t)
	var did []string
	w.program.Open = func(ctx context.Context, s *settings.Set, o command.Own) (*command.Service, error) {
		service, err := openFake(ctx, s, o)
		service.Start = func(context.Context) error { did = append(did, "start"); return nil }
		service.Close = func() error { did = append(did, "close"); return nil }
		return service, err
	}
	w.must(t, 0, "tools")
	w.must(t, 0, "doctor")
	if slices.Contains(did, "start") {
		t.Error("it was started though nothing was served")
	}
	did = nil
	w.must(t, 0, "call", "greet", "name=you")
	if want := []string{"start", "close"}; !slices.Equal(did, want) {
		t.Errorf("did %v, want %v", did, want)
	}
}
