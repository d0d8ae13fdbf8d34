package command_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/restrict"
)

const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"greet","arguments":{"name":"Ada"}}}
`

// holds is a machine that can restrict everything.
func holds(restrict.Rules) (restrict.Report, error) {
	return restrict.Report{{Name: "read", Holds: true, Why: "proven"}}, nil
}

// lacks is one that cannot.
func lacks(restrict.Rules) (restrict.Report, error) {
	return restrict.Report{{Name: "read", Holds: true}, {Name: "network", Why: "the kernel is too old", Fix: "Use Linux 6.7"}}, nil
}

func TestServingIsWhatHappensWithoutACommand(t *testing.T) {
	for _, args := range [][]string{nil, {"serve"}} {
		w := newFixture(t)
		w.restrict = holds
		w.stdin = strings.NewReader(hello)
		r := w.must(t, 0, args...)
		contains(t, "stdout", r.out, "hello Ada", `"fake-server"`, `"1.2.3"`)
		for line := range strings.Lines(r.out) {
			var message struct{ JSONRPC string }
			if err := json.Unmarshal([]byte(line), &message); err != nil || message.JSONRPC != "2.0" {
				t.Errorf("stdout carries more than messages: %q", line)
			}
		}
		if r.errors != "" {
			t.Errorf("a good start is not silent: %s", r.errors)
		}
	}
}

func TestDirectoriesBehindServeAreAllowedOnes(t *testing.T) {
	for _, c := range []struct {
		what string
		args []string
		want []string
	}{
		{"two", []string{"serve", "a", "b"}, []string{"a", "b"}},
		{"one besides a flag", []string{"serve", "--allow-path", "a", "b"}, []string{"a", "b"}},
		{"one that looks like a flag", []string{"serve", "--", "-x"}, []string{"-x"}},
	} {
		t.Run(c.what, func(t *testing.T) {
			w := newFixture(t)
			for _, dir := range c.want {
				must(t, os.Mkdir(dir, 0o700))
			}
			var got []string
			w.restrict = func(rules restrict.Rules) (restrict.Report, error) {
				got = rules.Read[:len(c.want)]
				return holds(rules)
			}
			w.must(t, 0, c.args...)
			for i, dir := range c.want {
				c.want[i] = filepath.Join(w.dir, dir)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("it may read %q, want %q", got, c.want)
			}
		})
	}
	contains(t, "stderr", newFixture(t).must(t, 2, "serve", "").errors, "allow-path", "empty")
}

func TestNoArgumentsAreNotThoseOfTheProcess(t *testing.T) {
	before := os.Args
	t.Cleanup(func() { os.Args = before })
	os.Args = []string{"fake-server", "version"}
	w := newFixture(t)
	w.stdin, w.restrict = strings.NewReader(hello), holds
	contains(t, "stdout", w.must(t, 0).out, "hello Ada")
}

func TestTheProcessIsRestrictedAfterEverythingIsOpen(t *testing.T) {
	w := newFixture(t)
	w.stdin = strings.NewReader(hello)
	auditDir, calls := filepath.Dir(w.auditFile()), 0
	w.restrict = func(r restrict.Rules) (restrict.Report, error) {
		calls++
		if _, err := os.Stat(w.auditFile()); err != nil {
			t.Errorf("the audit log was not open yet: %v", err)
		}
		if !slices.Equal(r.Read, []string{w.dir, auditDir}) || !slices.Equal(r.Write, []string{auditDir}) {
			t.Errorf("rules are %+v", r)
		}
		return holds(r)
	}
	r := w.must(t, 0)
	if calls != 1 || !strings.Contains(r.out, "hello Ada") {
		t.Errorf("restricted %d times, then answered %s", calls, r.out)
	}
}

func TestAPartThatDoesNotHold(t *testing.T) {
	fails := func(restrict.Rules) (restrict.Report, error) {
		return nil, fault.New(fault.Unavailable, "kernel says no", "")
	}
	for _, c := range []struct {
		what     string
		mode     string
		restrict func(restrict.Rules) (restrict.Report, error)
		code     int
		serves   bool
		says     []string
	}{
		{"under auto it is told and served", "auto", lacks, 0, true, []string{"network", "the kernel is too old", "Use Linux 6.7"}},
		{"under auto an error stops the start: the process may be restricted in part", "auto", fails, 1, false, []string{"SYSTEM_002", "kernel says no"}},
		{"under required it stops the start", "required", lacks, 1, false, []string{"SYSTEM_002", "the kernel is too old", "Use Linux 6.7"}},
		{"under required an error stops it too", "required", fails, 1, false, []string{"SYSTEM_002", "kernel says no"}},
		{"under off nobody asks", "off", func(restrict.Rules) (restrict.Report, error) { panic("asked") }, 0, true, nil},
	} {
		t.Run(c.what, func(t *testing.T) {
			w := newFixture(t)
			w.stdin, w.restrict = strings.NewReader(hello), c.restrict
			r := w.must(t, c.code, "--restrict", c.mode)
			contains(t, "stderr", r.errors, c.says...)
			if served := strings.Contains(r.out, "hello Ada"); served != c.serves {
				t.Errorf("served: %v", served)
			}
		})
	}
}

func TestWhatStopsAStart(t *testing.T) {
	for _, c := range []struct {
		what string
		args []string
		code int
		says []string
	}{
		{"a setting of another transport", []string{"--listen", "127.0.0.1:0"}, 2, []string{"SYSTEM_003", "listen (flag --listen)", "--transport http"}},
		{"roots that nobody can be asked for", []string{"--transport", "http", "--follow-roots"}, 2, []string{"SYSTEM_003", "roots"}},
		{"an address for others without a token", []string{"--transport", "http", "--listen", ":0"}, 2, []string{"SYSTEM_003", "token", "--token-file"}},
		{"a directory that is not there", []string{"--allow-path", "absent"}, 2, []string{"SYSTEM_003", "absent"}},
		{"a value that is none", []string{"--greetings", "many"}, 2, []string{"SYSTEM_003", "greetings (flag --greetings)"}},
		{"a vocabulary that is none", []string{"--vocabulary", "standrad"}, 2, []string{"SYSTEM_003", "Did you mean standard?"}},
		{"a toolset that is none", []string{"--toolsets", "word"}, 2, []string{"SYSTEM_003", "words"}},
		{"a required audit log that is off", []string{"--audit-required", "--audit-log", "off"}, 2, []string{"SYSTEM_003", "off"}},
		{"an audit log that cannot be opened", []string{"--audit-log", "file/audit.jsonl"}, 2, []string{"SYSTEM_003", "audit log"}},
	} {
		t.Run(c.what, func(t *testing.T) {
			w := newFixture(t)
			w.stdin, w.restrict = strings.NewReader(hello), holds
			if err := os.WriteFile("file", nil, 0o600); err != nil {
				t.Fatal(err)
			}
			r := w.must(t, c.code, c.args...)
			contains(t, "stderr", r.errors, c.says...)
			if r.out != "" {
				t.Errorf("something was served: %s", r.out)
			}
		})
	}
}

func TestADefaultAuditLogThatCannotBeOpened(t *testing.T) {
	blocked := func(t *testing.T) *fixture {
		w := newFixture(t)
		w.stdin, w.restrict = strings.NewReader(hello), holds
		if err := os.WriteFile(filepath.Join(w.state, "mcp-server"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		return w
	}
	r := blocked(t).must(t, 0)
	contains(t, "stderr", r.errors, "no audit log is kept")
	contains(t, "stdout", r.out, "hello Ada")
	r = blocked(t).must(t, 2, "--audit-required")
	contains(t, "stderr", r.errors, "SYSTEM_003", "--audit-log")
}

func TestTheAuditLogIsForItsOwnerOnly(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes mean nothing there")
	}
	w := newFixture(t)
	w.must(t, 0, "call", "greet", "name=Ada")
	for path, want := range map[string]os.FileMode{w.auditFile(): 0o600, filepath.Dir(w.auditFile()): 0o700} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
	}
}

func TestAVocabularyHasDefaultsOfItsOwn(t *testing.T) {
	twice := hello + `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"greet","arguments":{"name":"Bob"}}}` + "\n"
	for _, c := range []struct {
		what    string
		args    []string
		refused bool
	}{
		{"agent allows one call an hour", []string{"--vocabulary", "agent"}, true},
		{"unless somebody says otherwise", []string{"--vocabulary", "agent", "--rate-limit", "off"}, false},
		{"and standard does not", nil, false},
	} {
		t.Run(c.what, func(t *testing.T) {
			w := newFixture(t)
			w.stdin, w.restrict = strings.NewReader(twice), holds
			if got := strings.Contains(w.must(t, 0, c.args...).out, "RESOURCE_005"); got != c.refused {
				t.Errorf("refused: %v", got)
			}
		})
	}
}

func TestDiagnosticsFollowTheLevel(t *testing.T) {
	w := newFixture(t)
	w.stdin, w.restrict = strings.NewReader(hello), holds
	contains(t, "stderr", w.must(t, 0, "--log-level", "info").errors, "the process is restricted")
}
