package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/multiollama/mcp-server/file-write/internal/history"
	"github.com/multiollama/mcp-server/shared/mcptest"
	"github.com/multiollama/mcp-server/shared/replace"
)

// What is measured is told; the bounds are generous, for they are to catch what grows,
// not what is slow.
const (
	largeMax = 1536 // MB resident, whatever one call writes
	smallMax = 64   // MB resident, however many small writes there were
)

// stream is a server and a client that never holds a message: the test binary has the
// race detector, under which every copy of 100 MiB takes seconds.
type stream struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

func (h house) stream() stream {
	h.t.Helper()
	s := stream{t: h.t, cmd: exec.Command(released(h.t), "--allow-path", h.dir, "--history", h.history, "--audit-log", h.record)}
	var err error
	s.in, err = s.cmd.StdinPipe()
	must(h.t, err)
	out, err := s.cmd.StdoutPipe()
	must(h.t, err)
	s.out = bufio.NewScanner(out)
	must(h.t, s.cmd.Start())
	h.t.Cleanup(func() {
		if err := errors.Join(s.in.Close(), s.cmd.Wait()); err != nil {
			h.t.Errorf("the server ended with %v", err)
		}
	})
	s.ask(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`)
	return s
}

// answer is what of an answer is looked at.
type answer struct {
	Error  *mcptest.Error
	Result struct {
		IsError           bool
		StructuredContent struct {
			SHA256  string
			Written int64 `json:"bytesWritten"`
			Error   struct{ Code string }
		}
	}
}

// ask sends a message in parts, text being quoted where it stands in one, and waits.
func (s stream) ask(parts ...any) (a answer) {
	s.t.Helper()
	for _, part := range append(parts, "\n") {
		if text, ok := part.(largeText); ok {
			must(s.t, text.write(s.in, `\n`))
			continue
		}
		_, err := fmt.Fprint(s.in, part)
		must(s.t, err)
	}
	if !s.out.Scan() {
		s.t.Fatalf("no answer: %v", s.out.Err())
	}
	must(s.t, json.Unmarshal(s.out.Bytes(), &a))
	return a
}

func (s stream) call(tool string, arguments ...any) answer {
	s.t.Helper()
	parts := append([]any{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":`}, arguments...)
	return s.ask(append(parts, "}}")...)
}

// largeText is lines around a middle, and as many bytes before them as make it just as
// large as may be written.
type largeText struct{ line, middle string }

func (l largeText) write(w io.Writer, end string) error {
	block := strings.Repeat(strings.Repeat(l.line, 1000/len(l.line))+end, 64)
	plain := len(strings.ReplaceAll(block, `\n`, "\n"))
	blocks := replace.MaxBytes/2/plain - 1
	room := replace.MaxBytes - 2*blocks*plain - len(l.middle)
	_, err := io.WriteString(w, strings.Repeat("x", room))
	for i := 0; err == nil && i < 2*blocks; i++ {
		if i == blocks {
			_, err = io.WriteString(w, l.middle)
		}
		if err == nil {
			_, err = io.WriteString(w, block)
		}
	}
	return err
}

func (l largeText) sha256() string {
	h := sha256.New()
	_ = l.write(h, "\n") // a hash takes all
	return hex.EncodeToString(h.Sum(nil))
}

