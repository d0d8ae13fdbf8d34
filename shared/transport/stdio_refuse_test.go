package transport

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"

	"github.com/mark3labs/mcp-go/mcp"
)

func TestALineThatIsNoRequestIsRefusedAndTheStreamGoesOn(t *testing.T) {
	long := strings.Repeat("x", maxID)
	for _, w := range []struct {
		what, line string
		code       int
		id         string
	}{
		{"garbage", `hello`, mcp.PARSE_ERROR, `null`},
		{"half a message", `{"jsonrpc":"2.0","id":1,"method":"ping"`, mcp.PARSE_ERROR, `null`},
		{"two messages on a line", `{"jsonrpc":"2.0","id":1,"method":"ping"}{}`, mcp.PARSE_ERROR, `null`},
		{"a NUL", "\x00", mcp.PARSE_ERROR, `null`},
		{"half a batch", `[{"jsonrpc"`, mcp.PARSE_ERROR, `null`},
		{"a batch", `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, mcp.INVALID_REQUEST, `null`},
		{"an empty batch", `[]`, mcp.INVALID_REQUEST, `null`},
		{"a number", `5`, mcp.INVALID_REQUEST, `null`},
		{"a string", `"ping"`, mcp.INVALID_REQUEST, `null`},
		{"nothing in it", `{}`, mcp.INVALID_REQUEST, `null`},
		{"null", `null`, mcp.INVALID_REQUEST, `null`},
		{"no method", `{"jsonrpc":"2.0","id":1}`, mcp.INVALID_REQUEST, `1`},
		{"a method that is a number", `{"jsonrpc":"2.0","id":1,"method":5}`, mcp.INVALID_REQUEST, `1`},
		{"a method and a result", `{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}`, mcp.INVALID_REQUEST, `1`},
		{"a null id", `{"jsonrpc":"2.0","id":null,"method":"ping"}`, mcp.INVALID_REQUEST, `null`},
		{"an id that is an object", `{"jsonrpc":"2.0","id":{},"method":"ping"}`, mcp.INVALID_REQUEST, `null`},
		{"an id that is a truth value", `{"jsonrpc":"2.0","id":true,"method":"ping"}`, mcp.INVALID_REQUEST, `null`},
		{"an id without end", `{"jsonrpc":"2.0","id":"` + long + `","method":"ping"}`, mcp.INVALID_REQUEST, `null`},
		{"another JSON-RPC", `{"jsonrpc":"1.0","id":1,"method":"ping"}`, mcp.INVALID_REQUEST, `1`},
		{"a method that is not there", `{"jsonrpc":"2.0","id":1,"method":"no/such"}`, mcp.METHOD_NOT_FOUND, `1`},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := dial(t, mcpServer(nil), StdioOptions{})
			c.send(w.line)
			h := c.next()
			if h.Error == nil || h.Error.Code != w.code || string(h.ID) != w.id {
				t.Errorf("%s: %v", w.what, h)
			}
			if before := c.ping(); len(before) > 0 {
				t.Errorf("%s: answered twice: %v", w.what, before)
			}
		})
	}
}

func TestWhatNeedsNoAnswerGetsNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := dial(t, mcpServer(nil), StdioOptions{})
		c.send("", "   ", "\r",
			`{"jsonrpc":"2.0","id":77,"result":{}}`,
			`{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":"m"}}`,
			`{"jsonrpc":"2.0","method":"notifications/unknown"}`,
			cancelled(5), cancelled(`null`), `{"jsonrpc":"2.0","method":"notifications/cancelled","params":[]}`)
		if before := c.ping(); len(before) > 0 {
			t.Errorf("answered: %v", before)
		}
	})
}

func TestALineBeyondTheLimitIsAnsweredAndSkipped(t *testing.T) {
	const limit = 100_000
	pad := strings.Repeat("x", 3*limit)
	for _, w := range []struct{ what, line, id string }{
		{"with the id in front", `{"jsonrpc":"2.0","id":5,"method":"x","params":{"a":"` + pad + `"}}`, `5`},
		{"with the id at the end, as some clients write it", `{"method":"x","params":{"a":"` + pad + `","id":6},"jsonrpc":"2.0","id":"seven"}`, `"seven"`},
		{"without an id", `{"jsonrpc":"2.0","method":"x","params":{"id":6,"a":"` + pad + `"}}`, `null`},
		{"with the id of something in its params only", `{"jsonrpc":"2.0","method":"x","params":{"a":"` + pad + `","id":6}}`, `null`},
		{"of garbage", pad, `null`},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := dial(t, mcpServer(nil), StdioOptions{MaxLine: limit})
			c.send(w.line)
			h := c.next()
			if h.Error == nil || h.Error.Code != mcp.INVALID_REQUEST || string(h.ID) != w.id || !strings.Contains(text(h), "100000 bytes") {
				t.Errorf("%s: %v", w.what, h)
			}
			c.ping()
		})
	}
}

