package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// environment has one variable.
func environment(name string) (string, bool) {
	return "/data", name == "DATA"
}

func TestEveryFormOfConfigurationIsRead(t *testing.T) {
	home, _ := os.UserHomeDir()
	folder, _ := os.Getwd()
	tests := []struct {
		name, text string
		want       []server
	}{
		{"a list keeps its order", `{"servers": [{"name": "b", "command": "x", "args": ["/allowed/path"]}, {"name": "a", "command": "y"}]}`,
			[]server{{Name: "b", Command: "x", Args: []string{"/allowed/path"}}, {Name: "a", Command: "y"}}},
		{"an object is sorted by name", `{"mcpServers": {"b": {"command": "x", "env": {"K": "V"}}, "a": {"command": "y"}}}`,
			[]server{{Name: "a", Command: "y"}, {Name: "b", Command: "x", Env: map[string]string{"K": "V"}}}},
		{"VS Code's form, with what only VS Code knows", `{"servers": {"a": {"type": "stdio", "command": "y", "envFile": "z"}}, "inputs": []}`,
			[]server{{Name: "a", Type: "stdio", Command: "y"}}},
		{"a disabled server is left out", `{"mcpServers": {"a": {"command": "y", "disabled": true}}}`, []server{}},
		{"variables have their values", `{"servers": [{"name": "a", "command": "${DATA}/y", "cwd": "${env:DATA}", "args": ["${NONE:-a b}", "${workspaceFolder}", "${userHome}", "$DATA"], "env": {"K": "${DATA}"}}]}`,
			[]server{{Name: "a", Command: "/data/y", Dir: "/data", Args: []string{"a b", folder, home, "$DATA"}, Env: map[string]string{"K": "/data"}}}},
		{"a default may be empty", `{"servers": [{"name": "a", "command": "y", "args": ["${NONE:-}"]}]}`, []server{{Name: "a", Command: "y", Args: []string{""}}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := readConfig(write(t, tt.text), environment)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestABrokenConfigurationIsRefused(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"nothing at all", ``, "unexpected end"},
		{"not JSON", `servers: []`, "invalid character"},
		{"no servers", `{"server": []}`, `neither "servers" nor "mcpServers"`},
		{"two forms at once", `{"servers": [], "mcpServers": {}}`, "keep one"},
		{"a number for servers", `{"servers": 7}`, "cannot unmarshal"},
		{"no name", `{"servers": [{"command": "x"}]}`, "server 1 has no name"},
		{"the same name twice", `{"servers": [{"name": "a", "command": "x"}, {"name": "a", "command": "y"}]}`, `two servers are named "a"`},
		{"no command", `{"servers": [{"name": "a"}]}`, `"a" has no command`},
		{"another transport", `{"mcpServers": {"a": {"type": "http", "url": "x"}}}`, "not on stdio"},
		{"a variable without a value", `{"servers": [{"name": "a", "command": "x", "args": ["--allow-path", "${NONE}"]}]}`, "${NONE} has no value here"},
		{"a variable without a value in the environment", `{"servers": [{"name": "a", "command": "x", "env": {"K": "${env:NONE}"}}]}`, "${NONE} has no value here"},
		{"what a person would have to type in", `{"servers": {"a": {"command": "x", "args": ["${input:key}"]}}}`, "${input:key} has no value here"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := readConfig(write(t, tt.text), environment)
			if !errors.Is(err, errConfig) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("the error is %v, without %q", err, tt.want)
			}
		})
	}
}

func write(t *testing.T, text string) string {
	file := filepath.Join(t.TempDir(), "mcp-config.json")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
