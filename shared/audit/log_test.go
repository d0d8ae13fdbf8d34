package audit_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/multiollama/mcp-server/shared/audit"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/mcptest"
)

func TestAnEventIsOneLineWithTheNamesOfTheSpecification(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.jsonl")
	l := open(t, file, audit.Options{Clock: fixedClock})
	record(t, l, audit.Event{
		Server: "file-read", Version: "1.2.3", PID: 7, Session: "s", Client: "c", RequestID: "r", Tool: "file_read",
		Arguments: json.RawMessage("{ \"path\":\n\"a<b\" }"), Paths: []string{"/w/a<b"}, Verdict: "deny", Rule: "outside",
		Outcome: "refused", Code: "SECURITY_002", Cause: "why", DurationMS: 1.5, Bytes: 9,
	})
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"seq":1,"time":"2026-07-28T12:00:00Z","server":"file-read","version":"1.2.3","pid":7,"session":"s","client":"c","request_id":"r",` +
		`"tool":"file_read","arguments":{"path":"a<b"},"paths":["/w/a<b"],"verdict":"deny","rule":"outside","outcome":"refused",` +
		`"code":"SECURITY_002","cause":"why","duration_ms":1.5,"bytes":9,"prev":"","hash":"`
	if !strings.HasPrefix(string(b), want) || !bytes.Equal(b, rehash(b)) {
		t.Errorf("got  %swant %s…", b, want)
	}
}

func TestOnlyTheOwnerMayReadTheLog(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a", "b", "x.jsonl")
	record(t, open(t, file, audit.Options{}), audit.Event{})
	for name, want := range map[string]os.FileMode{filepath.Dir(filepath.Dir(file)): 0o700, filepath.Dir(file): 0o700, file: 0o600, file + ".head": 0o600} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if os.PathSeparator == '/' && info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v", name, info.Mode().Perm(), want)
		}
	}
}

func TestTheChainGoesOnAfterAClose(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.jsonl")
	for range 5 {
		l, err := audit.Open(file, audit.Options{})
		if err != nil {
			t.Fatal(err)
		}
		record(t, l, audit.Event{})
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if err := l.Record(audit.Event{}); err == nil {
			t.Fatal("a closed log took an event")
		}
	}
	whole(t, file, 5)
}

func TestSeqGoesOnWhenTheClockGoesBack(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.jsonl")
	now := fixedClock()
	l := open(t, file, audit.Options{Clock: func() time.Time { now = now.Add(-time.Hour); return now }})
	for range 20 {
		record(t, l, audit.Event{})
	}
	whole(t, file, 20)
	for i, e := range query(t, file, audit.Filter{}) {
		if e.Seq != uint64(i+1) {
			t.Errorf("event %d has seq %d", i+1, e.Seq)
		}
	}
}

func TestALineIsBoundedWhateverTheEventHolds(t *testing.T) {
	huge := strings.Repeat("\x01", 1<<18)
	far := time.Date(20_000, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name  string
		event audit.Event
	}{
		{"a huge cause", audit.Event{Cause: huge}},
		{"a huge name of a tool", audit.Event{Tool: huge}},
		{"huge arguments", audit.Event{Arguments: json.RawMessage(`"` + strings.Repeat("a", 1<<20) + `"`)}},
		{"many paths", audit.Event{Paths: slices.Repeat([]string{"/a/b"}, 100_000)}},
		{"huge paths", audit.Event{Paths: slices.Repeat([]string{huge}, 20)}},
		{"everything huge", audit.Event{Server: huge, Version: huge, Session: huge, Client: huge, RequestID: huge, Tool: huge, Paths: []string{huge, huge, huge, huge, huge, huge, huge, huge, huge}, Verdict: huge, Rule: huge, Outcome: huge, Code: huge, Cause: huge}},
		{"a multi-byte text cut anywhere", audit.Event{Cause: strings.Repeat("語", 1<<18)}},
		{"arguments that are not JSON", audit.Event{Arguments: json.RawMessage(`{"password": hunter2`)}},
		{"a duration that is not a number", audit.Event{DurationMS: math.NaN()}},
		{"an endless duration", audit.Event{DurationMS: math.Inf(1)}},
		{"a year that RFC 3339 does not have", audit.Event{Time: far}},
		{"text that is not UTF-8", audit.Event{Tool: "a\xffb", Paths: []string{"\xc3\x28"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "x.jsonl")
			l := open(t, file, audit.Options{})
			record(t, l, audit.Event{})
			record(t, l, c.event)
			record(t, l, audit.Event{})
			whole(t, file, 3)
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for line := range bytes.Lines(b) {
				if len(line) > audit.MaxLine {
					t.Errorf("a line has %d bytes", len(line))
				}
			}
			if bytes.Contains(b, []byte("hunter2")) {
				t.Error("arguments that are not JSON leaked")
			}
		})
	}
}

