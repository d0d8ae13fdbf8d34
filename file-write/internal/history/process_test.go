package history_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/multiollama/mcp-server/file-write/internal/history"
	"github.com/multiollama/mcp-server/shared/mcptest"
)

// keepChild DIR NAME COUNT BYTES keeps changes of NAME/0, NAME/1 … and tells the id
// of each on stdout after it was kept.
func keepChild(args []string) error {
	count, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	most, err := strconv.ParseInt(args[3], 10, 64)
	if err != nil {
		return err
	}
	s, err := history.Open(args[0], history.Limits{Bytes: most}, time.Now)
	if err != nil {
		return err
	}
	s.Bound(1000, 8)
	for i := range count {
		path := fmt.Sprintf("%s/%d", args[1], i)
		c, err := s.Keep(context.Background(), edit(path), strings.NewReader(contentOf(path)))
		if err != nil {
			return err
		}
		fmt.Println(c.ID)
	}
	return s.Close()
}

// contentOf is up to 70 KB, and for every third path the same as another's.
func contentOf(path string) string {
	name, number, _ := strings.Cut(path, "/")
	i, _ := strconv.Atoi(number)
	if i%3 == 0 {
		return strings.Repeat("shared ", 1+i%5)
	}
	return strings.Repeat(name+number+" ", 1+i*997%10_000)
}

// whole fails unless every listed change can be read and is what its path says.
func whole(w *fixture, s *history.Store) map[string]bool {
	w.Helper()
	all, err := s.List(history.Filter{})
	if err != nil {
		w.Fatal(err)
	}
	ids, sums := map[string]bool{}, map[string]bool{}
	for _, c := range all {
		ids[c.ID], sums[c.SHA256] = true, true
		if got := w.content(s, c); got != contentOf(c.Path) {
			w.Errorf("%s holds %d bytes of something else", c.Path, len(got))
		}
	}
	if lost, err := s.Lost(); err != nil || lost > 0 {
		w.Errorf("%d changes have no content: %v", lost, err)
	}
	if got := len(w.files("objects")); got != len(sums) {
		w.Errorf("%d contents for %d that are listed", got, len(sums))
	}
	return ids
}

func TestSeveralProcessesShareAStore(t *testing.T) {
	w := newFixture(t)
	const processes, each = 4, 40
	var wait sync.WaitGroup
	said := make([][]byte, processes)
	for i := range processes {
		cmd := mcptest.Child(t, "keep", w.dir, fmt.Sprint("p", i), fmt.Sprint(each), fmt.Sprint(1<<30))
		wait.Go(func() {
			var err error
			if said[i], err = cmd.Output(); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	ids := whole(w, w.open(history.Limits{}))
	if len(ids) != processes*each {
		t.Errorf("%d changes", len(ids))
	}
	for _, lines := range said {
		for _, id := range strings.Fields(string(lines)) {
			if !ids[id] {
				t.Errorf("%s was kept and is not listed", id)
			}
		}
	}
}

func TestSeveralProcessesLetOldChangesGo(t *testing.T) {
	w := newFixture(t)
	var wait sync.WaitGroup
	for i := range 3 {
		cmd := mcptest.Child(t, "keep", w.dir, fmt.Sprint("p", i), "60", "300000")
		wait.Go(func() {
			if out, err := cmd.Output(); err != nil {
				t.Errorf("%v %s", err, out)
			}
		})
	}
	wait.Wait()
	if ids := whole(w, w.open(history.Limits{Bytes: 300_000})); len(ids) < 3 || len(ids) > 120 {
		t.Errorf("%d changes", len(ids))
	}
}

// The child lets old changes go and rewrites its index all the time; the kill comes
// after a number of changes that differs each time, at whatever the child does then.
func TestAKillAtAnyMomentLosesNothingThatWasKept(t *testing.T) {
	w := newFixture(t)
	for i := range 60 {
		cmd := mcptest.Child(t, "keep", w.dir, fmt.Sprint("k", i), "1000000", "300000")
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		var last string
		for range 1 + i%23 {
			if !lines.Scan() {
				t.Fatal("the child ended by itself")
			}
			last = lines.Text()
		}
		time.Sleep(time.Duration(i*7919%20_000) * time.Microsecond)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() {
			last = lines.Text()
		}
		if cmd.Wait() == nil {
			t.Fatal("the child was not killed")
		}
		s := w.open(history.Limits{Bytes: 300_000})
		if !whole(w, s)[last] {
			t.Errorf("kill %d: the change that was kept last is not listed", i)
		}
		if got := w.files("drafts"); len(got) != 0 {
			t.Errorf("kill %d: left over %v", i, got)
		}
		s.Close()
	}
}

func TestADraftOfALivingProcessIsNotSweptAndHindersNobody(t *testing.T) {
	w := newFixture(t)
	s := w.open(history.Limits{})
	r, slow := io.Pipe()
	done := make(chan error)
	go func() {
		_, err := s.Keep(context.Background(), edit("slow"), r)
		done <- err
	}()
	if _, err := io.WriteString(slow, "be"); err != nil {
		t.Fatal(err)
	}
	other := w.open(history.Limits{})
	w.keep(other, "fast", "f")
	if got := w.files("drafts"); len(got) != 1 {
		t.Fatalf("drafts: %v", got)
	}
	if _, err := io.WriteString(slow, "gin"); err != nil {
		t.Fatal(err)
	}
	slow.Close()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got := w.paths(other, history.Filter{}); got != "slow fast" {
		t.Error(got)
	}
	if got := w.files("drafts"); len(got) != 0 {
		t.Errorf("left over: %v", got)
	}
}