func TestTheLargestContentIsWrittenAndOneByteMoreIsNot(t *testing.T) {
	if testing.Short() {
		t.Skip("sends 600 MB through a pipe; not with -short")
	}
	h := newHouse(t, roomy(t))
	server := h.stream()
	first, second, edited := largeText{"é", "the middle"}, largeText{"a", "the middle"}, largeText{"a", "THE MIDDLE"}
	for _, c := range []struct {
		what, tool string
		arguments  []any
		want       largeText
	}{
		{"create", "file_write", []any{`{"path":"f","content":"`, first, `"}`}, first},
		{"overwrite", "file_write", []any{`{"path":"f","overwrite":true,"content":"`, second, `"}`}, second},
		{"edit", "edit_file", []any{`{"path":"f","old_string":"the middle","new_string":"THE MIDDLE"}`}, edited},
	} {
		a := server.call(c.tool, c.arguments...)
		out := a.Result.StructuredContent
		if want := c.want.sha256(); a.Result.IsError || out.SHA256 != want || h.sha256("f") != want {
			t.Fatalf("%s: %+v; the file is %s, want %s", c.what, a, h.sha256("f"), want)
		}
		if c.tool == "file_write" && out.Written != replace.MaxBytes {
			t.Errorf("%s: %d bytes written", c.what, out.Written)
		}
		t.Logf("%s: at most %d MB resident so far", c.what, peakMB(t, server.cmd.Process.Pid))
	}
	for what, a := range map[string]answer{
		"a byte more":           server.call("file_write", `{"path":"f","overwrite":true,"content":"x`, first, `"}`),
		"a byte more, appended": server.call("file_write", `{"path":"f","append":true,"content":"x"}`),
	} {
		if a.Result.StructuredContent.Error.Code != "RESOURCE_005" {
			t.Errorf("%s: %+v", what, a)
		}
	}
	if a := server.call("file_write", `{"path":"long","content":"`, first, first, first, `"}`); a.Error == nil || a.Error.Code != -32600 {
		t.Errorf("a message longer than any: %+v", a)
	}
	if a := server.call("file_write", `{"path":"after","content":"still there"}`); a.Result.IsError || h.content("after") != "still there" || h.content("long") != "<none>" {
		t.Errorf("after a message longer than any: %+v", a)
	}
	if h.sha256("f") != edited.sha256() {
		t.Error("a refused call changed the file")
	}
	if mb := peakMB(t, server.cmd.Process.Pid); mb > largeMax {
		t.Errorf("%d MB resident, more than %d", mb, largeMax)
	}
	h.keeps(first.sha256(), second.sha256())
	h.verified()
}

// sha256 is that of a file, which is not held.
func (h house) sha256(name string) string {
	h.t.Helper()
	f, err := os.Open(h.dir + "/" + name)
	must(h.t, err)
	defer f.Close() // nothing was written through it
	sum := sha256.New()
	_, err = io.Copy(sum, f)
	must(h.t, err)
	return hex.EncodeToString(sum.Sum(nil))
}

// keeps checks what the history lists, the oldest first.
func (h house) keeps(sums ...string) {
	h.t.Helper()
	past, err := history.Open(h.history, history.Limits{}, time.Now)
	must(h.t, err)
	defer past.Close()
	all, err := past.List(history.Filter{})
	must(h.t, err)
	var have []string
	for _, c := range slices.Backward(all) {
		have = append(have, c.SHA256)
	}
	if !slices.Equal(have, sums) {
		h.t.Errorf("the history lists %v, want %v", have, sums)
	}
}

func TestManySmallWritesLeaveNothingInMemoryOrOpen(t *testing.T) {
	writes, atOnce := 10_000, 16
	if testing.Short() {
		writes = 2_000
	}
	h := newHouse(t, roomy(t))
	server := h.start()
	work := func(n int) {
		var waiting []*mcptest.Pending
		for i := range atOnce {
			waiting = append(waiting, ask(server, "file_write", map[string]any{"path": fmt.Sprintf("d%d/f", i), "content": fmt.Sprintf("write %d of file %d\n", n, i), "overwrite": true}))
		}
		for _, p := range waiting {
			if r := p.Result(); r.IsError {
				t.Fatalf("%s %s", r.Code, r.Text)
			}
		}
	}
	work(0)
	before := openFiles(t, server.PID())
	for n := range writes / atOnce {
		work(n + 1)
	}
	if after := openFiles(t, server.PID()); len(after) > len(before) {
		t.Errorf("open before:\n%s\nafter:\n%s", strings.Join(before, "\n"), strings.Join(after, "\n"))
	}
	if all := changes(t, server); len(all) != 1000 {
		t.Errorf("the history lists %d changes", len(all))
	}
	if mb := peakMB(t, server.PID()); mb > smallMax {
		t.Errorf("%d MB resident, more than %d", mb, smallMax)
	} else {
		t.Logf("%d MB resident at most, %d files open", mb, len(before))
	}
	if r := h.verified(); r.Events < 2*writes {
		t.Errorf("%d events for %d calls", r.Events, writes)
	}
	entries, err := os.ReadDir(h.dir)
	if err != nil || len(entries) != atOnce {
		t.Errorf("there are %d files, %v", len(entries), err)
	}
}
