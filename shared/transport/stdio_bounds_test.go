package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/multiollama/mcp-server/shared/fault"
)

// registering remembers the sessions it is told of.
type registering struct {
	*server.MCPServer
	seen *[]server.ClientSession
}

func (r *registering) RegisterSession(ctx context.Context, s server.ClientSession) error {
	*r.seen = append(*r.seen, s)
	return r.MCPServer.RegisterSession(ctx, s)
}

// deaf is an output that nobody reads.
type deaf chan struct{}

func (d deaf) Write(p []byte) (int, error) {
	<-d
	return len(p), nil
}

func TestAClientThatNeverReadsIsMadeToWait(t *testing.T) {
	for what, tool := range map[string]server.ToolHandlerFunc{
		"calls": says(strings.Repeat("x", 1000)),
		"calls that tell of progress without end": func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			for range 10 * 512 {
				notify(ctx, "notifications/progress", map[string]any{"progressToken": 1, "progress": 1})
			}
			return mcp.NewToolResultText("done"), nil
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			const room = 4
			var running atomic.Int32
			s := mcpServer(mcpTools{"work": func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				running.Add(1)
				return tool(ctx, r)
			}})
			out := make(deaf)
			in, w := io.Pipe()
			ctx, cancel := context.WithCancel(t.Context())
			served := make(chan error, 1)
			go func() { served <- ServeStdio(ctx, s, in, out, StdioOptions{MaxInFlight: room}) }()
			sent := 0
			go func() {
				for id := range 100_000 {
					if _, err := io.WriteString(w, toolCall(id, "work")+"\n"); err != nil {
						return
					}
					sent++
				}
			}()
			time.Sleep(time.Second) // until every turn to read was taken away
			synctest.Wait()
			// What is in flight, one that is being refused, and what the reader
			// has in its buffer.
			if most := 8*room + 1 + 64<<10/len(toolCall(0, "work")); sent > most || sent < 8*room {
				t.Errorf("%s: %d requests were taken, want at most %d", what, sent, most)
			}
			if n := running.Load(); n > 8*room {
				t.Errorf("%s: %d handlers ran", what, n)
			}
			began := time.Now()
			cancel()
			if err := <-served; !errors.Is(err, fault.TimedOut) || time.Since(began) != 4*time.Second {
				t.Errorf("%s: ended with %v after %v", what, err, time.Since(began))
			}
			close(out)
			in.Close()
		})
	}
}

func TestAnswersThatNobodyReadsAreBounded(t *testing.T) {
	const requests, size = 1500, 1 << 20
	answer := says(strings.Repeat("x", size))
	synctest.Test(t, func(t *testing.T) {
		var made atomic.Int32
		s := mcpServer(mcpTools{"large": func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			made.Add(1)
			return answer(ctx, r)
		}})
		in, w := io.Pipe()
		out := &gate{open: make(chan struct{})}
		served := make(chan error, 1)
		go func() { served <- ServeStdio(t.Context(), s, in, out, StdioOptions{}) }()
		for id := range requests {
			_, _ = io.WriteString(w, toolCall(id, "large")+"\n")
		}
		_, _ = io.WriteString(w, cancelled(requests-1)+"\n")
		time.Sleep(time.Second)
		synctest.Wait()
		// Those that began before the first was done, and as many as have room.
		if n := int(made.Load()); n == 0 || n > stdioMaxUnsent/size+stdioMaxUnsent/answerRoom {
			t.Errorf("%d answers were made and none is read", n)
		}
		close(out.open)
		synctest.Wait()
		if n := out.lines.Load(); n < requests-1 {
			t.Errorf("%d of %d requests are answered once somebody reads", n, requests)
		}
		w.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}

// gate is an output that nobody reads until it is open.
type gate struct {
	open  chan struct{}
	lines atomic.Int32
}

func (g *gate) Write(p []byte) (int, error) {
	<-g.open
	g.lines.Add(1)
	return len(p), nil
}

func TestTheEndComesAlsoWhereAnswersWait(t *testing.T) {
	answer := says(strings.Repeat("x", 1<<20))
	synctest.Test(t, func(t *testing.T) {
		in, w := io.Pipe()
		out := &gate{open: make(chan struct{})}
		served := make(chan error, 1)
		go func() {
			served <- ServeStdio(t.Context(), mcpServer(mcpTools{"large": answer}), in, out, StdioOptions{})
		}()
		for id := range 500 {
			_, _ = io.WriteString(w, toolCall(id, "large")+"\n")
		}
		w.Close()
		began := time.Now()
		if err := <-served; !errors.Is(err, fault.TimedOut) || time.Since(began) > 5*time.Second {
			t.Errorf("ended with %v after %v", err, time.Since(began))
		}
		close(out.open)
	})
}

func TestRequestsBeyondTheQueueAreRefusedWithTheirID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		done := make(chan struct{})
		c := dial(t, mcpServer(mcpTools{"wait": waitsFor(done)}), StdioOptions{MaxInFlight: 2})
		c.handshake(`{}`)
		for id := range 16 {
			c.send(toolCall(id, "wait"))
		}
		c.quiet()
		c.send(toolCall(16, "wait"))
		if h := c.next(); string(h.ID) != "16" || h.Error == nil || h.Error.Code != codeBusy {
			t.Errorf("one too many: %v", h)
		}
		c.send(cancelled(3))
		synctest.Wait()
		c.send(toolCall(17, "wait"))
		close(done)
		if all, _ := c.rest(); len(all) != 16 || len(byID(all, "17")) != 1 {
			t.Errorf("%d answers: %v", len(all), all)
		}
	})
}

