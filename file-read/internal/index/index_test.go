package index_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/multiollama/mcp-server/file-read/internal/index"
	"github.com/multiollama/mcp-server/file-read/internal/walk"
	"github.com/multiollama/mcp-server/shared/confine"
)

// now is when everything is read, long ago when it was changed last.
var now, longAgo = time.Unix(1_000_000, 0), time.Unix(999_000, 0)

// stamp is that of the file with this inode.
func stamp(ino int) confine.Stamp {
	return confine.Stamp{Dev: 1, Ino: uint64(ino), Size: 10, Modified: longAgo.UnixNano(), Changed: longAgo.UnixNano()}
}

func sketchOf(content string) *index.Sketch {
	s := &index.Sketch{}
	s.Begin(int64(len(content)))
	s.Write([]byte(content))
	return s
}

func add(t *testing.T, x *index.Index, s confine.Stamp, kind index.Kind, content string) {
	t.Helper()
	if got := x.AddFile(s, now, kind, sketchOf(content)); got != index.Taken {
		t.Fatalf("outcome %d", got)
	}
}

// ask is the verdict on a file in a search for any of the texts.
func ask(x *index.Index, s confine.Stamp, texts ...string) index.Verdict {
	v := x.View(query(texts...))
	defer v.End()
	return v.File(s)
}

func query(texts ...string) *index.Query {
	var b [][]byte
	for _, text := range texts {
		b = append(b, []byte(text))
	}
	return index.NewQuery(b...)
}

func TestAFileIsLeftOutOnlyIfNoTextCanBeInIt(t *testing.T) {
	x := index.New(1 << 20)
	const content = "The quick brown Fox\r\njumps over the lazy dog.\r\n"
	add(t, x, stamp(1), index.Text, content)
	add(t, x, stamp(2), index.Mixed, content)
	add(t, x, stamp(3), index.Binary, "")
	add(t, x, stamp(4), index.Opaque, "")
	add(t, x, stamp(5), index.Text, "")
	for _, c := range []struct {
		what  string
		ino   int
		texts []string
		want  index.Verdict
	}{
		{"a text that is in it", 1, []string{"quick"}, index.Maybe},
		{"a text that is in it in another case", 1, []string{"QUICK BROWN fox"}, index.Maybe},
		{"a text that is not", 1, []string{"quicksilver"}, index.Never},
		{"one of two texts", 1, []string{"quicksilver", "lazy"}, index.Maybe},
		{"none of two texts", 1, []string{"quicksilver", "crazy"}, index.Never},
		{"a text too short for a filter", 1, []string{"zz"}, index.Maybe},
		{"a text too short beside one that is not in it", 1, []string{"quicksilver", "zz"}, index.Maybe},
		{"no text", 1, nil, index.Maybe},
		{"a text over two lines, whose ends a search takes the carriage return from", 1, []string{"fox\njumps"}, index.Maybe},
		{"another over two lines", 1, []string{"fox\nsleeps"}, index.Never},
		{"text before a NUL that has it", 2, []string{"quick"}, index.Maybe},
		{"text before a NUL that does not", 2, []string{"quicksilver"}, index.NeverABinary},
		{"a binary", 3, []string{"quick"}, index.NeverABinary},
		{"a binary, no text", 3, nil, index.NeverABinary},
		{"another encoding", 4, []string{"quicksilver"}, index.Maybe},
		{"an empty file", 5, []string{"quick"}, index.Never},
		{"a file never seen", 6, []string{"quick"}, index.Unknown},
	} {
		if got := ask(x, stamp(c.ino), c.texts...); got != c.want {
			t.Errorf("%s: verdict %d, want %d", c.what, got, c.want)
		}
	}
}

