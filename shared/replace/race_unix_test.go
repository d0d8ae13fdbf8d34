//go:build linux || darwin

package replace_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/replace"
)

// Each caller has a Writer of its own where they stand for separate processes, which
// no lock of ours keeps apart, and shares one where they are calls of one server.
func writers(n int, shared bool, w *replace.Writer) []*replace.Writer {
	all := make([]*replace.Writer, n)
	for i := range all {
		if all[i] = w; !shared {
			all[i] = w.Alike()
		}
	}
	return all
}

func TestOfCreatorsThatRaceExactlyOneWins(t *testing.T) {
	for _, shared := range []bool{true, false} {
		eachWay(t, func(t *testing.T, w *replace.Writer) {
			base := fixture(t)
			r := roots(t, base+"/allow", confine.Options{})
			const callers = 4
			for round := range 200 {
				p := path(t, r, fmt.Sprint(round))
				var won atomic.Int32
				var winner atomic.Value
				together(writers(callers, shared, w), func(i int, w *replace.Writer) {
					mine := fmt.Sprintf("creator %d", i)
					switch _, err := w.Create(background, p, []byte(mine), replace.Options{}); {
					case err == nil:
						won.Add(1)
						winner.Store(mine)
					case !errors.Is(err, fault.Exists):
						t.Error(err)
					}
				})
				if got := content(p.Abs()); won.Load() != 1 || got != winner.Load() {
					t.Fatalf("round %d: %d winners, the last %q; the file holds %q", round, won.Load(), winner.Load(), got)
				}
			}
			noDrafts(t, base)
		})
	}
}

// together runs do for every writer at the same moment and waits.
func together(ws []*replace.Writer, do func(int, *replace.Writer)) {
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i, w := range ws {
		wg.Go(func() {
			<-start
			do(i, w)
		})
	}
	close(start)
	wg.Wait()
}

// Twenty callers have read the same version; one may put its own in its place. Then
// twenty have read that one, and so on.
func TestOfTwentyCallersThatExpectTheSameVersionOneWins(t *testing.T) {
	for _, shared := range []bool{true, false} {
		for name, do := range map[string]func(w *replace.Writer, p confine.Path, old, text string) error{
			"replace": func(w *replace.Writer, p confine.Path, old, text string) error {
				_, err := w.Replace(background, p, []byte(text), expecting(old))
				return err
			},
			"update": func(w *replace.Writer, p confine.Path, old, text string) error {
				_, err := w.Update(background, p, func(have []byte, _ confine.Info) ([]byte, error) {
					if string(have) != old {
						return nil, fault.New(fault.Exists, "too late", "")
					}
					return []byte(text), nil
				})
				return err
			},
		} {
			eachWay(t, func(t *testing.T, w *replace.Writer) {
				base, p := only(t, "f", "allow/f: start")
				version := "start"
				for round := range 20 {
					var won atomic.Int32
					together(writers(20, shared, w), func(i int, w *replace.Writer) {
						switch err := do(w, p, version, fmt.Sprintf("%02d by %02d", round, i)); {
						case err == nil:
							won.Add(1)
						case !errors.Is(err, fault.Exists):
							t.Error(err)
						}
					})
					if won.Load() != 1 {
						t.Fatalf("%s, one server: %t: round %d has %d winners", name, shared, round, won.Load())
					}
					version = content(base + "/allow/f")
				}
				noDrafts(t, base)
			})
		}
	}
}

func TestNoUpdateOfManyIsLost(t *testing.T) {
	eachWay(t, func(t *testing.T, w *replace.Writer) {
		base, p := only(t, "f", "allow/f: ")
		const callers, each = 4, 50
		together(writers(callers, false, w), func(i int, w *replace.Writer) {
			for range each {
				_, err := w.Update(background, p, func(old []byte, _ confine.Info) ([]byte, error) { return append(old, 'x'), nil })
				if err != nil {
					t.Error(err)
				}
			}
		})
		if got := content(base + "/allow/f"); got != strings.Repeat("x", callers*each) {
			t.Errorf("%d updates were done, the file holds %d", callers*each, len(got))
		}
		noDrafts(t, base)
	})
}

// letters is content that shows when it is not whole: a letter, many times, and how often.
func letters(round int) string {
	n := 1000 + round*97%60_000
	return strings.Repeat(string(rune('a'+round%26)), n) + fmt.Sprintf(" %d\n", n)
}

func whole(text string) bool {
	body, count, ok := strings.Cut(text, " ")
	return ok && body != "" && strings.Count(body, body[:1]) == len(body) && count == fmt.Sprintf("%d\n", len(body))
}

func TestAReaderNeverSeesHalfAFile(t *testing.T) {
	base, p := only(t, "f", "allow/f: "+letters(0))
	var stop atomic.Bool
	var reads, versions atomic.Int64
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			last := ""
			for !stop.Load() {
				got := content(base + "/allow/f")
				if !whole(got) {
					t.Errorf("a reader saw %d bytes: %.80q", len(got), got)
					return
				}
				reads.Add(1)
				if got != last {
					versions.Add(1)
				}
				last = got
				time.Sleep(100 * time.Microsecond) // leaves the processor to the writer
			}
		})
	}
	var w replace.Writer
	for round := 0; round < 1000 || versions.Load() < 100 && round < 1_000_000; round++ {
		var err error
		if round%2 == 0 {
			_, err = w.Replace(background, p, []byte(letters(round)), replace.Options{})
		} else {
			_, err = w.Update(background, p, becoming(letters(round)))
		}
		if err != nil {
			t.Error(err)
			break
		}
	}
	stop.Store(true)
	wg.Wait()
	if t.Logf("%d reads, %d versions seen", reads.Load(), versions.Load()); versions.Load() < 100 {
		t.Error("the readers did not read during the changes")
	}
	noDrafts(t, base)
}