func TestTheBytesInFlightAreBounded(t *testing.T) {
	s := &calls{MaxCalls: 100, MaxBytes: 1000}
	all := map[string]*call{}
	admit := func(id string, size int) error {
		all[id] = &call{Name: id, Size: size}
		return s.begin(all[id])
	}
	if admit("a", 5000) != nil {
		t.Error("a single message was refused")
	}
	if admit("b", 1) == nil {
		t.Error("a message was taken while the room is used up")
	}
	s.end(all["a"])
	if admit("b", 600) != nil || admit("c", 400) != nil {
		t.Error("messages that fit were refused")
	}
	if admit("d", 1) == nil {
		t.Error("one byte too many was taken")
	}
	for _, id := range []string{"b", "c"} {
		if c := all[id]; !s.answer(c) || c.Size != 0 {
			t.Error("an answered message is held")
		}
	}
	if admit("e", 5000) != nil { // by a client that has its answers before the calls are over
		t.Error("a message alone was refused")
	}
}

// broken fails as a pipe that nobody reads does.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestABrokenOutputEndsTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, w := io.Pipe()
		defer w.Close()
		served := make(chan error, 1)
		var ended atomic.Bool
		s := mcpServer(mcpTools{"wait": func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			<-ctx.Done()
			time.Sleep(time.Second) // it has to clean up
			ended.Store(true)
			return nil, ctx.Err()
		}})
		go func() { served <- ServeStdio(t.Context(), s, in, broken{}, StdioOptions{}) }()
		fmt.Fprintln(w, toolCall(1, "wait"))
		synctest.Wait()
		fmt.Fprintln(w, `{"jsonrpc":"2.0","id":2,"method":"ping"}`)
		err := <-served
		if !errors.Is(err, fault.Unavailable) || !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("ended with %v", err)
		}
		if !ended.Load() {
			t.Error("a call in flight got no time to clean up")
		}
	})
}

// asServer makes the test binary a server on its standard streams.
const asServer = "STDIO_TEST_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(asServer) == "" {
		os.Exit(m.Run())
	}
	s := mcpServer(mcpTools{"say": says("hi")})
	if err := ServeStdio(context.Background(), s, os.Stdin, os.Stdout, StdioOptions{}); err != nil {
		fmt.Fprintln(os.Stderr, "ended with", err)
		os.Exit(3)
	}
}

func TestTheProcessOutlivesItsStandardOutput(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asServer+"=1")
	cmd.Stdout = w
	var stderr strings.Builder
	cmd.Stderr = &stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	fmt.Fprintln(in, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	if _, err := r.Read(make([]byte, 1)); err != nil {
		t.Fatalf("the server does not answer: %v", err)
	}
	r.Close()
	fmt.Fprintln(in, `{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	// The input stays open: only the broken output can end the server.
	err = cmd.Wait()
	if cmd.ProcessState.ExitCode() != 3 || !strings.Contains(stderr.String(), "SYSTEM_002") {
		t.Errorf("ended with %v, saying %q", err, stderr.String())
	}
}

func TestTheErrorOfTheInputIsTold(t *testing.T) {
	fails := errors.New("a cable was pulled")
	in := io.MultiReader(strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n"), failing{fails})
	var out writes
	err := ServeStdio(t.Context(), mcpServer(nil), in, &out, StdioOptions{})
	if !errors.Is(err, fault.Unavailable) || !errors.Is(err, fails) {
		t.Errorf("ended with %v", err)
	}
	if len(out.each) != 1 {
		t.Errorf("what came before was not answered: %q", out.each)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func TestManyClientsWorthOfTrafficThroughRealPipes(t *testing.T) {
	const calls = 500
	inR, inW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s := mcpServer(mcpTools{"work": func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for i := range 3 {
			notify(ctx, "notifications/progress", map[string]any{"progressToken": r.Params.Meta.ProgressToken, "progress": i})
		}
		return mcp.NewToolResultText("done"), nil
	}})
	served := make(chan error, 1)
	go func() {
		served <- ServeStdio(t.Context(), s, inR, outW, StdioOptions{})
		outW.Close()
	}()
	c := &stdioClient{t: t, in: nil, got: make(chan heard, 1<<16)}
	go c.listen(outR)
	fmt.Fprintf(inW, stdioInitialize+"\n", `{}`)
	for id := range calls {
		fmt.Fprintln(inW, toolCall(id, "work"))
		if id%10 == 9 {
			fmt.Fprintln(inW, cancelled(id))
		}
	}
	inW.Close()
	answers, progress := map[string]int{}, map[string]int{}
	for h := range c.got {
		if h.Method != "" {
			progress[fmt.Sprint(h.Params["progressToken"])]++
			continue
		}
		answers[string(h.ID)]++
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
	for id := range calls {
		id, dropped := fmt.Sprint(id), id%10 == 9
		if answers[id] > 1 || !dropped && (answers[id] != 1 || progress[id] != 3) {
			t.Errorf("call %s: %d answers, %d notifications", id, answers[id], progress[id])
		}
	}
}
