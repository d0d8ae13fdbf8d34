package mcptest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
)

// Sections checks the generated parts of a document: what stands between
//
//	<!-- begin: NAME --> and <!-- end: NAME -->
//
// for each name. With -update the document is rewritten instead.
func Sections(t testing.TB, document string, bodies map[string]string) {
	t.Helper()
	b, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	for name, body := range bodies {
		if text, err = section(text, name, body); err != nil {
			t.Fatalf("%s: %v", document, err)
		}
	}
	switch {
	case text == string(b):
	case !*update:
		t.Errorf("%s is not what the code says (go test -update rewrites it)", document)
	default:
		if err := rewrite(document, text); err != nil {
			t.Fatal(err)
		}
	}
}

// section is text with body in the part called name.
func section(text, name, body string) (string, error) {
	begin, end := fmt.Sprintf("<!-- begin: %s -->\n", name), fmt.Sprintf("<!-- end: %s -->", name)
	before, rest, ok := strings.Cut(text, begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		return "", fmt.Errorf("there is no section %q", name)
	}
	return before + begin + body + end + after, nil
}

// ToolList checks the tool list of a server that runs: it is the golden one, and not
// longer than max bytes, for it is paid for in every conversation.
func (c *Client) ToolList(golden string, max int) {
	c.t.Helper()
	list := c.Result("tools/list", map[string]any{})
	var short bytes.Buffer
	if err := json.Compact(&short, list); err != nil {
		c.t.Fatal(err)
	}
	if n := short.Len(); n > max {
		c.t.Errorf("the tool list has %d bytes, more than %d", n, max)
	}
	Golden(c.t, golden, Indent(list))
}
