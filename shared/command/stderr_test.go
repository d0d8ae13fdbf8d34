package command_test

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/multiollama/mcp-server/shared/command"
)

// stuck is a stream that nobody reads until it is released.
type stuck struct {
	read chan struct{}
	mu   sync.Mutex
	got  bytes.Buffer
}

func (s *stuck) Write(p []byte) (int, error) {
	<-s.read
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.got.Write(p)
}

func (s *stuck) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.got.String()
}

// serveUnread runs the fake server on lines while nobody reads its stderr.
func serveUnread(t *testing.T, lines string, args ...string) (out string, errs *stuck) {
	t.Helper()
	w := newFixture(t)
	var stdout bytes.Buffer
	errs = &stuck{read: make(chan struct{})}
	env := command.Environment{Stdin: strings.NewReader(lines), Stdout: &stdout, Stderr: errs, Environ: w.environ}
	ended := make(chan int, 1)
	go func() { ended <- command.Run(t.Context(), w.program, args, env.WithRestrict(holds)) }()
	select {
	case code := <-ended:
		if code != 0 {
			t.Errorf("it ended with %d", code)
		}
	case <-time.After(2 * time.Minute):
		t.Fatal("a server whose stderr nobody reads does not end")
	}
	return stdout.String(), errs
}

func TestNobodyHasToReadStderr(t *testing.T) {
	const bad = 20_000
	out, errs := serveUnread(t, hello+strings.Repeat("no message\n", bad)+`{"jsonrpc":"2.0","id":3,"method":"ping"}`+"\n", "serve", "--log-level", "debug")
	if got := strings.Count(out, `"error"`); got != bad || !strings.Contains(out, `"id":3`) {
		t.Errorf("%d of %d bad lines are answered, the last request is: %v", got, bad, strings.Contains(out, `"id":3`))
	}
	close(errs.read)
	notice := regexp.MustCompile(`lines were dropped because nobody read stderr" lines=(\d+)`)
	for range 10_000 {
		if notice.MatchString(errs.text()) {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	said := notice.FindStringSubmatch(errs.text())
	if said == nil {
		t.Fatalf("nothing tells that lines were dropped: %.300s", errs.text())
	}
	dropped, _ := strconv.Atoi(said[1])
	if kept := strings.Count(errs.text(), "a line was refused"); dropped == 0 || kept == 0 || kept+dropped < bad {
		t.Errorf("of %d lines %d were kept and %d dropped", bad, kept, dropped)
	}
	for line := range strings.Lines(errs.text()) {
		if !strings.Contains(line, "level=") || !strings.HasSuffix(line, "\n") {
			t.Errorf("a line was cut: %q", line)
		}
	}
}

func TestAnAuditLogThatNobodyReadsRefusesWhatDependsOnIt(t *testing.T) {
	const calls = 3000
	var lines strings.Builder
	lines.WriteString(hello)
	for i := range calls {
		fmt.Fprintf(&lines, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"greet","arguments":{"name":%q}}}`+"\n", i+10, strings.Repeat("x", 500))
	}
	out, errs := serveUnread(t, lines.String(), "serve", "--audit-log", "stderr", "--audit-required")
	if !strings.Contains(out, "hello Ada") || !strings.Contains(out, "audit log") {
		t.Errorf("no call worked, or none was refused because its event could not be stored: %.500s … %.500s", out, out[max(0, len(out)-500):])
	}
	close(errs.read)
}
