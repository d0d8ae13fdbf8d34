package audit_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shared/audit"
)

// Every state a crash can leave, made by hand, because a kill seldom hits it.
func TestWhatACrashLeavesIsRepairedByTheNextEvent(t *testing.T) {
	for _, c := range []struct {
		name   string
		crash  func(w fixture, before map[string][]byte)
		events int // after the crash
	}{
		{"between the line and the head record", func(w fixture, before map[string][]byte) {
			w.write(sealed, before[sealed])
		}, 36},
		{"within the line", func(w fixture, before map[string][]byte) {
			w.write(sealed, before[sealed])
			b := w.read(current)
			w.write(current, b[:len(b)-200])
		}, 35},
		{"before the newline", func(w fixture, before map[string][]byte) {
			w.write(sealed, before[sealed])
			b := w.read(current)
			w.write(current, b[:len(b)-1])
		}, 35},
		{"after the rename of a rotation", func(w fixture, _ map[string][]byte) {
			w.rename(current, "x.000004.jsonl")
		}, 36},
		{"after a rotation, before its first line", func(w fixture, _ map[string][]byte) {
			w.rename(current, "x.000004.jsonl")
			w.write(current)
		}, 36},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newFixture(t)
			before := map[string][]byte{sealed: w.read(sealed)}
			w.record(1)
			c.crash(w, before)
			whole(t, w.log, c.events)
			w.record(2)
			if r := whole(t, w.log, c.events+2); r.Unfinished != 0 {
				t.Errorf("%d bytes are still unfinished", r.Unfinished)
			}
		})
	}
}

func TestAnUnfinishedLineIsToldAndIsNoBreak(t *testing.T) {
	w := newFixture(t)
	w.write(current, w.read(current), []byte(`{"seq":36,"ti`))
	if r := whole(t, w.log, worldEnd); r.Unfinished != 13 {
		t.Errorf("%d bytes", r.Unfinished)
	}
}

func TestAForeignLineAtTheEndIsFoundAndTheChainGoesOnBehindIt(t *testing.T) {
	w := newFixture(t)
	w.write(current, w.read(current), []byte("echo was here\n"))
	w.record(1)
	r := verify(t, w.log)
	if r.Events != 36 || len(r.Broken) != 1 || r.Broken[0].Kind != audit.Malformed || r.Broken[0].Line != 6 {
		t.Errorf("%+v", r)
	}
}

func TestAHeadRecordRemovedUnderTwoOpenLogsDoesNotTearTheChain(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.jsonl")
	a, b := open(t, file, audit.Options{}), open(t, file, audit.Options{})
	for i := range 10 {
		record(t, a, audit.Event{})
		record(t, b, audit.Event{})
		if i == 5 {
			if err := os.Remove(file + ".head"); err != nil {
				t.Fatal(err)
			}
		}
	}
	r := verify(t, file)
	if r.Events != 20 || len(r.Broken) != 1 || r.Broken[0].File != sealed {
		t.Errorf("%+v", r)
	}
}

func TestALogMovedAwayByAnotherProgramIsStartedAnewAndMissed(t *testing.T) {
	w := newFixture(t)
	l := open(t, w.log, audit.Options{})
	w.rename(current, "x.jsonl.1")
	record(t, l, audit.Event{})
	r := verify(t, w.log)
	if len(r.Broken) != 1 || r.Broken[0].Seq != 31 || r.Broken[0].Kind != audit.Removed || r.Events != 31 {
		t.Errorf("%+v", r)
	}
}

func TestALogReplacedByALinkIsNotFollowed(t *testing.T) {
	w := newFixture(t)
	l := open(t, w.log, audit.Options{})
	w.rename(current, "victim")
	if err := os.Symlink(filepath.Join(w.dir, "victim"), w.log); err != nil {
		t.Skip(err)
	}
	before := w.read("victim")
	if err := l.Record(audit.Event{}); err == nil {
		t.Error("the event was written through the link")
	}
	if !bytes.Equal(before, w.read("victim")) {
		t.Error("the target of the link was changed")
	}
}

func TestAnotherLogsRotationIsNoticed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.jsonl")
	a, b := open(t, file, audit.Options{MaxBytes: 2000}), open(t, file, audit.Options{MaxBytes: 2000})
	for i := range 60 {
		record(t, []audit.Recorder{a, b}[i%2], audit.Event{RequestID: strings.Repeat("r", i)})
	}
	if r := whole(t, file, 60); r.Files < 5 {
		t.Errorf("%d files", r.Files)
	}
}

func TestALostHeadRecordIsRebuiltFromTheNewestFileThatHasEvents(t *testing.T) {
	w := newFixture(t)
	w.remove(sealed)
	w.remove(current)
	w.record(1)
	last := query(t, w.log, audit.Filter{Limit: 1})
	if len(last) != 1 || last[0].Seq != 31 || !slices.Contains(w.names(), third) {
		t.Errorf("%+v", last)
	}
}

// Whatever stands in the files, verifying ends, recording continues, and what is
// recorded comes last.
func FuzzAnyFilesAreVerifiedAndGoneOnWith(f *testing.F) {
	line := `{"seq":1,"time":"2026-07-28T12:00:00Z","prev":"","hash":"` + strings.Repeat("0", 64) + `"}` + "\n"
	for _, seed := range []string{"", "\n", line, line + line, line[:40], "{}", strings.Replace(line, "1", "18446744073709551615", 1)} {
		f.Add([]byte(seed), []byte(seed), []byte(seed))
	}
	f.Fuzz(func(t *testing.T, old, log, head []byte) {
		dir := t.TempDir()
		w := fixture{t, dir, filepath.Join(dir, current)}
		w.write(first, old)
		w.write(current, log)
		w.write(sealed, head)
		verify(t, w.log)
		w.record(12)
		var last []audit.Event
		for e, err := range audit.Query(w.log, audit.Filter{Tool: "file_read", Limit: 12}) {
			if err == nil {
				last = append(last, e)
			}
		}
		if len(last) != 12 {
			t.Fatalf("%d of 12 events", len(last))
		}
		for i := 1; i < len(last); i++ {
			if last[i].Seq != last[i-1].Seq+1 || last[i].Prev != last[i-1].Hash {
				t.Errorf("event %d does not follow event %d", last[i].Seq, last[i-1].Seq)
			}
		}
		verify(t, w.log)
	})
}