func TestAnEventJustAtTheLimitIsKeptWhole(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.jsonl")
	l := open(t, file, audit.Options{})
	kept, reduced := 0, 0
	for n := audit.MaxLine - 600; n < audit.MaxLine; n += 7 {
		record(t, l, audit.Event{Tool: strings.Repeat("c", n)})
	}
	for _, e := range query(t, file, audit.Filter{}) {
		if strings.HasSuffix(e.Tool, "[cut]") {
			reduced++
		} else {
			kept++
		}
	}
	if kept == 0 || reduced == 0 {
		t.Errorf("%d kept, %d reduced: the limit was not met from both sides", kept, reduced)
	}
	whole(t, file, kept+reduced)
}

func TestPathsThatAreLeftOutAreCounted(t *testing.T) {
	for _, c := range []struct {
		paths int
		of    string
		kept  int
		last  string
	}{
		{300, "/a", 300, "/a"},
		{1000, "/a", 8, "… and 993 more"},
		{400, strings.Repeat("/a", 200), 9, "… and 392 more"},
	} {
		file := filepath.Join(t.TempDir(), "x.jsonl")
		record(t, open(t, file, audit.Options{}), audit.Event{Paths: slices.Repeat([]string{c.of}, c.paths)})
		got := query(t, file, audit.Filter{})[0].Paths
		if len(got) != c.kept || got[len(got)-1] != c.last {
			t.Errorf("%d paths became %d, the last %q", c.paths, len(got), got[len(got)-1])
		}
	}
}

func TestCredentialsAreMaskedInPathsRulesAndCauses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.jsonl")
	paths := []string{"/a", "https://u:hunter2@h/x"}
	record(t, open(t, file, audit.Options{}), audit.Event{
		Paths: paths, Rule: "deny Authorization: Basic hunter2", Cause: "exit 1: PASSWORD=hunter2",
	})
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(b, []byte("hunter2")) || bytes.Count(b, []byte(audit.Masked)) != 3 {
		t.Errorf("%s", b)
	}
	if paths[1] != "https://u:hunter2@h/x" {
		t.Error("the caller's paths were changed")
	}
}

func TestWhatIsNotARegularFileIsRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "dir.jsonl"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "elsewhere"), filepath.Join(dir, "link.jsonl")); err != nil {
		t.Skip(err)
	}
	for _, name := range []string{"dir.jsonl", "file/x.jsonl", "link.jsonl"} {
		l, err := audit.Open(filepath.Join(dir, name), audit.Options{})
		if err == nil {
			t.Errorf("%s was opened: %v", name, l.Close())
			continue
		}
		if _, ok := errors.AsType[*fault.Error](err); !ok {
			t.Errorf("%s: %v has no code", name, err)
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, "elsewhere")); err == nil {
		t.Error("the link was followed")
	}
}

func TestRotationNamesFilesInOrderAndOverwritesNone(t *testing.T) {
	w := newFixture(t)
	want := []string{first, second, third, current, sealed}
	if d := cmp.Diff(want, w.names()); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	w.write("x.000009.jsonl", []byte("somebody's\n"))
	w.record(10)
	if got := string(w.read("x.000009.jsonl")); got != "somebody's\n" {
		t.Error("a file was overwritten")
	}
	if !slices.Contains(w.names(), "x.000010.jsonl") {
		t.Errorf("rotated into %v", w.names())
	}
}

func TestOnlyNamesOfThisLogAreTakenForRotatedFiles(t *testing.T) {
	w := newFixture(t)
	for _, name := range []string{"x.1.jsonl", "x.0000001.jsonl", "x.000000.jsonl", "x.-00001.jsonl", "y.000001.jsonl", "x.000001.jsonl.gz", "x.2026.jsonl", "000001.jsonl"} {
		w.write(name, []byte("not ours\n"))
	}
	if r := whole(t, w.log, worldEnd); r.Files != 4 {
		t.Errorf("%d files", r.Files)
	}
}

func TestAFileWithoutExtensionIsRotatedToo(t *testing.T) {
	file := filepath.Join(t.TempDir(), "log")
	l := open(t, file, audit.Options{MaxBytes: 1000})
	for range 10 {
		record(t, l, audit.Event{})
	}
	if r := whole(t, file, 10); r.Files < 3 {
		t.Errorf("%d files", r.Files)
	}
}

func TestKeepRemovesTheOldestAndVerifyVouchesFromThere(t *testing.T) {
	w := newFixture(t)
	l := open(t, w.log, audit.Options{MaxBytes: fileSize, Keep: 2, Clock: fixedClock})
	for range 20 {
		record(t, l, audit.Event{Cause: strings.Repeat("c ", 500)})
	}
	r := verify(t, w.log)
	if d := cmp.Diff([]string{"x.000004.jsonl", "x.000005.jsonl", current, sealed}, w.names()); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	if !r.OK() || r.From != 31 || r.Events != 25 || r.Files != 3 {
		t.Errorf("%+v", r)
	}
	w.remove("x.000004.jsonl")
	if r := verify(t, w.log); len(r.Broken) != 1 || r.Broken[0].Seq != 31 || r.Broken[0].File != "x.000004.jsonl" {
		t.Errorf("a file within what is kept was removed: %+v", r.Broken)
	}
}

