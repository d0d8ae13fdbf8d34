package command_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shared/command"
	"github.com/multiollama/mcp-server/shared/settings"
	"github.com/multiollama/mcp-server/shared/toolkit"
)

func TestDoctorSaysInPlainWordsWhatAModelCanTouch(t *testing.T) {
	tool := func(e toolkit.Effect, fixture bool) toolkit.Tool {
		return toolkit.New(toolkit.Spec{Name: e.String(), Doc: "Does.", Toolset: "all", Effect: e, OpenWorld: fixture}, greet)
	}
	reads, writes, runs := tool(toolkit.Reads, false), tool(toolkit.Writes, false), tool(toolkit.Runs, true)
	const here = "everything beneath "
	for _, c := range []struct {
		what     string
		tools    []toolkit.Tool
		pathless bool
		args     []string
		says     func(dir string) string
	}{
		{"reading", []toolkit.Tool{reads}, false, nil, func(d string) string {
			return "can read " + here + d + "; can change nothing; can start no program; cannot reach the network"
		}},
		{"reading, with exceptions", []toolkit.Tool{reads}, false, []string{"--allow-path", "a", "--allow-path", "b", "--deny-path", "*.pem", "--deny-secrets"}, func(d string) string {
			return "can read " + here + d + "/a and " + d + "/b, except *.pem and secrets (.env files, keys, credential files); can change nothing; can start no program; cannot reach the network"
		}},
		{"writing", []toolkit.Tool{reads, writes}, false, nil, func(d string) string {
			return "can read and change " + here + d + "; can start no program; cannot reach the network"
		}},
		{"writing, with what is spared", []toolkit.Tool{writes}, false, []string{"--toolsets", "spare"}, func(d string) string {
			return "can change " + here + d + ", but never a and b; can start no program; cannot reach the network"
		}},
		{"running", []toolkit.Tool{reads, runs}, false, nil, func(d string) string {
			return "can start the programs that its policy allows, and through them read and change " + here + d + "; can reach the network"
		}},
		{"running without a network", []toolkit.Tool{reads, runs}, false, []string{"--network=false"}, func(d string) string {
			return "can start the programs that its policy allows, and through them read and change " + here + d + "; cannot reach the network"
		}},
		{"running, where rules deny something", []toolkit.Tool{reads, runs}, false, []string{"--deny-secrets", "--deny-path", "*.pem"}, func(d string) string {
			return "can start the programs that its policy allows, and through them read and change " + here + d + "; can reach the network"
		}},
		{"running unheld", []toolkit.Tool{reads, runs}, false, nil, func(d string) string {
			return "can start the programs that its policy allows, and through them read and change all that this user can: the sandbox does not hold them; can reach the network"
		}},
		{"reading what is there", []toolkit.Tool{reads}, false, []string{"--allow-path", "a", "--allow-path", "absent"}, func(d string) string {
			return "can read " + here + d + "/a; can change nothing; can start no program; cannot reach the network"
		}},
		{"fetching", []toolkit.Tool{tool(toolkit.Reads, true)}, true, nil, func(string) string {
			return "can read what the server itself keeps or fetches, and no file by its path; can change nothing; can start no program; can reach the network"
		}},
	} {
		t.Run(c.what, func(t *testing.T) {
			w := newFixture(t)
			for _, dir := range []string{"a", "b"} {
				must(t, os.Mkdir(dir, 0o700))
			}
			w.program.Pathless, w.program.Runs = c.pathless, strings.HasPrefix(c.what, "running")
			w.program.Flags = append(w.program.Flags, settings.Flag{Name: "network", Kind: settings.Bool, Default: "true", Doc: "connect"})
			w.program.Open = func(_ context.Context, s *settings.Set, _ command.Own) (*command.Service, error) {
				service := &command.Service{Vocabulary: toolkit.Vocabulary{Name: "standard", Tools: c.tools}}
				service.Unheld = func() bool { return strings.HasSuffix(c.what, "unheld") }
				if s.List("toolsets") != nil {
					service.Spares = []string{"a", "b"}
				}
				return service, nil
			}
			r := w.run(t, append([]string{"doctor", "--json"}, c.args...)...)
			if got, want := checks(t, r)["a model"]["text"], c.says(w.dir); got != want {
				t.Errorf("it says\n%s\nwant\n%s", got, want)
			}
		})
	}
}
