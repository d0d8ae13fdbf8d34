package audit_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shared/audit"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/mcptest"
)

// said is what a relay logs.
type said struct {
	mcptest.Buffer
	more chan struct{}
}

func (s *said) Write(b []byte) (int, error) {
	defer func() { s.more <- struct{}{} }()
	return s.Buffer.Write(b)
}

// relaying is a log whose events are also sent on.
func relaying(t *testing.T, target string) (*audit.Log, *audit.Relay, *said, string) {
	t.Helper()
	to, err := audit.TargetOf(target)
	if err != nil {
		t.Fatal(err)
	}
	heard := &said{more: make(chan struct{}, 100)}
	r, err := audit.OpenRelay(to, slog.New(slog.NewTextHandler(heard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "x.jsonl")
	return open(t, file, audit.Options{Clock: fixedClock, Also: []func([]byte){r.Add}}), r, heard, file
}

// fields reads an entry as the documentation of the Native Journal Protocol has it.
func fields(t *testing.T, entry []byte) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for len(entry) > 0 {
		end := bytes.IndexByte(entry, '\n')
		if end < 0 {
			t.Fatalf("a field has no end: %q", entry)
		}
		name, value, plain := strings.Cut(string(entry[:end]), "=")
		entry = entry[end+1:]
		if !plain {
			size := binary.LittleEndian.Uint64(entry)
			value, entry = string(entry[8:8+size]), entry[8+size:]
			if entry[0] != '\n' {
				t.Fatalf("the field %s does not end where it says", name)
			}
			entry = entry[1:]
		}
		all[name] = append(all[name], value)
	}
	return all
}

func TestJournaldGetsFieldsToQueryByAndTheLineOfTheLog(t *testing.T) {
	journal := mcptest.Listen(t, filepath.Join(t.TempDir(), "journal"))
	log, relay, _, file := relaying(t, "journald:"+journal.Path)
	record(t, log, audit.Event{
		Server: "file-read", Tool: "file_read", Client: "two\nMCP_TOOL=lines", Paths: []string{"/a", "/b\n"}, RequestID: "7",
		Verdict: "deny", Rule: "links", Outcome: "refused", Code: "SECURITY_003", DurationMS: 1.5, Bytes: 12,
	})
	got := fields(t, journal.Next())
	whole(t, file, 1)
	line, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var e audit.Event
	if err := json.Unmarshal(line, &e); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]string{
		"MESSAGE": {`deny/refused file_read /a (+1) SECURITY_003 1.5ms`}, "PRIORITY": {"4"}, "SYSLOG_FACILITY": {"10"}, "SYSLOG_IDENTIFIER": {"file-read"},
		"MCP_SEQ": {"1"}, "MCP_TOOL": {"file_read"}, "MCP_CLIENT": {"two\nMCP_TOOL=lines"}, "MCP_PATH": {"/a", "/b\n"}, "MCP_REQUEST_ID": {"7"},
		"MCP_VERDICT": {"deny"}, "MCP_RULE": {"links"}, "MCP_OUTCOME": {"refused"}, "MCP_CODE": {"SECURITY_003"}, "MCP_SESSION": nil,
		"MCP_DURATION_MS": {"1.5"}, "MCP_BYTES": {"12"}, "MCP_HASH": {e.Hash}, "MCP_EVENT": {strings.TrimSuffix(string(line), "\n")},
	} {
		if !slices.Equal(got[name], want) {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	if err := relay.Close(); err != nil {
		t.Error(err)
	}
}

func TestSyslogGetsTheLineBehindTheUsualHeader(t *testing.T) {
	for _, w := range []struct {
		what     string
		event    audit.Event
		priority int
	}{
		{"what went well is information", audit.Event{Outcome: "ok", Verdict: "allow"}, 10<<3 | 6},
		{"a failed call is a notice", audit.Event{Outcome: "error", Verdict: "allow", Code: "RESOURCE_003"}, 10<<3 | 5},
		{"a refusal is a warning", audit.Event{Outcome: "refused", Verdict: "deny", Code: "SECURITY_002"}, 10<<3 | 4},
		{"a fault of ours is an error", audit.Event{Outcome: "error", Verdict: "allow", Code: "SYSTEM_001"}, 10<<3 | 3},
	} {
		syslog := mcptest.Listen(t, filepath.Join(t.TempDir(), "log"))
		log, relay, _, file := relaying(t, "syslog:"+syslog.Path)
		w.event.Server, w.event.PID = "file-read", 42
		record(t, log, w.event)
		line, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("<%d>%s file-read[42]: %s", w.priority, fixedClock().Local().Format("Jan _2 15:04:05"), bytes.TrimSpace(line))
		if got := string(syslog.Next()); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", w.what, got, want)
		}
		if err := relay.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestALineTooLongForSyslogIsShortenedAndCanStillBeFound(t *testing.T) {
	syslog := mcptest.Listen(t, filepath.Join(t.TempDir(), "log"))
	log, _, _, file := relaying(t, "syslog:"+syslog.Path)
	long := json.RawMessage(`{"content":"` + strings.Repeat("x", 20<<10) + `"}`)
	for _, e := range []audit.Event{
		{Tool: "file_write", Arguments: long},
		{Tool: "file_write", Arguments: long, Paths: slices.Repeat([]string{"/" + strings.Repeat("\x01", 400)}, 8), Cause: strings.Repeat("\x01", 2000)},
	} {
		record(t, log, e)
		got := syslog.Next()
		if len(got) > 8<<10 {
			t.Errorf("%d bytes were sent", len(got))
		}
		_, text, _ := bytes.Cut(got, []byte(": "))
		var short audit.Event
		if err := json.Unmarshal(text, &short); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		all := query(t, file, audit.Filter{})
		if last := all[len(all)-1]; short.Seq != last.Seq || short.Hash != last.Hash || short.Tool != "file_write" {
			t.Errorf("%+v is no part of %+v", short, last)
		}
	}
}

func TestWhatALogMissedWhileItWasAwayItGetsInOrder(t *testing.T) {
	journal := mcptest.Listen(t, filepath.Join(t.TempDir(), "journal"))
	log, relay, heard, _ := relaying(t, "journald:"+journal.Path)
	record(t, log, audit.Event{Tool: "before"})
	journal.Next()
	journal.Stop()
	for _, tool := range []string{"one", "two", "three"} {
		record(t, log, audit.Event{Tool: tool})
	}
	<-heard.more // it has noticed
	again := mcptest.Listen(t, journal.Path)
	for _, want := range []string{"one", "two", "three"} {
		if got := fields(t, again.Next())["MCP_TOOL"]; !slices.Equal(got, []string{want}) {
			t.Errorf("came %q, want %q", got, want)
		}
	}
	if err := relay.Close(); err != nil {
		t.Error(err)
	}
	text := heard.String()
	if strings.Count(text, "cannot be sent") != 1 || strings.Count(text, "are sent again") != 1 || strings.Contains(text, "lost") {
		t.Errorf("it said %s", text)
	}
}

func TestALogThatTakesNothingHoldsUpNoCallAndItsLossesAreCounted(t *testing.T) {
	journal := mcptest.Listen(t, filepath.Join(t.TempDir(), "journal")) // nobody reads
	log, relay, heard, file := relaying(t, "journald:"+journal.Path)
	const events, large = 100, 60 << 10 // more than may wait
	for range events {
		record(t, log, audit.Event{Tool: "t", Arguments: json.RawMessage(`"` + strings.Repeat("x", large) + `"`)})
	}
	if err := relay.Close(); err != nil {
		t.Error(err)
	}
	whole(t, file, events)
	var lost int
	if _, after, ok := strings.Cut(heard.String(), "lost="); !ok || len(after) == 0 {
		t.Fatalf("it said %q", heard.String())
	} else if _, err := fmt.Sscan(after, &lost); err != nil || lost < events/3 || lost > events {
		t.Errorf("%d events were lost, %v", lost, err)
	}
}

func TestALogThatIsNotThereIsNoTarget(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"journald:" + file, "syslog:" + file + "s", "journald:relative", "syslog:", "eventlog", ""} {
		to, err := audit.TargetOf(name)
		if err == nil {
			_, err = audit.OpenRelay(to, slog.New(slog.DiscardHandler))
		}
		if !errors.Is(err, fault.Misconfigured) {
			t.Errorf("%q gives %v", name, err)
		}
	}
}

func TestWithoutAFileTheCopiesHaveAChainOfTheirOwn(t *testing.T) {
	var lines [][]byte
	w := audit.NewWriter(new(bytes.Buffer), func(line []byte) { lines = append(lines, bytes.Clone(line)) })
	for range 3 {
		record(t, w, audit.Event{Tool: "t"})
	}
	for i, line := range lines {
		var e audit.Event
		if err := json.Unmarshal(line, &e); err != nil || e.Seq != uint64(i+1) {
			t.Errorf("%s: %v", line, err)
		}
	}
	if len(lines) != 3 {
		t.Errorf("%d lines were handed on", len(lines))
	}
}
