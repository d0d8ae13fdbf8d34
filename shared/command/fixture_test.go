package command_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/multiollama/mcp-server/shared/command"
	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/restrict"
	"github.com/multiollama/mcp-server/shared/settings"
	"github.com/multiollama/mcp-server/shared/toolkit"
)

// The fake server greets and keeps a file.

type greetIn struct {
	Name  string   `json:"name" doc:"whom to greet"`
	Times int      `json:"times,omitempty" doc:"how often" default:"1" min:"1" max:"9"`
	Loud  bool     `json:"loud,omitempty" doc:"in capitals"`
	Also  []string `json:"also,omitempty" doc:"whom to greet as well"`
}

type greetOut struct {
	Greeting string `json:"greeting" doc:"the words"`
}

func (g greetOut) Text() string { return g.Greeting }

func greet(_ context.Context, in greetIn) (greetOut, error) {
	if in.Name == "nobody" {
		return greetOut{}, fault.New(fault.OutsideAllowed, "nobody is not to be greeted", "Greet somebody else")
	}
	words := strings.Repeat("hello ", in.Times) + strings.Join(append([]string{in.Name}, in.Also...), " and ")
	if in.Loud {
		words = strings.ToUpper(words)
	}
	return greetOut{words}, nil
}

type keepIn struct {
	File string `json:"file" doc:"where" path:"write"`
}

type keepOut struct {
	Kept bool `json:"kept" doc:"done"`
}

// keep writes a file, or for the name "forever" waits until the call is over.
func keep(ctx context.Context, in keepIn) (keepOut, error) {
	if in.File == "forever" {
		os.Stderr.WriteString("waiting\n")
		<-ctx.Done()
		return keepOut{}, ctx.Err()
	}
	return keepOut{true}, os.WriteFile(in.File, []byte("kept"), 0o600)
}

var tools = []toolkit.Tool{
	toolkit.New(toolkit.Spec{Name: "greet", Title: "Greet", Doc: "Greets.", Toolset: "words", Effect: toolkit.Reads}, greet),
	toolkit.New(toolkit.Spec{Name: "keep", Title: "Keep", Doc: "Keeps.", Toolset: "files", Effect: toolkit.Writes}, keep),
}

var vocabularies = []command.Vocabulary{
	{Name: "standard", Doc: "all", Tools: func() []toolkit.Tool { return tools }},
	{Name: "agent", Doc: "words only", Tools: func() []toolkit.Tool { return tools[:1] }},
}

func fake() command.Program {
	return command.Program{
		Name: "fake-server", Title: "A fake server", Doc: "It greets.", Version: "1.2.3",
		Flags: []settings.Flag{{Name: "greetings", Kind: settings.Count, Default: "3", Doc: "at most so many"}},
		Open:  openFake,
		Defaults: func(s *settings.Set) {
			if s.Text("vocabulary") == "agent" {
				s.SetDefault("rate-limit", "1/1h")
			}
		},
	}
}

func openFake(_ context.Context, s *settings.Set, _ command.Own) (*command.Service, error) {
	roots, err := confine.Open(s.List("allow-path"), confine.Options{})
	if err != nil {
		return nil, err
	}
	return &command.Service{
		Roots: roots, Vocabularies: vocabularies,
		Restrict: restrict.Rules{Read: s.List("allow-path")},
		Checks:   func() []command.Check { return []command.Check{{command.OK, "greetings", "are warm", ""}} },
	}, nil
}

// fixture is a directory with what a run of the fake server needs.
type fixture struct {
	dir        string // allowed
	state      string
	program    command.Program
	stdin      io.Reader
	environ    []string
	executable string
	restrict   func(restrict.Rules) (restrict.Report, error)
	limit      time.Duration // of a registered server
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	dir, state := t.TempDir(), t.TempDir()
	t.Chdir(dir)
	return &fixture{
		dir: dir, state: state, program: fake(), stdin: strings.NewReader(""),
		environ:  []string{"XDG_STATE_HOME=" + state, "HOME=" + state, "USERPROFILE=" + state},
		restrict: func(restrict.Rules) (restrict.Report, error) { return nil, nil },
	}
}

func (w *fixture) auditFile() string {
	return filepath.Join(w.state, "mcp-server", "audit", "fake-server.jsonl")
}

// ran is how a run ended.
type ran struct {
	code        int
	out, errors string
}

func (w *fixture) run(t *testing.T, args ...string) ran {
	t.Helper()
	var out bytes.Buffer
	errs := &stuck{read: make(chan struct{})} // telemetry may still write to it when the run is over
	close(errs.read)
	env := command.Environment{Stdin: w.stdin, Stdout: &out, Stderr: errs, Environ: w.environ, Executable: w.executable}
	code := command.Run(t.Context(), w.program, args, env.WithRestrict(w.restrict).WithLimit(w.limit))
	return ran{code, out.String(), errs.text()}
}

// must fails the test when the run did not end with code.
func (w *fixture) must(t *testing.T, code int, args ...string) ran {
	t.Helper()
	r := w.run(t, args...)
	if r.code != code {
		t.Fatalf("%q ended with %d, want %d\nstdout: %s\nstderr: %s", args, r.code, code, r.out, r.errors)
	}
	return r
}

func contains(t *testing.T, what, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("%s does not say %q:\n%s", what, want, text)
		}
	}
}

// writeFile writes a file of the working directory.
func writeFile(name, text string) error { return os.WriteFile(name, []byte(text), 0o600) }

// readable is what the commands of a server that runs some could read.
func readable(*settings.Set) []string { return []string{"/etc"} }
