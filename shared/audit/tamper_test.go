package audit_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/multiollama/mcp-server/shared/audit"
)

const (
	current = "x.jsonl"
	first   = "x.000001.jsonl"
	second  = "x.000002.jsonl"
	third   = "x.000003.jsonl"
	sealed  = "x.jsonl.head"
)

var chainEnd = regexp.MustCompile(`,"prev":"([0-9a-f]*)","hash":"[0-9a-f]{64}"}\n$`)

// rehash gives a line the hash it should have, written from the documentation
// of Event and not with the code under test.
func rehash(line []byte) []byte {
	m := chainEnd.FindSubmatchIndex(line)
	prev := string(line[m[2]:m[3]])
	object := string(line[:m[3]]) + `"}`
	sum := sha256.Sum256([]byte(prev + object))
	return fmt.Appendf(nil, "%s,\"hash\":\"%x\"}\n", object[:len(object)-1], sum)
}

func changed(line []byte) []byte {
	return bytes.Replace(line, []byte("file_read"), []byte("file_rEad"), 1)
}

func TestTheHashIsTheDocumentedOne(t *testing.T) {
	for _, line := range newFixture(t).lines(second) {
		if !bytes.Equal(rehash(line), line) {
			t.Fatalf("%s\nis not\n%s", line, rehash(line))
		}
	}
}

// cutNewline is the one kind of damage that the next event mends.
const cutNewline = "only the last newline cut off"