func TestNothingIsSaidOfAFileWithAnotherStamp(t *testing.T) {
	x := index.New(1 << 20)
	add(t, x, stamp(1), index.Text, "something")
	for what, change := range map[string]func(*confine.Stamp){
		"device":       func(s *confine.Stamp) { s.Dev++ },
		"inode":        func(s *confine.Stamp) { s.Ino++ },
		"size":         func(s *confine.Stamp) { s.Size++ },
		"modification": func(s *confine.Stamp) { s.Modified-- },
		"change":       func(s *confine.Stamp) { s.Changed++ },
	} {
		s := stamp(1)
		change(&s)
		if got := ask(x, s, "nothing"); got != index.Unknown || x.Has(s) {
			t.Errorf("another %s: verdict %d", what, got)
		}
	}
	if got := ask(x, stamp(1), "nothing"); got != index.Never || !x.Has(stamp(1)) {
		t.Errorf("the same stamp: verdict %d", got)
	}
}

func TestWhatChangedJustNowIsNotTakenIn(t *testing.T) {
	x := index.New(1 << 20)
	for what, changed := range map[string]time.Time{
		"a second ago":  now.Add(-time.Second),
		"now":           now,
		"in the future": now.Add(time.Hour), // the clock was set back
		"unknown":       time.Unix(0, 0),
	} {
		s := stamp(1)
		s.Changed = changed.UnixNano()
		if got := x.AddFile(s, now, index.Text, sketchOf("something")); got != index.Young {
			t.Errorf("a file changed %s: outcome %d", what, got)
		}
		if got := x.AddListing(confine.Path{}, s, now, walk.Listing{}); got != index.Young {
			t.Errorf("a directory changed %s: outcome %d", what, got)
		}
	}
	s := stamp(1)
	s.Modified = now.Add(time.Hour).UnixNano() // anyone may set it
	add(t, x, s, index.Text, "something")
}

func TestANewVersionTakesThePlaceOfTheOldOne(t *testing.T) {
	x := index.New(1 << 20)
	old, new := stamp(1), stamp(1)
	new.Changed++
	add(t, x, old, index.Text, "something")
	add(t, x, new, index.Text, "nothing")
	if ask(x, old, "something") != index.Unknown || ask(x, new, "something") != index.Never || ask(x, new, "nothing") != index.Maybe {
		t.Error("the old version is still told, or the new one is not")
	}
}

