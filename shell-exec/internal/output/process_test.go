package output_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/mcptest"
	"github.com/multiollama/mcp-server/shell-exec/internal/output"
)

func init() {
	children["endless"], children["many"] = endlessChild, manyChild
}

func childRun(dir, name string, l output.Limits) (*output.Store, *output.Run, error) {
	s, err := output.Open(dir, "p", l, time.Now)
	if err != nil {
		return nil, nil, err
	}
	r, err := s.Begin(context.Background(), output.About{ExecutionID: name, Name: name})
	return s, r, err
}

// endlessChild DIR tells the id of a run and writes to it until it is killed: line n is n, to stdout where it is even.
func endlessChild(args []string) error {
	_, r, err := childRun(args[0], "endless", output.Limits{})
	if err != nil {
		return err
	}
	for n := 0; ; n++ {
		if n == 1000 {
			fmt.Println(r.ID())
		}
		to := output.Stdout
		if n%2 == 1 {
			to = output.Stderr
		}
		fmt.Fprintf(r.Writer(to), "%d\n", n)
	}
}

func TestARunThatIsCutOffByACrashCanBeReadAndIsMarked(t *testing.T) {
	w := newFixture(t)
	s := w.open(output.Limits{})
	const crashes = 8
	for range crashes {
		cmd := mcptest.Child(t, "endless", w.dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		id, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		id = strings.TrimSpace(id)
		if got := w.info(s, id).State; got != output.Running {
			t.Errorf("before the crash it is %s", got)
		}
		running := w.all(s, id, output.MaxPage, output.Base64)
		if d, err := s.Delete(context.Background(), []string{id}, true); err != nil || len(d.Failed) != 1 {
			t.Errorf("what is running was deleted: %v", err)
		}
		cmd.Process.Kill()
		cmd.Wait()
		if got := w.info(s, id).State; got != output.CutOff {
			t.Errorf("after the crash it is %s", got)
		}
		text := w.all(s, id, output.MaxPage, output.Base64)
		inOrder(t, text)
		if !strings.HasPrefix(text, running) || len(running) < 1000 {
			t.Errorf("%d bytes that were read while it ran are no beginning of %d", len(running), len(text))
		}
	}
	s.Close()
	if _, n, err := w.open(output.Limits{}).List(output.Filter{Type: output.Combined}); n != crashes || err != nil {
		t.Errorf("after a restart there are %d: %v", n, err)
	}
}

// inOrder fails unless text is 0, 1, 2 … by lines, whatever its last line is.
func inOrder(t *testing.T, text string) {
	t.Helper()
	lines := strings.Split(text, "\n")
	for n, line := range lines[:len(lines)-1] {
		if line != strconv.Itoa(n) {
			t.Fatalf("line %d is %q", n, line)
		}
	}
}

// manyChild DIR NAME COUNT makes runs one after the other, each of which can be told from its name.
func manyChild(args []string) error {
	count, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	s, err := output.Open(args[0], "p", small(), time.Now)
	if err != nil {
		return err
	}
	for i := range count {
		name := fmt.Sprintf("%s-%d", args[1], i)
		r, err := s.Begin(context.Background(), output.About{ExecutionID: name, Name: name})
		if err != nil {
			return err
		}
		io.WriteString(r.Writer(output.Stdout), strings.Repeat(name+" ", 1000))
		io.WriteString(r.Writer(output.Stderr), name)
		if err := errors.Join(r.Err(), r.End()); err != nil {
			return err
		}
	}
	return s.Close()
}

func small() output.Limits { return output.Limits{Total: 400_000, Runs: 60} }

func TestSeveralProcessesShareAStore(t *testing.T) {
	w := newFixture(t)
	const processes, each = 4, 100
	var wait sync.WaitGroup
	for i := range processes {
		cmd := mcptest.Child(t, "many", w.dir, string(rune('a'+i)), strconv.Itoa(each))
		wait.Go(func() {
			if err := cmd.Run(); err != nil {
				t.Error(err)
			}
		})
	}
	done := make(chan struct{})
	go func() { wait.Wait(); close(done) }()
	looks, seen := 0, map[string]bool{}
	s := w.open(small())
	for running := true; running; looks++ {
		select {
		case <-done:
			running = false
		default:
		}
		all, _, err := s.List(output.Filter{Type: output.Stdout})
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range all {
			if i.State == output.CutOff {
				t.Errorf("%s is cut off", i.Name)
			}
			if wrong := misread(s, i); wrong != "" {
				t.Error(wrong)
			}
			seen[i.ExecutionID] = true
		}
	}
	if looks < 3 || len(seen) < each/2 {
		t.Errorf("only %d runs were seen in %d looks", len(seen), looks)
	}
	s.Close()
	w.open(small())
	if files := w.files(); len(files) > 4*60+1 || len(files) < 30 {
		t.Errorf("%d files are left", len(files))
	}
}

// misread says what is wrong with an output of manyChild. It may go at any time.
func misread(s *output.Store, i output.Info) string {
	p, err := s.Read(i.ID, output.Window{Size: output.MaxPage})
	if errors.Is(err, fault.NotFound) {
		return ""
	}
	want := strings.Repeat(i.ExecutionID+" ", 1000)
	if err != nil || i.State == output.Ended && p.Content() != want {
		return fmt.Sprintf("%s has %d bytes of %d: %v", i.Name, len(p.Raw), len(want), err)
	}
	return ""
}