func TestAPrunedFileThatIsStillThereDoesNoHarm(t *testing.T) {
	w := newFixture(t)
	oldest := w.read(first)
	l := open(t, w.log, audit.Options{MaxBytes: fileSize, Keep: 3, Clock: fixedClock})
	for range 10 {
		record(t, l, audit.Event{Cause: strings.Repeat("c ", 500)})
	}
	if r := whole(t, w.log, 35); r.From != 11 {
		t.Errorf("vouches from %d", r.From)
	}
	w.write(first, oldest)
	if r := whole(t, w.log, 45); r.From != 1 {
		t.Errorf("vouches from %d", r.From)
	}
}

func TestOneLogMayBeUsedByManyGoroutines(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.jsonl")
	l := open(t, file, audit.Options{MaxBytes: 20_000})
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 50 {
				if err := l.Record(audit.Event{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	whole(t, file, 400)
}

func TestEightProcessesShareOneFileThroughRotations(t *testing.T) {
	const processes, each = 8, 500
	file := filepath.Join(t.TempDir(), "x.jsonl")
	var group sync.WaitGroup
	for p := range processes {
		cmd := mcptest.Child(t, "record", file, fmt.Sprint(p), fmt.Sprint(each), "500000")
		group.Go(func() {
			if err := cmd.Run(); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if r := whole(t, file, processes*each); r.Files < 3 {
		t.Errorf("%d files: it was not rotated in the middle", r.Files)
	}
	seen := map[string]bool{}
	for i, e := range query(t, file, audit.Filter{}) {
		seen[e.RequestID] = true
		if e.Seq != uint64(i+1) {
			t.Fatalf("event %d has seq %d", i+1, e.Seq)
		}
	}
	if len(seen) != processes*each {
		t.Errorf("%d different events", len(seen))
	}
}

func TestKillingWritersAtAnyMomentLosesNothingThatWasStored(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.jsonl")
	stored := map[string]bool{}
	killed := 0
	for round := range 25 {
		var acknowledged [2][]string
		var group sync.WaitGroup
		for i := range acknowledged {
			group.Go(func() {
				acknowledged[i] = killAfter(t, file, fmt.Sprintf("%d-%d", round, i), 1+(round*7+i*11)%60)
			})
		}
		group.Wait()
		for _, ids := range acknowledged {
			killed += len(ids)
			for _, id := range ids {
				stored[id] = true
			}
		}
		if r := verify(t, file); !r.OK() {
			t.Fatalf("round %d: %+v", round, r.Broken)
		}
	}
	for _, e := range query(t, file, audit.Filter{}) {
		delete(stored, e.RequestID)
	}
	if len(stored) > 0 || killed < 25 {
		t.Errorf("%d of %d stored events are lost", len(stored), killed)
	}
}

// killAfter kills a recording process when it has told of n events, and gives
// what it told up to its end.
func killAfter(t *testing.T, file, name string, n int) []string {
	cmd := mcptest.Child(t, "record", file, name, "1000000", "100000")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Error(err)
		return nil
	}
	var told []string
	for in := bufio.NewScanner(out); in.Scan(); {
		told = append(told, in.Text())
		if len(told) == n {
			if err := cmd.Process.Kill(); err != nil {
				t.Error(err)
			}
		}
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.Success() {
		t.Error("the process ended by itself")
	}
	return told
}

func TestAnUnwritableStreamIsAnError(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	if err := audit.NewWriter(full).Record(audit.Event{}); !errors.Is(err, fault.DiskFull) {
		t.Errorf("got %v", err)
	}
}

func TestAStreamHasAChainOfItsOwn(t *testing.T) {
	dir := t.TempDir()
	var out bytes.Buffer
	w := audit.NewWriter(&out)
	for range 3 {
		record(t, w, audit.Event{Tool: "t"})
	}
	if err := os.WriteFile(filepath.Join(dir, "x.jsonl"), out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	r := verify(t, filepath.Join(dir, "x.jsonl"))
	if r.Events != 3 || len(r.Broken) != 1 || r.Broken[0].File != sealed {
		t.Errorf("%+v", r)
	}
}

func TestDiscardStoresNothing(t *testing.T) {
	if err := audit.Discard.Record(audit.Event{}); err != nil {
		t.Error(err)
	}
}

func TestALogThatIsNotThereIsNotFound(t *testing.T) {
	for _, file := range []string{filepath.Join(t.TempDir(), "x.jsonl"), filepath.Join(t.TempDir(), "no", "x.jsonl")} {
		if _, err := audit.Verify(file); !errors.Is(err, fault.NotFound) {
			t.Errorf("%v", err)
		}
	}
}

func BenchmarkRecord(b *testing.B) {
	l := open(b, filepath.Join(b.TempDir(), "x.jsonl"), audit.Options{})
	e := audit.Event{
		Server: "file-read", Version: "1.0.0", Session: "stdio", Client: "host", RequestID: "12", Tool: "file_read",
		Arguments: json.RawMessage(`{"path":"src/main.go","limit":100}`), Paths: []string{"/home/x/project/src/main.go"},
		Verdict: "allow", Outcome: "ok", DurationMS: 1.25, Bytes: 4096,
	}
	b.ReportAllocs()
	for b.Loop() {
		record(b, l, e)
	}
}
