package mcptest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// A module with one of each sin.
const sinful = `
-- go.mod --
module example.com/m

go 1.26
-- main.go --
package main

import _ "example.com/m/inner"

func main() {}
-- inner/inner.go --
package inner

import (
	_ "encoding/json"
	_ "os/exec"
)

func run() { go run() }
-- inner/inner_windows.go --
package inner

import _ "os"
-- inner/inner_test.go --
package inner

import _ "net/http"
`

func TestARuleFindsWhoBreaksIt(t *testing.T) {
	root := unpack(t, sinful)
	tests := []struct {
		name string
		rule Rule
		want string
	}{
		{"an import that is banned", Rule{Files: "inner/*.go", Never: []string{"os/exec"}}, "inner/inner.go imports os/exec"},
		{"everything beneath a path, and the path itself, on every platform", Rule{Files: "inner/*.go", Never: []string{"os/..."}}, "inner/inner.go imports os/exec\ninner/inner_windows.go imports os"},
		{"a name that only starts alike is another", Rule{Files: "inner/*.go", Never: []string{"o/...", "encoding", "os/exe"}}, ""},
		{"test files are outside", Rule{Files: "inner/*.go", Never: []string{"net/..."}}, ""},
		{"so is a file that is excepted", Rule{Files: "inner/*.go", Except: []string{"inner.go"}, Never: []string{"os/exec"}}, ""},
		{"a goroutine", Rule{Files: "inner/*.go", Alone: true}, "inner/inner.go starts a goroutine"},
		{"main itself imports nothing bad", Rule{Files: "*.go", Never: []string{"os/exec"}}, ""},
		{"but reaches it", Rule{Files: "*.go", Deep: true, Never: []string{"os/exec"}}, "example.com/m imports example.com/m/inner imports os/exec"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.rule.broken(root)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Join(got, "\n") != tt.want {
				t.Errorf("found %q, not %q", got, tt.want)
			}
		})
	}
}

func TestARuleThatGuardsNothingFails(t *testing.T) {
	root := unpack(t, sinful)
	for _, r := range []Rule{{Files: "gone/*.go"}, {Files: "*.go", Except: []string{"main.go"}}, {Files: "["}} {
		if _, err := r.broken(root); err == nil {
			t.Errorf("%+v passes", r)
		}
	}
}

func TestTheReasonIsTold(t *testing.T) {
	rule := Rule{Files: "mcptest/*.go", Never: []string{"testing"}, Because: "it is a reason"}
	if said := failures(func(t testing.TB) { Imports(t, rule) }); !strings.Contains(said, "mcptest/mcptest.go imports testing: it is a reason") {
		t.Errorf("said %q", said)
	}
}

func unpack(t *testing.T, archive string) string {
	root := t.TempDir()
	for _, f := range txtar.Parse([]byte(archive)).Files {
		file := filepath.Join(root, f.Name)
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, f.Data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("GOWORK", "off")
	return root
}
