package mcptest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

const call = `> {"id":1,"method":"tools/call","params":{"name":"NAME","arguments":{"at":"$ROOT"}}}` + "\n"

func calls(tool string) string { return strings.ReplaceAll(call, "NAME", tool) }

// told plays a session in a session of its own.
func told(t *testing.T, wire string, varying ...Varying) (string, error) {
	t.Helper()
	story := txtar.Parse([]byte("-- wire --\n$ fake\n" + wire))
	err := tell(t.TempDir(), story, varying)
	return string(story.Files[0].Data), err
}

func TestAStorySaysWhatCameInPlaceOfWhatItSaid(t *testing.T) {
	number := Varying{Name: "N", In: regexp.MustCompile(`"id":(\d+)`)}
	for _, w := range []struct {
		name, wire, want string
		varying          []Varying
	}{
		{"an answer", calls("echo") + "^D\n",
			calls("echo") + "^D\n" + `< {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"{\"at\":\"$ROOT\"}"}],"structuredContent":{"at":"$ROOT"}}}` + "\n", nil},
		{"what stood there is gone, words stay", "# Hello.\n> 1 2\n< old\n\n# Bye.\n^D\n",
			"# Hello.\n> 1 2\n" + `< {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"not JSON"}}` + "\n\n# Bye.\n^D\n", nil},
		{"a question is the client's turn", calls("ask") + "\n> {\"id\":\"q1\",\"result\":{}}\n^D\n",
			calls("ask") + `< {"jsonrpc":"2.0","id":"q1","method":"roots/list"}` + "\n\n> {\"id\":\"q1\",\"result\":{}}\n^D\n" +
				`< {"jsonrpc":"2.0","id":1,"result":{"content":[]}}` + "\n" +
				`< {"jsonrpc":"2.0","method":"notifications/told","params":{"result":{},"error":false}}` + "\n", nil},
		{"what is cancelled next is not waited for", calls("never") + "\n> {\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}\n^D\n",
			calls("never") + "\n> {\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}\n^D\n" +
				`< {"jsonrpc":"2.0","method":"notifications/seen","params":{"requestId":1}}` + "\n", nil},
		{"what varies has a name, and a second value another", "> {\"id\":77,\"method\":\"x\"}\n\n> {\"id\":88,\"method\":\"y\"}\n^D\n",
			"> {\"id\":77,\"method\":\"x\"}\n" + `< {"jsonrpc":"2.0","id":$N,"error":{"code":-32601,"message":"no such method"}}` + "\n\n" +
				"> {\"id\":88,\"method\":\"y\"}\n^D\n" + `< {"jsonrpc":"2.0","id":$N2,"error":{"code":-32601,"message":"no such method"}}` + "\n", []Varying{number}},
	} {
		t.Run(w.name, func(t *testing.T) {
			got, err := told(t, w.wire, w.varying...)
			if want := "$ fake\n" + w.want; err != nil || got != want {
				t.Errorf("%v\n%s\nwant\n%s", err, got, want)
			}
		})
	}
}

func TestAStoryThatCannotBeToldIsAnError(t *testing.T) {
	for what, w := range map[string]struct{ wire, because string }{
		"a server that dies":             {calls("die"), "out of cheese"},
		"a server that babbles":          {calls("babble"), "Listening on port 80"},
		"a session that is left open":    {calls("echo"), "does not end with ^D"},
		"a message behind the last word": {"^D\n\n" + calls("echo"), "closed"},
	} {
		if _, err := told(t, w.wire); err == nil || !strings.Contains(err.Error(), w.because) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := tell(t.TempDir(), txtar.Parse([]byte("-- a.txt --\n")), nil); err == nil {
		t.Error("a story without a session is told")
	}
	if err := tell(t.TempDir(), txtar.Parse([]byte("-- wire --\nfake\n")), nil); err == nil {
		t.Error("a session without a command is told")
	}
}

func TestAFileOfAStoryMayStandForMany(t *testing.T) {
	dir := t.TempDir()
	if err := plantAll(dir, txtar.File{Name: "many/{1..3}.txt", Data: []byte("hay\n")}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"1", "2", "3"} {
		if got, err := os.ReadFile(filepath.Join(dir, "many", name+".txt")); string(got) != "hay\n" {
			t.Errorf("%s: %q %v", name, got, err)
		}
	}
}
