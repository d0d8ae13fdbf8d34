package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shared/mcptest"
	"github.com/multiollama/mcp-server/shared/restrict"
)

func TestARestrictedServerReadsAndSearchesOverHTTP(t *testing.T) {
	if !restrict.Probe().Holds() {
		t.Skip("this kernel cannot restrict a process wholly; doctor says what it lacks")
	}
	const token = "0123456789abcdef0123456789abcdef"
	dir, elsewhere := mcptest.Tree(t, "a.txt=hello\n"), mcptest.Tree(t)
	tokens := filepath.Join(elsewhere, "tokens")
	if err := os.WriteFile(tokens, []byte("ci "+token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	url, _ := mcptest.Listening(t, exec.Command(binary(t), "--allow-path", dir, "--restrict", "required", "--audit-log", filepath.Join(elsewhere, "audit.jsonl"),
		"--transport", "http", "--listen", "127.0.0.1:0", "--token-file", tokens))
	for call, want := range map[string]string{
		`"file_read","arguments":{"path":"a.txt"}`:                                        `"content":"hello\n"`,
		`"search_content_in_files","arguments":{"search_path":".","regex_pattern":"h.l"}`: `a.txt:1:hello`,
		`"file_read","arguments":{"path":"` + tokens + `"}`:                               `SECURITY_002`,
		`"list_directory","arguments":{"dir_path":"."}`:                                   `a.txt`,
	} {
		status, body := mcptest.Post(t, url, token, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":`+call+`}}`)
		if status != 200 || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s", call, status, body)
		}
	}
	if status, _ := mcptest.Post(t, url, strings.Repeat("f", 32), `{}`); status != 401 {
		t.Errorf("a wrong token is answered with %d", status)
	}
}