// What another program does to the file between the read and the change.
func TestAnUpdateSeesWhatAnotherProgramDidMeanwhile(t *testing.T) {
	for _, c := range []struct {
		what string
		at   replace.Step
		do   func(dir string) error
		want any // the content then, or a code
	}{
		{"it was replaced", replace.BeforeSwap, func(dir string) error { return replaced(dir, "theirs") }, "theirs+"},
		{"it was written in place", replace.BeforeSwap, func(dir string) error { return os.WriteFile(dir+"/f", []byte("theirs"), 0) }, "theirs+"},
		{"it was written in place, with the same length and time", replace.BeforeSwap, sameTime, "OLD+"},
		{"it was removed", replace.BeforeSwap, func(dir string) error { return os.Remove(dir + "/f") }, fault.NotFound},
		{"it became a directory", replace.BeforeSwap, func(dir string) error {
			return errors.Join(os.Remove(dir+"/f"), os.Mkdir(dir+"/f", 0o755))
		}, fault.ParamInvalid},
		{"it became a link out", replace.BeforeSwap, func(dir string) error {
			return errors.Join(os.Remove(dir+"/f"), os.Symlink("../out/secret", dir+"/f"))
		}, fault.Forbidden},
		{"the new one was replaced at once", replace.AfterSwap, func(dir string) error { return replaced(dir, "theirs") }, "theirs"},
		{"the new one was removed at once", replace.AfterSwap, func(dir string) error { return os.Remove(dir + "/f") }, "<gone>"},
	} {
		eachWay(t, func(t *testing.T, w *replace.Writer) {
			base, p := only(t, "f", "allow/f: old")
			times := 0
			w.When(c.at, func() {
				if times++; times == 1 {
					must(t, c.do(base+"/allow"))
				}
			})
			_, err := w.Update(background, p, func(old []byte, _ confine.Info) ([]byte, error) { return append(old, '+'), nil })
			got := content(base + "/allow/f")
			switch want := c.want.(type) {
			case fault.Code:
				if !errors.Is(err, want) {
					t.Errorf("%s: %v, want %s", c.what, err, want)
				}
			case string:
				if err != nil || got != want && (want != "<gone>" || !strings.Contains(got, "no such file")) {
					t.Errorf("%s: %v, the file holds %q, want %q", c.what, err, got, want)
				}
			}
			if times == 0 {
				t.Errorf("%s: nothing happened meanwhile", c.what)
			}
			noDrafts(t, base)
		})
	}
}

// replaced is what an editor does.
func replaced(dir, text string) error {
	return errors.Join(os.WriteFile(dir+"/f~", []byte(text), 0o644), os.Rename(dir+"/f~", dir+"/f"))
}

func sameTime(dir string) error {
	info, err := os.Stat(dir + "/f")
	return errors.Join(err, os.WriteFile(dir+"/f", []byte("OLD"), 0), os.Chtimes(dir+"/f", info.ModTime(), info.ModTime()))
}

// Between the swap and the way back a third program may write too: what is newest stays.
func TestWhatIsNewestStaysWhenThreeWrite(t *testing.T) {
	base, p := only(t, "f", "allow/f: old")
	var w replace.Writer
	steps := 0
	w.When(replace.BeforeSwap, func() {
		if steps++; steps == 1 {
			must(t, replaced(base+"/allow", "second"))
		}
	})
	w.When(replace.AfterSwap, func() {
		if steps++; steps == 2 {
			must(t, replaced(base+"/allow", "third"))
		}
	})
	_, err := w.Update(background, p, func(old []byte, _ confine.Info) ([]byte, error) { return append(old, '+'), nil })
	if got := content(base + "/allow/f"); err != nil || got != "third+" {
		t.Errorf("%v, %q", err, got)
	}
	noDrafts(t, base)
}

func TestAFileThatIsAnotherEveryTimeIsRefusedWithItsHash(t *testing.T) {
	base, p := only(t, "f", "allow/f: 0")
	var w replace.Writer
	n, asked := 0, 0
	w.When(replace.BeforeSwap, func() {
		n++
		must(t, replaced(base+"/allow", fmt.Sprint(n)))
	})
	_, err := w.Update(background, p, func([]byte, confine.Info) ([]byte, error) {
		asked++
		return []byte("mine"), nil
	})
	last := fmt.Sprint(n)
	if !errors.Is(err, fault.Exists) || detail(err, "present_sha256") != hash(last) || content(base+"/allow/f") != last || asked != n || n < 2 {
		t.Errorf("%v after %d tries; the file holds %q", err, asked, content(base+"/allow/f"))
	}
	noDrafts(t, base)
}