func TestAListingIsToldUnderItsPathAndStampOnly(t *testing.T) {
	roots, err := confine.Open([]string{t.TempDir(), t.TempDir()}, confine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer roots.Close()
	path := func(name string) confine.Path {
		p, err := roots.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	x := index.New(1 << 20)
	l := walk.Listing{Entries: []confine.Entry{{Name: "f", Type: confine.File}, {Name: "dir", Type: confine.Directory}}, Denied: 3}
	if got := x.AddListing(path("a"), stamp(1), now, l); got != index.Taken {
		t.Fatal(got)
	}
	v := x.View(nil)
	defer v.End()
	newer := stamp(1)
	newer.Changed++
	for _, c := range []struct {
		what string
		path string
		at   confine.Stamp
		want bool
	}{
		{"the same", "a", stamp(1), true},
		{"the same in other words", path("a").Abs(), stamp(1), true},
		{"another path", "b", stamp(1), false},
		{"another stamp", "a", newer, false},
		{"another directory", "a", stamp(2), false},
	} {
		got, ok := v.Recall(path(c.path), c.at)
		other, too := x.Listing(path(c.path), c.at)
		if ok != c.want || too != c.want || ok && (!reflect.DeepEqual(got, l) || !reflect.DeepEqual(other, l)) {
			t.Errorf("%s: %v %v", c.what, got, ok)
		}
	}
}

func TestASearchIsNeverHeldUp(t *testing.T) {
	x := index.New(1 << 20)
	v := x.View(query("text"))
	if got := x.AddFile(stamp(1), now, index.Text, sketchOf("text")); got != index.Busy {
		t.Errorf("outcome %d during a search", got)
	}
	x.View(nil).End() // another search begins all the same
	v.End()
	add(t, x, stamp(1), index.Text, "text")
}

func TestNoIndexKnowsNothing(t *testing.T) {
	var x *index.Index
	v := x.View(query("text"))
	defer v.End()
	if v.Selective() || v.File(stamp(1)) != index.Unknown || recalls(v) || x.Has(stamp(1)) || x.Size() != 0 {
		t.Error("it knows something")
	}
	if x.AddFile(stamp(1), now, index.Text, sketchOf("")) != index.Full || x.AddListing(confine.Path{}, stamp(1), now, walk.Listing{}) != index.Full {
		t.Error("it takes something")
	}
}

func recalls(v *index.View) bool {
	_, ok := v.Recall(confine.Path{}, stamp(1))
	return ok
}

// words is a text of n words, others for another seed.
func words(seed uint64, n int) string {
	r := rand.New(rand.NewPCG(seed, 0))
	var b strings.Builder
	for range n {
		fmt.Fprintf(&b, "%x ", r.Uint32())
	}
	return b.String()
}

func TestMemoryIsBounded(t *testing.T) {
	const limit = 1 << 20
	x := index.New(limit)
	first, n := 0, 0
	for i := 0; ; i++ {
		x.AddListing(confine.Path{}, stamp(i), now, walk.Listing{Entries: []confine.Entry{{Name: words(uint64(i), 3)}}})
		if x.AddFile(stamp(i), now, index.Text, sketchOf(words(uint64(i), 60))) == index.Full {
			n = i
			break
		}
	}
	if size := x.Size(); size > limit || size < limit/2 || n < 100 {
		t.Fatalf("%d bytes of %d for %d files", size, limit, n)
	}
	first = n / 2 // the first half is asked for no more
	for range 10 {
		for i := first; i < n; i++ {
			x.Has(stamp(i))
		}
		x.View(nil).End()
	}
	for i := first; i < n; i++ {
		x.Has(stamp(i))
	}
	more := 0
	for i := n; i < n+n/4; i++ {
		if x.AddFile(stamp(i), now, index.Text, sketchOf(words(uint64(i), 60))) == index.Taken {
			more++
		}
		if x.Size() > limit {
			t.Fatalf("%d bytes of %d", x.Size(), limit)
		}
	}
	if more != n/4 {
		t.Errorf("%d of %d files found room that was no longer asked for", more, n/4)
	}
	if x.Has(stamp(0)) {
		t.Error("what was not asked for is still there")
	}
	left := 0
	for i := first; i < n+n/4; i++ {
		content := words(uint64(i), 60)
		if ask(x, stamp(i), content[40:60]) != index.Maybe {
			t.Fatalf("file %d lost what is in it", i)
		}
		if ask(x, stamp(i), "not in it") == index.Never {
			left++
		}
	}
	if left < n/2 {
		t.Errorf("only %d of %d files are left out", left, n)
	}
}

func TestVersionsThatWereReplacedLeaveTheirMemory(t *testing.T) {
	x := index.New(512 << 10)
	s, content := stamp(1), words(1, 300)
	for range 1000 {
		s.Changed++
		add(t, x, s, index.Text, content)
	}
}

func TestAFilterThatSaysTooLittleIsNotKept(t *testing.T) {
	x := index.New(4 << 20)
	r := rand.New(rand.NewPCG(1, 1))
	noise := make([]byte, 2<<20)
	for i := 0; i < len(noise); i += 8 {
		binary.LittleEndian.PutUint64(noise[i:], r.Uint64())
	}
	add(t, x, stamp(1), index.Text, string(noise))
	if got := ask(x, stamp(1), "a text that no noise has in it"); got != index.Maybe {
		t.Errorf("verdict %d", got)
	}
	if x.Size() > 128<<10 {
		t.Errorf("it takes %d bytes", x.Size())
	}
}

func TestSearchesAndFillingGoTogether(t *testing.T) {
	const files = 200
	x := index.New(8 << 20)
	var told, busy sync.Map
	var wg sync.WaitGroup
	done := make(chan struct{})
	for range 3 {
		wg.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-done:
					return
				case <-time.After(time.Millisecond): // filling never waits for its turn
				}
				v := x.View(query(fmt.Sprintf("file number %d.", i%files)))
				for j := range files {
					switch got := v.File(stamp(j)); {
					case got == index.Never && j == i%files:
						t.Error("a file is left out that has the text")
					case got == index.Never:
						told.Store(j, true)
					}
				}
				v.End()
			}
		})
	}
	sketch := &index.Sketch{}
	for taken := 0; taken < files || size(&busy) == 0; {
		content := []byte(fmt.Sprintf("file number %d.", taken%files))
		sketch.Begin(int64(len(content)))
		sketch.Write(content)
		time.Sleep(20 * time.Microsecond) // as long as reading takes
		switch x.AddFile(stamp(taken%files), now, index.Text, sketch) {
		case index.Taken:
			taken++
		case index.Busy:
			busy.Store(taken, true)
			time.Sleep(10 * time.Microsecond)
		}
	}
	x.View(nil).End()
	for size(&told) < files/2 { // some search saw what was taken in
		time.Sleep(time.Millisecond)
	}
	close(done)
	wg.Wait()
}