func TestTheLimitIsExact(t *testing.T) {
	for _, limit := range []int{100, 64 << 10, 100_000} { // less than the buffer, as much, more
		for size, fits := range map[int]bool{limit - 2: true, limit - 1: true, limit: false, limit + 1: false} {
			l := newLines(strings.NewReader(strings.Repeat("x", size)+"\nnext\n"), limit)
			line, err := l.next()
			if _, tooLong := err.(*oversize); tooLong == fits || fits && len(line) != size {
				t.Errorf("%d bytes of %d: %d bytes and %v", size, limit, len(line), err)
			}
			if next, err := l.next(); string(next) != "next" {
				t.Errorf("after %d bytes of %d: %q and %v", size, limit, next, err)
			}
		}
	}
}

func TestLinesComeOutAsTheyWentIn(t *testing.T) {
	long := strings.Repeat("long ", 50_000)
	stream := "\ufeffone\r\n\n  two  \n" + long + "\n\r\nlast"
	for what, in := range map[string]io.Reader{
		"at once":       strings.NewReader(stream),
		"byte by byte":  iotest.OneByteReader(strings.NewReader(stream)),
		"in halves":     iotest.HalfReader(strings.NewReader(stream)),
		"error with it": iotest.DataErrReader(strings.NewReader(stream)),
	} {
		l := newLines(in, 1<<20)
		var got []string
		for {
			line, err := l.next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, string(line))
		}
		want := []string{"one", "two", strings.TrimSpace(long), "last"}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %.200q", what, got)
		}
	}
}

func FuzzLine(f *testing.F) {
	for _, s := range []string{`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `[]`, `[`, `{"id":"\ud800"}`, `{"params":{"_meta":{}}}`, `5`, `{"ID":1,"Method":"x"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		line, err := newLines(bytes.NewReader(in), 1<<16).next()
		if err != nil {
			return
		}
		m, no := parse(line)
		if no == nil && !json.Valid(line) {
			t.Errorf("%q is no JSON and passed", line)
		}
		if no == nil && m.Method == "" && m.Result == nil && m.Fault == nil {
			t.Errorf("%q is no message and passed", line)
		}
		id := m.ID
		if no != nil {
			id = no.ID
		}
		if out := new(encoder).encode(internalError(), id); bytes.Count(out, []byte("\n")) != 1 || !json.Valid(out) {
			t.Errorf("id %q makes %q", id, out)
		}
	})
}

func TestAnIDIsFoundInAnyMessageThatIsTooLong(t *testing.T) {
	for _, id := range []string{`1`, `-7`, `"a"`, `"with space"`} {
		for _, line := range []string{
			`{"jsonrpc":"2.0","id":%s,"method":"x","params":{"a":"b"}}`,
			`{ "id" : %s , "params":{"a":"b"}}`,
		} {
			if got := idAtStart(fmt.Appendf(nil, line, id)); string(got) != id {
				t.Errorf("%s with %s: %s", line, id, got)
			}
		}
		if got := idAtEnd(fmt.Appendf(nil, `{"params":{"a":"b"} , "id" : %s }`+"\r\n", id)); string(got) != id {
			t.Errorf("at the end, %s: %s", id, got)
		}
	}
	for _, line := range []string{`{"params":{"a":1,"id":6}}`, `{"a":",\"id\":\"6"}`, `"id":6}`, ``} {
		if got := idAtEnd([]byte(line)); got != nil {
			t.Errorf("%s: %s", line, got)
		}
	}
}

// writes counts what each Write carries.
type writes struct{ each []string }

func (w *writes) Write(p []byte) (int, error) {
	w.each = append(w.each, string(p))
	return len(p), nil
}

func TestEveryMessageIsOneWrite(t *testing.T) {
	s := mcpServer(mcpTools{"say": says(strings.Repeat("<a&b>\n\u2028", 50_000)), "work": func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for range 3 {
			notify(ctx, "notifications/progress", map[string]any{"progressToken": 1, "progress": 1, "message": "a\nb"})
		}
		return mcp.NewToolResultText("done"), nil
	}})
	var out writes
	in := strings.Join([]string{fmt.Sprintf(stdioInitialize, `{}`), toolCall(1, "say"), toolCall(2, "work"), "garbage"}, "\n")
	if err := ServeStdio(t.Context(), s, strings.NewReader(in), &out, StdioOptions{}); err != nil {
		t.Fatal(err)
	}
	if len(out.each) != 7 {
		t.Errorf("%d writes for 7 messages", len(out.each))
	}
	for _, w := range out.each {
		if !strings.HasSuffix(w, "}\n") || strings.Count(w, "\n") != 1 {
			t.Errorf("not a message and its line's end: %.100q", w)
		}
	}
}
