package audit_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/multiollama/mcp-server/shared/audit"
)

func TestNothingInTheFileSteersATerminal(t *testing.T) {
	var all strings.Builder
	for r := rune(1); r <= unicode.MaxRune; r++ {
		if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			all.WriteRune(r)
		}
	}
	hostile := all.String()
	if !strings.ContainsAny(hostile, "\u009b\u202e\u2066\u200b\ufeff\u2028\x7f\U000e0001") {
		t.Fatal("the test lacks what it is about")
	}
	file := filepath.Join(t.TempDir(), "audit.jsonl")
	l, err := audit.Open(file, audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	long := strings.Repeat("\u202e\u009b", 20_000)
	for _, e := range []audit.Event{
		{Tool: "x", Arguments: audit.MaskArguments(json.RawMessage(text("\u202e"+hostile[:200])), nil)},
		{Tool: "x" + hostile, Client: hostile, Paths: []string{hostile, "\x9b31m"}, Cause: hostile, Rule: hostile},
		{Tool: "x", Arguments: json.RawMessage("[\"\x9b31m\"]")},
		{Tool: long, Client: long, Server: long, Session: long, Cause: long, Rule: long, Paths: []string{long, long}, Code: long},
		{Tool: "größe 日本 🙂", Paths: []string{"/w/größe"}},
	} {
		record(t, l, e)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range string(raw) {
		if r == utf8.RuneError || r != '\n' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			t.Fatalf("%U stands at %d as it is", r, i)
		}
	}
	if !strings.Contains(string(raw), "größe 日本 🙂") {
		t.Error("what is shown was escaped")
	}
	result, err := audit.Verify(file)
	if err != nil || !result.OK() || result.Events != 5 {
		t.Errorf("%+v, %v", result, err)
	}
	n := 0
	for e, err := range audit.Query(file, audit.Filter{}) {
		if n++; err != nil || n == 2 && (e.Client != hostile || e.Cause != hostile) {
			t.Errorf("event %d comes back as %q, %v", n, e.Client, err)
		}
	}
}