func TestWhatWasDoneToALogIsFoundAndNamed(t *testing.T) {
	for _, c := range []struct {
		name   string
		tamper func(w fixture)
		want   []audit.Break
	}{
		{"a changed byte", func(w fixture) {
			l := w.lines(current)
			w.write(current, l[0], changed(l[1]), l[2], l[3], l[4])
		}, []audit.Break{{File: current, Line: 2, Seq: 32, Kind: "changed"}}},
		{"a changed byte in a rotated file", func(w fixture) {
			l := w.lines(second)
			l[2] = changed(l[2])
			w.write(second, l...)
		}, []audit.Break{{File: second, Line: 3, Seq: 13, Kind: "changed"}}},
		{"a changed byte in the last line", func(w fixture) {
			l := w.lines(current)
			l[4] = changed(l[4])
			w.write(current, l...)
		}, []audit.Break{{File: current, Line: 5, Seq: 35, Kind: "changed"}}},
		{"a changed byte in the very first line", func(w fixture) {
			l := w.lines(first)
			l[0] = changed(l[0])
			w.write(first, l...)
		}, []audit.Break{{File: first, Line: 1, Seq: 1, Kind: "changed"}}},
		{"a changed line with its hash made right", func(w fixture) {
			l := w.lines(current)
			l[2] = rehash(changed(l[2]))
			w.write(current, l...)
		}, []audit.Break{{File: current, Line: 3, Seq: 33, Kind: "changed"}}},
		{"the last line changed with its hash made right", func(w fixture) {
			l := w.lines(current)
			l[4] = rehash(changed(l[4]))
			w.write(current, l...)
		}, []audit.Break{{File: current, Line: 5, Seq: 35, Kind: "changed"}}},
		{"the last line of a rotated file changed with its hash made right", func(w fixture) {
			l := w.lines(second)
			l[9] = rehash(changed(l[9]))
			w.write(second, l...)
		}, []audit.Break{{File: second, Line: 10, Seq: 20, Kind: "changed"}}},
		{"two changed lines", func(w fixture) {
			l := w.lines(current)
			w.write(current, l[0], changed(l[1]), changed(l[2]), l[3], l[4])
		}, []audit.Break{{File: current, Line: 2, Seq: 32, Kind: "changed"}, {File: current, Line: 3, Seq: 33, Kind: "changed"}}},
		{"a removed middle line", func(w fixture) {
			w.write(current, slices.Delete(w.lines(current), 1, 2)...)
		}, []audit.Break{{File: current, Line: 2, Seq: 32, Kind: "removed"}}},
		{"a removed first line", func(w fixture) {
			w.write(first, w.lines(first)[1:]...)
		}, []audit.Break{{File: first, Line: 1, Seq: 1, Kind: "removed"}}},
		{"the removed last line", func(w fixture) {
			w.write(current, w.lines(current)[:4]...)
		}, []audit.Break{{File: current, Line: 5, Seq: 35, Kind: "removed"}}},
		{"three removed last lines", func(w fixture) {
			w.write(current, w.lines(current)[:2]...)
		}, []audit.Break{{File: current, Line: 3, Seq: 33, Kind: "removed"}}},
		{"the removed last line of a rotated file", func(w fixture) {
			w.write(third, w.lines(third)[:9]...)
		}, []audit.Break{{File: current, Line: 1, Seq: 30, Kind: "removed"}}},
		{"an emptied log", func(w fixture) { w.write(current) },
			[]audit.Break{{File: current, Line: 1, Seq: 31, Kind: "removed"}}},
		{"swapped lines", func(w fixture) {
			l := w.lines(current)
			w.write(current, l[0], l[2], l[1], l[3], l[4])
		}, []audit.Break{{File: current, Line: 3, Seq: 32, Kind: "reordered"}}},
		{"the last two lines swapped", func(w fixture) {
			l := w.lines(current)
			w.write(current, l[0], l[1], l[2], l[4], l[3])
		}, []audit.Break{{File: current, Line: 5, Seq: 34, Kind: "reordered"}}},
		{"a line moved to another file", func(w fixture) {
			l, n := w.lines(current), w.lines(first)
			moved := n[4]
			w.write(first, slices.Delete(n, 4, 5)...)
			w.write(current, slices.Insert(l, 2, moved)...)
		}, []audit.Break{{File: current, Line: 3, Seq: 5, Kind: "reordered"}}},
		{"an inserted copy of a line", func(w fixture) {
			l := w.lines(current)
			w.write(current, slices.Insert(l, 4, l[1])...)
		}, []audit.Break{{File: current, Line: 5, Seq: 32, Kind: "inserted"}}},
		{"an inserted line with a hash of its own", func(w fixture) {
			l := w.lines(current)
			w.write(current, slices.Insert(l, 3, rehash(changed(l[2])))...)
		}, []audit.Break{{File: current, Line: 4, Seq: 33, Kind: "inserted"}}},
		{"a line of the future", func(w fixture) {
			l := w.lines(current)
			w.write(current, slices.Insert(l, 3, rehash(bytes.Replace(l[2], []byte(`"seq":33`), []byte(`"seq":93`), 1)))...)
		}, []audit.Break{{File: current, Line: 4, Seq: 93, Kind: "inserted"}}},
		{"a removed rotated file", func(w fixture) { w.remove(second) },
			[]audit.Break{{File: second, Line: 0, Seq: 11, Kind: "removed"}}},
		{"the removed oldest file", func(w fixture) { w.remove(first) },
			[]audit.Break{{File: first, Line: 0, Seq: 1, Kind: "removed"}}},
		{"the removed newest rotated file", func(w fixture) { w.remove(third) },
			[]audit.Break{{File: third, Line: 0, Seq: 21, Kind: "removed"}}},
		{"the removed log", func(w fixture) { w.remove(current) },
			[]audit.Break{{File: current, Line: 0, Seq: 31, Kind: "removed"}}},
		{"a line replaced by malformed JSON", func(w fixture) {
			l := w.lines(current)
			w.write(current, l[0], []byte("{\"seq\":32,\n"), l[2], l[3], l[4])
		}, []audit.Break{{File: current, Line: 2, Seq: 32, Kind: "malformed"}}},
		{"inserted malformed JSON", func(w fixture) {
			l := w.lines(current)
			w.write(current, slices.Insert(l, 2, []byte("{}\n"))...)
		}, []audit.Break{{File: current, Line: 3, Seq: 33, Kind: "malformed"}}},
		{"an inserted empty line", func(w fixture) {
			w.write(current, slices.Insert(w.lines(current), 2, []byte("\n"))...)
		}, []audit.Break{{File: current, Line: 3, Seq: 33, Kind: "malformed"}}},
		{"a line longer than any event", func(w fixture) {
			l := w.lines(current)
			w.write(current, l[0], append(bytes.Repeat([]byte("x"), 3*audit.MaxLine), '\n'), l[2], l[3], l[4])
		}, []audit.Break{{File: current, Line: 2, Seq: 32, Kind: "malformed"}}},
		{"a truncated last line", func(w fixture) {
			b := w.read(current)
			w.write(current, b[:len(b)-100])
		}, []audit.Break{{File: current, Line: 5, Seq: 35, Kind: "truncated"}}},
		{cutNewline, func(w fixture) {
			b := w.read(current)
			w.write(current, b[:len(b)-1])
		}, []audit.Break{{File: current, Line: 5, Seq: 35, Kind: "truncated"}}},
		{"a truncated line and two more removed", func(w fixture) {
			l := w.lines(current)
			w.write(current, l[0], l[1], l[2][:50])
		}, []audit.Break{{File: current, Line: 3, Seq: 33, Kind: "truncated"}, {File: current, Line: 4, Seq: 34, Kind: "removed"}}},
		{"a truncated rotated file", func(w fixture) {
			b := w.read(second)
			w.write(second, b[:len(b)-10])
		}, []audit.Break{{File: second, Line: 10, Seq: 20, Kind: "truncated"}}},
		{"the removed head record", func(w fixture) { w.remove(sealed) },
			[]audit.Break{{File: sealed, Line: 0, Seq: 36, Kind: "removed"}}},
		{"an edited head record", func(w fixture) {
			w.write(sealed, bytes.Replace(w.read(sealed), []byte(`"seq":35`), []byte(`"seq":34`), 1))
		}, []audit.Break{{File: sealed, Line: 0, Seq: 36, Kind: "removed"}}},
		{"three kinds at once", func(w fixture) {
			l := w.lines(current)
			w.remove(first)
			w.write(current, l[0], changed(l[1]), l[3])
		}, []audit.Break{
			{File: first, Line: 0, Seq: 1, Kind: "removed"},
			{File: current, Line: 2, Seq: 32, Kind: "changed"},
			{File: current, Line: 3, Seq: 33, Kind: "removed"},
			{File: current, Line: 4, Seq: 35, Kind: "removed"},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newFixture(t)
			whole(t, w.log, worldEnd)
			before := w.everything()
			c.tamper(w)
			if w.everything() == before {
				t.Fatal("nothing was tampered with")
			}
			got := verify(t, w.log)
			if d := cmp.Diff(c.want, got.Broken, cmpopts.IgnoreFields(audit.Break{}, "Text")); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
			w.record(3)
			if healed := verify(t, w.log).OK(); healed != (c.name == cutNewline) {
				t.Errorf("whole after three more events: %v", healed)
			}
		})
	}
}

