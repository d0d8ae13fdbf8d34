package command_test

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shared/command"
	"github.com/multiollama/mcp-server/shared/restrict"
	"github.com/multiollama/mcp-server/shared/settings"
	"github.com/multiollama/mcp-server/shared/toolkit"
)

// checks are what doctor --json says, by subject; of several the worst.
func checks(t *testing.T, r ran) map[string]map[string]string {
	t.Helper()
	var list []map[string]string
	if err := json.Unmarshal([]byte(r.out), &list); err != nil {
		t.Fatalf("%v in %s", err, r.out)
	}
	worse := map[string]int{"ok": 1, "warn": 2, "bad": 3}
	found := map[string]map[string]string{}
	for _, c := range list {
		if known := found[c["subject"]]; known == nil || worse[c["verdict"]] > worse[known["verdict"]] {
			found[c["subject"]] = c
		}
	}
	return found
}

func TestDoctorSaysHowItIs(t *testing.T) {
	for _, c := range []struct {
		what    string
		prepare func(*testing.T, *fixture)
		args    []string
		code    int
		subject string
		verdict string
		says    string
	}{
		{"the binary and its version", nil, nil, 0, "binary", "ok", "fake-server 1.2.3"},
		{"stdin that is no terminal", nil, nil, 0, "stdin", "ok", "no terminal"},
		{"settings that nobody changed", nil, nil, 0, "settings", "ok", "by default"},
		{"settings with their source", nil, []string{"--results", "text"}, 0, "settings", "ok", "results (flag --results)"},
		{"settings that make no sense", nil, []string{"--rate-limit", "x"}, 1, "settings", "bad", "rate-limit"},
		{"an allowed directory", nil, nil, 0, "directory", "ok", "is allowed"},
		{"an allowed directory that is not there", nil, []string{"--allow-path", "absent"}, 1, "directory", "bad", "absent"},
		{"an allowed file", func(t *testing.T, w *fixture) { must(t, writeFile("file", "x")) },
			[]string{"--allow-path", "file"}, 1, "directory", "bad", "no directory"},
		{"the whole file system", nil, []string{"--allow-path", root()}, 0, "directory", "warn", "whole file system"},
		{"the home directory", func(t *testing.T, w *fixture) { w.home(w.dir) }, nil, 0, "directory", "warn", "whole home directory"},
		{"what the home directory lies in", func(t *testing.T, w *fixture) { w.home(filepath.Join(w.dir, "home", "ada")) },
			nil, 0, "directory", "warn", "more than the whole home"},
		{"a sibling of the home directory", func(t *testing.T, w *fixture) { w.home(w.dir + "-too") }, nil, 0, "directory", "ok", "is allowed"},
		{"a link to the home directory", func(t *testing.T, w *fixture) {
			must(t, os.Mkdir("real", 0o700))
			link(t, "real", "l")
			w.home(w.in("real"))
		},
			[]string{"--allow-path", "l"}, 0, "directory", "warn", "whole home directory"},
		{"no deny rules", nil, nil, 0, "deny rules", "ok", "none"},
		{"deny rules", nil, []string{"--deny-path", "*.{a,b}", "--deny-secrets"}, 0, "deny rules", "ok", "*.{a,b}, and secrets"},
		{"links refused", nil, nil, 0, "symlinks", "ok", "refused"},
		{"links followed", nil, []string{"--symlinks", "within"}, 0, "symlinks", "ok", "followed"},
		{"what a model can do", nil, nil, 0, "a model", "ok", "; can start no program; cannot reach the network"},
		{"what fewer tools can do", nil, []string{"--toolsets", "words"}, 0, "server", "ok", "offers 1 tool of the vocabulary standard"},
		{"a vocabulary that is none", nil, []string{"--vocabulary", "x"}, 1, "server", "bad", "no vocabulary x"},
		{"the server's own lines", nil, nil, 0, "greetings", "ok", "warm"},
		{"an audit log that can be written", nil, nil, 0, "audit log", "ok", "can be written"},
		{"an audit log in a place that is none", func(t *testing.T, w *fixture) { must(t, writeFile("file", "x")) },
			[]string{"--audit-log", "file/x"}, 1, "audit log", "bad", "cannot be written"},
		{"no audit log", nil, []string{"--audit-log", "off"}, 0, "audit log", "warn", "is off"},
		{"no audit log where calls need one", nil, []string{"--audit-log", "off", "--audit-required"}, 1, "audit log", "bad", "require"},
		{"an audit log on stderr", nil, []string{"--audit-log", "stderr"}, 0, "audit log", "ok", "stderr"},
		{"no home for the audit log", func(_ *testing.T, w *fixture) { w.environ = nil }, nil, 1, "audit log", "bad", "home directory"},
		{"a whole chain", func(t *testing.T, w *fixture) { w.must(t, 0, "call", "greet", "name=Ada") }, nil, 0, "audit chain", "ok", "1 event"},
		{"a broken chain", func(t *testing.T, w *fixture) { w.must(t, 0, "call", "greet", "name=Ada"); w.tamper(t, "Ada", "Eve") },
			nil, 1, "audit chain", "bad", "broken in 1 place"},
		{"restriction that is off", nil, []string{"--restrict", "off"}, 0, "restriction", "warn", "is off"},
	} {
		t.Run(c.what, func(t *testing.T) {
			w := newFixture(t)
			if c.prepare != nil {
				c.prepare(t, w)
			}
			args := append([]string{"doctor"}, c.args...)
			got := checks(t, w.must(t, c.code, append(args, "--json")...))[c.subject]
			if got["verdict"] != c.verdict || !strings.Contains(got["text"], c.says) {
				t.Errorf("%s is %q, want %s and %q", c.subject, got, c.verdict, c.says)
			}
			plain := w.must(t, c.code, args...).out
			contains(t, "doctor in words", plain, got["text"], got["fix"])
		})
	}
}

