package replace_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/mcptest"
	"github.com/multiollama/mcp-server/shared/replace"
)

// contender is a process with twenty callers.
type contender struct {
	in  io.Writer
	out *bufio.Reader
}

func contending(t *testing.T, dir string, lacking bool) contender {
	t.Helper()
	cmd := mcptest.Child(t, "contender", dir, fmt.Sprint(lacking))
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() { must(t, errors.Join(in.Close(), cmd.Wait())) })
	return contender{in, bufio.NewReader(out)}
}

// contenderChild DIR LACKING lets twenty callers replace f for every line it reads, all
// expecting the hash that the line is, and answers how many won.
func contenderChild(args []string) error {
	r, err := confine.Open(args[:1], confine.Options{})
	if err != nil {
		return err
	}
	p, err := r.Parse("f")
	if err != nil {
		return err
	}
	var w replace.Writer
	w.Without(false, false, args[1] == "true")
	lines := bufio.NewScanner(os.Stdin)
	for round := 0; lines.Scan(); round++ {
		won, failed := contend(&w, p, lines.Text(), round)
		if failed != nil {
			return failed
		}
		fmt.Println(won)
	}
	return lines.Err()
}

func contend(w *replace.Writer, p confine.Path, expected string, round int) (won int32, failed error) {
	var winners atomic.Int32
	var mu sync.Mutex
	together(writers(20, true, w), func(i int, w *replace.Writer) {
		text := fmt.Sprintf("round %d by %d of %d", round, i, os.Getpid())
		_, err := w.Replace(background, p, []byte(text), replace.Options{ExpectedSHA256: expected})
		switch {
		case err == nil:
			winners.Add(1)
		case !errors.Is(err, fault.Exists):
			mu.Lock()
			failed = errors.Join(failed, err)
			mu.Unlock()
		}
	})
	return winners.Load(), failed
}

func TestOfTwentyCallersInEachOfTwoProcessesOneWins(t *testing.T) {
	const rounds, forEver = 50, 5000
	for _, lacking := range []bool{false, true} {
		t.Run(fmt.Sprintf("exchanging: %t", !lacking), func(t *testing.T) {
			base := fixture(t, "allow/f: start")
			both := []contender{contending(t, base+"/allow", lacking), contending(t, base+"/allow", lacking)}
			var wins [2]int
			round := 0
			for ; round < rounds || min(wins[0], wins[1]) == 0 && round < forEver; round++ {
				expected := hash(content(base + "/allow/f"))
				for i := range both {
					c := both[(i+round)%2] // each is told first half of the time
					_, err := fmt.Fprintln(c.in, expected)
					must(t, err)
				}
				sum := 0
				for i, c := range both {
					var won int
					_, err := fmt.Fscanln(c.out, &won)
					must(t, err)
					wins[i] += won
					sum += won
				}
				if sum != 1 || hash(content(base+"/allow/f")) == expected {
					t.Fatalf("round %d has %d winners", round, sum)
				}
			}
			if t.Logf("of %d rounds the processes won %d and %d", round, wins[0], wins[1]); wins[0] == 0 || wins[1] == 0 {
				t.Error("one process won every round: they did not race")
			}
			noDrafts(t, base)
		})
	}
}

// Signals hit the thread that writes, all the time.
func TestAStormOfSignalsBreaksNoChange(t *testing.T) {
	base, p := only(t, "f", "allow/f: "+letters(0))
	var handled, sent atomic.Int64
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, unix.SIGUSR1)
	defer signal.Stop(caught)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	thread, done := unix.Gettid(), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-caught:
				handled.Add(1)
			default:
				must(t, unix.Tgkill(unix.Getpid(), thread, unix.SIGUSR1))
				sent.Add(1)
			}
		}
	})
	var w replace.Writer
	for n := 0; n < 500 || (sent.Load() < 500 || handled.Load() < 50) && n < forEver; n++ {
		var err error
		if n%2 == 0 {
			_, err = w.Replace(background, p, []byte(letters(n)), replace.Options{})
		} else {
			_, err = w.Update(background, p, becoming(letters(n)))
		}
		if err != nil || content(base+"/allow/f") != letters(n) {
			t.Errorf("change %d: %v", n, err)
		}
	}
	close(done)
	wg.Wait()
	if t.Logf("%d signals sent, %d handled", sent.Load(), handled.Load()); sent.Load() < 500 || handled.Load() < 50 {
		t.Error("there was no storm")
	}
	noDrafts(t, base)
}
