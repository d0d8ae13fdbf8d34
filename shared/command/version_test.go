package command_test

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"
)

func TestVersion(t *testing.T) {
	w := newFixture(t)
	want := "fake-server 1.2.3 (" + runtime.Version() + ", " + runtime.GOOS + "/" + runtime.GOARCH + ")\n"
	if got := w.must(t, 0, "version").out; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	contains(t, "--version", w.must(t, 0, "--version").out, "1.2.3")
	var got map[string]string
	if err := json.Unmarshal([]byte(w.must(t, 0, "version", "--json").out), &got); err != nil {
		t.Fatal(err)
	}
	if got["name"] != "fake-server" || got["version"] != "1.2.3" || got["go"] != runtime.Version() {
		t.Errorf("got %v", got)
	}
	w.program.Version = ""
	if strings.HasPrefix(w.must(t, 0, "version").out, "fake-server  ") {
		t.Error("a build without a version says nothing")
	}
}

func TestVersionNeedsNoGoodSettings(t *testing.T) {
	w := newFixture(t)
	w.environ = append(w.environ, "MCP_FAKE_SERVER_NONSENSE=1")
	w.must(t, 0, "version")
}