func TestDoctorDoesNotClaimDenyRulesForCommands(t *testing.T) {
	for _, c := range []struct {
		args    []string
		verdict string
		says    string
	}{
		{nil, "ok", "none: commands can read"},
		{[]string{"--deny-secrets"}, "warn", "commands can read and change what they deny"},
		{[]string{"--deny-path", "*.pem"}, "warn", "commands can read and change what they deny"},
	} {
		w := newFixture(t)
		w.program.Runs = true
		w.program.Open = func(context.Context, *settings.Set, command.Own) (*command.Service, error) {
			starts := toolkit.New(toolkit.Spec{Name: "start", Doc: "Starts.", Toolset: "all", Effect: toolkit.Runs}, greet)
			return &command.Service{Vocabulary: toolkit.Vocabulary{Name: "standard", Tools: []toolkit.Tool{starts}}}, nil
		}
		r := w.must(t, 0, append([]string{"doctor", "--host", "none", "--json"}, c.args...)...)
		if got := checks(t, r)["deny rules"]; got["verdict"] != c.verdict || !strings.Contains(got["text"], c.says) {
			t.Errorf("%v: %v", c.args, got)
		}
		for _, claim := range []string{"except", "out of reach", "secrets (.env"} {
			if strings.Contains(r.out, claim) {
				t.Errorf("%v: it claims %q: %s", c.args, claim, r.out)
			}
		}
	}
}

func TestDoctorSaysWhereItCannotListen(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	got := checks(t, newFixture(t).must(t, 0, "doctor", "--json", "--transport", "http", "--listen", l.Addr().String()))["http"]
	if got["verdict"] != "warn" || !strings.Contains(got["text"], "it cannot") {
		t.Errorf("of an address that is taken it says %v", got)
	}
	must(t, l.Close())
	if got := checks(t, newFixture(t).must(t, 0, "doctor", "--json", "--transport", "http", "--listen", l.Addr().String()))["http"]; got["verdict"] != "ok" {
		t.Errorf("of one that is free it says %v", got)
	}
}

func TestDoctorTellsWhatTheMachineCanRestrict(t *testing.T) {
	got := checks(t, newFixture(t).must(t, 0, "doctor", "--json"))
	for _, part := range restrict.Probe() {
		want := "ok"
		if !part.Holds {
			want = "warn"
		}
		if c := got[part.Name]; c["verdict"] != want || c["text"] != part.Why {
			t.Errorf("%s is %v, want %s: %s", part.Name, c, want, part.Why)
		}
	}
}

func TestDoctorChangesNothingButTheAuditLogItOpens(t *testing.T) {
	w := newFixture(t)
	w.restrict = func(restrict.Rules) (restrict.Report, error) { panic("doctor restricted itself") }
	w.must(t, 0, "doctor")
	contains(t, "the log", w.must(t, 0, "audit", "verify").out, "0 events")
}

func TestAServerThatDoesNotOpenIsABadLine(t *testing.T) {
	w := newFixture(t)
	w.program.Open = func(context.Context, *settings.Set, command.Own) (*command.Service, error) {
		return nil, os.ErrPermission
	}
	if got := checks(t, w.must(t, 1, "doctor", "--json"))["server"]; got["verdict"] != "bad" {
		t.Errorf("got %v", got)
	}
}

func TestTheZeroVerdictIsBad(t *testing.T) {
	w := newFixture(t)
	w.program.Open = func(ctx context.Context, s *settings.Set, own command.Own) (*command.Service, error) {
		service, err := openFake(ctx, s, own)
		if err == nil {
			service.Checks = func() []command.Check { return []command.Check{{Subject: "forgotten"}} }
		}
		return service, err
	}
	contains(t, "doctor", w.must(t, 1, "doctor").out, "bad   forgotten")
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, to, name string) {
	t.Helper()
	if err := os.Symlink(to, name); err != nil {
		t.Skip("no symbolic links here:", err)
	}
}

func root() string { return filepath.VolumeName(os.TempDir()) + string(filepath.Separator) }

func (w *fixture) in(name string) string { return filepath.Join(w.dir, name) }

// home makes dir the home directory.
func (w *fixture) home(dir string) {
	name := "HOME"
	if runtime.GOOS == "windows" {
		name = "USERPROFILE"
	}
	w.environ = append(w.environ, name+"="+dir)
}

// tamper changes a word in the audit log.
func (w *fixture) tamper(t *testing.T, from, to string) {
	t.Helper()
	before, err := os.ReadFile(w.auditFile())
	must(t, err)
	after := strings.Replace(string(before), from, to, 1)
	if after == string(before) {
		t.Fatalf("there is no %q to change in %s", from, before)
	}
	must(t, os.WriteFile(w.auditFile(), []byte(after), 0o600))
}