func TestTwoRotatedFilesExchangedAreFound(t *testing.T) {
	w := newFixture(t)
	w.rename(first, "aside")
	w.rename(second, first)
	w.rename("aside", second)
	got := verify(t, w.log)
	if len(got.Broken) != perFile || got.Broken[0].Kind != audit.Reordered || got.Broken[0].File != second {
		t.Errorf("%+v", got.Broken)
	}
}

func TestNoChangedByteAnywhereGoesUnnoticed(t *testing.T) {
	w := newFixture(t)
	random := rand.New(rand.NewPCG(1, 2))
	for range 400 {
		name := []string{current, first, second, third}[random.IntN(4)]
		original := w.read(name)
		b := bytes.Clone(original)
		at, bit := random.IntN(len(b)), byte(1)<<random.IntN(8)
		b[at] ^= bit
		w.write(name, b)
		if verify(t, w.log).OK() {
			t.Fatalf("bit %08b of byte %d of %s", bit, at, name)
		}
		w.write(name, original)
	}
	whole(t, w.log, worldEnd)
}

func TestNoCutOrMovedLineAnywhereGoesUnnoticed(t *testing.T) {
	w := newFixture(t)
	random := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		name := []string{current, first, second, third}[random.IntN(4)]
		original := w.lines(name)
		l := slices.Clone(original)
		i, j := random.IntN(len(l)), random.IntN(len(l))
		moved := l[i]
		l = slices.Delete(l, i, i+1)
		if i != j {
			l = slices.Insert(l, j, moved)
		}
		w.write(name, l...)
		if verify(t, w.log).OK() {
			t.Fatalf("line %d of %s moved to %d", i, name, j)
		}
		w.write(name, original...)
	}
	whole(t, w.log, worldEnd)
}

func TestALogWithoutItsHeadSaysForEverThatItsEndIsUnsure(t *testing.T) {
	w := newFixture(t)
	w.write(current, w.lines(current)[:3]...)
	w.remove(sealed)
	w.record(40)
	want := []audit.Break{{File: sealed, Seq: 33, Kind: audit.Removed}}
	if d := cmp.Diff(want, verify(t, w.log).Broken, cmpopts.IgnoreFields(audit.Break{}, "Text")); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

func TestALongListOfBreaksIsCut(t *testing.T) {
	w := newFixture(t)
	w.write(current, bytes.Repeat([]byte("x\n"), 5000))
	got := verify(t, w.log)
	if len(got.Broken) > 1001 || got.Omitted < 3000 {
		t.Errorf("%d breaks, %d omitted", len(got.Broken), got.Omitted)
	}
}
