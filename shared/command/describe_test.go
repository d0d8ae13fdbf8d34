package command_test

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestAProgramIsDescribedForPackages(t *testing.T) {
	var got struct {
		Name, Title, Doc, Version string
		Commands                  []struct{ Use, Short, Flags string }
		Flags                     []struct{ Name, Default, Variable string }
	}
	must(t, json.Unmarshal([]byte(newFixture(t).must(t, 0, "describe").out), &got))
	last := got.Flags[len(got.Flags)-1]
	if got.Name != "fake-server" || got.Version != "1.2.3" || got.Doc != "It greets." || last.Name != "greetings" || last.Default != "3" || last.Variable != "MCP_FAKE_SERVER_GREETINGS" {
		t.Errorf("got %+v", got)
	}
	var uses []string
	for _, c := range got.Commands {
		uses = append(uses, c.Use)
		if c.Use == "fake-server audit tail" && !strings.Contains(c.Flags, "-n, --lines int") {
			t.Errorf("audit tail has the flags\n%s", c.Flags)
		}
	}
	contains(t, "the commands", strings.Join(uses, "\n"), "fake-server call TOOL [KEY=VALUE …]", "fake-server audit verify")
	if strings.Contains(strings.Join(uses, "\n"), "describe") {
		t.Errorf("a hidden command is described: %q", uses)
	}
}