func size(m *sync.Map) (n int) {
	m.Range(func(any, any) bool { n++; return true })
	return n
}

// FuzzAFileThatHasTheTextIsNeverLeftOut holds the property of the package: of any
// content, taken in in any pieces, no text in it is denied.
func FuzzAFileThatHasTheTextIsNeverLeftOut(f *testing.F) {
	f.Add([]byte("The Quick\r\nBrown Fox jumps over"), uint16(5), []byte("BROWN"), uint16(3), uint16(8))
	f.Add([]byte("aé\x00\xff\xfeZ[@`{"), uint16(1), []byte("z[@"), uint16(0), uint16(9))
	f.Add(bytes.Repeat([]byte("abc\r\r\nABC"), 100), uint16(7), []byte("c\na"), uint16(2), uint16(6))
	f.Fuzz(func(t *testing.T, content []byte, piece uint16, other []byte, from, length uint16) {
		s := &index.Sketch{}
		s.Begin(int64(from)) // a size that is not so is no harm
		for rest := content; len(rest) > 0; {
			n := min(len(rest), 1+int(piece))
			s.Write(rest[:n])
			rest = rest[n:]
		}
		x := index.New(4 << 20)
		if got := x.AddFile(stamp(1), now, index.Text, s); got != index.Taken {
			t.Fatal(got)
		}
		searched := fold(bytes.ReplaceAll(content, []byte("\r\n"), []byte("\n")))
		begin := min(int(from), len(searched))
		part := searched[begin:min(begin+int(length), len(searched))]
		for _, text := range [][]byte{other, part, bytes.ToUpper(part)} {
			has := bytes.Contains(fold(content), fold(text)) || bytes.Contains(searched, fold(text))
			if v := ask(x, stamp(1), string(text)); has && v != index.Maybe {
				t.Errorf("%q is in %q, the verdict is %d", text, content, v)
			}
		}
	})
}

func fold(b []byte) []byte {
	b = bytes.Clone(b)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return b
}

// FuzzPiecesMakeNoDifference compares a content taken in at once with one taken in
// byte by byte: neither marks more than is there.
func FuzzPiecesMakeNoDifference(f *testing.F) {
	f.Add([]byte("The Quick Brown Fox jumps over"), uint8(3))
	f.Fuzz(func(t *testing.T, content []byte, piece uint8) {
		var all [2]index.Sketch
		for i, n := range []int{1 + int(piece), 1} {
			all[i].Begin(int64(len(content)))
			for rest := content; len(rest) > 0; rest = rest[min(n, len(rest)):] {
				all[i].Write(rest[:min(n, len(rest))])
			}
		}
		if got, want := all[0].Marked(), all[1].Marked(); !bytes.Equal(got, want) {
			t.Errorf("%q by %d bytes marks other runs than by one", content, 1+int(piece))
		}
	})
}
