package mcptest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// The packages of the shared module, one rule a line, and why.
func TestPackagesImportOnlyWhatTheyMay(t *testing.T) {
	rules := []Rule{
		{Files: "fault/*.go", Never: []string{Ours + "/..."},
			Because: "fault is beneath everything, and imports nothing of ours"},
		{Files: "glob/*.go", Never: []string{"os/...", "path/filepath", "time", "sync/...", mcpGo}, Alone: true,
			Because: "a pattern is matched in memory and in linear time"},
		Pure("text/*.go"), Pure("jsonx/*.go"),
		{Files: "flock/*.go", Never: []string{"os/exec", "net/...", "io/...", "encoding/...", "path/...", "sync/...", mcpGo, logging, Shared + "/confine", Shared + "/toolkit", Shared + "/audit"}, Alone: true,
			Because: "flock locks files that others opened, and knows neither their names nor their contents"},
		{Files: "confine/*.go", Never: []string{"os/exec", "net/http", "encoding/json", mcpGo, logging, Shared + "/toolkit", Shared + "/audit", Shared + "/text"},
			Because: "confine opens names beneath the allowed directories and touches nothing else"},
		{Files: "replace/*.go", Never: []string{"os/exec", "net/...", "encoding/json", "path/filepath", mcpGo, logging, Shared + "/toolkit", Shared + "/audit", Shared + "/text", Shared + "/settings"},
			Because: "replace changes entries of directories that confine has opened, and knows no path of its own"},
		{Files: "restrict/*.go", Never: []string{"encoding/json", mcpGo, logging, Shared + "/confine", Shared + "/toolkit"},
			Because: "restrict gives up rights of the process and decides nothing"},
		{Files: "restrict/filter*.go restrict/calls*.go", Never: []string{"os/...", "net/...", "time", mcpGo, logging, Ours + "/..."},
			Because: "filters are assembled for others, who decide what they forbid"},
		{Files: "audit/*.go", Never: []string{"os/exec", "net/...", mcpGo, Shared + "/toolkit", Shared + "/confine"},
			Because: "audit writes down what it is told and knows no protocol"},
		{Files: "toolkit/*.go", Except: []string{"server.go"} /* asks for its process id */, Never: []string{"os/...", "syscall", Shared + "/confine", Shared + "/transport", Shared + "/command"},
			Because: "toolkit deals in requests and results; files and processes belong to operations"},
		{Files: "transport/rpc*.go", Never: []string{"os/...", "io/...", "net/...", "time", logging},
			Because: "the rpc files read and write messages in memory; the others carry them"},
		{Files: "transport/stdio*.go", Never: []string{"net/..."},
			Because: "the stdio files carry messages over the streams they are given"},
		{Files: "transport/*.go", Never: []string{"os/exec", Shared + "/confine", Shared + "/audit", Shared + "/toolkit"},
			Because: "transport lets messages in or refuses them; what they mean, and what becomes of them, is for the handler"},
		{Files: "telemetry/*.go", Never: []string{"os/exec", Shared + "/confine", Shared + "/audit", Shared + "/settings", Shared + "/command"},
			Because: "telemetry tells of calls what it is handed by the toolkit, and sees neither events nor files of clients"},
		{Files: "settings/*.go", Never: []string{"os/exec", "net/...", mcpGo, Shared + "/toolkit", Shared + "/confine"},
			Because: "settings turn flags, environment and file into values; using them belongs to others"},
		{Files: "fault/*.go glob/*.go text/*.go confine/*.go replace/*.go restrict/*.go flock/*.go audit/*.go settings/*.go command/*.go mcptest/*.go",
			Except:  []string{"call.go"}, // of command: it prints a result, which has mcp-go's type
			Never:   []string{mcpGo},
			Because: "only toolkit and the transports know the protocol's library"},
		Untested("fault/*.go glob/*.go text/*.go confine/*.go replace/*.go restrict/*.go flock/*.go audit/*.go settings/*.go transport/*.go toolkit/*.go telemetry/*.go command/*.go jsonx/*.go"),
	}
	Imports(t, rules...)
}

// Package confine lends descriptors of directories, with which anything can be changed
// in them, through a few methods only: to package replace, and of the allowed
// directories as a whole to the sandbox, which gives them to the kernel.
func TestDescriptorsOfDirectoriesAreLentToOnePackageEach(t *testing.T) {
	shared, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	lent := map[string][]string{
		"shared/replace":              {"OpenParent", "OpenParentOfLink", "LendDir"},
		"shell-exec/internal/sandbox": {"Lend"},
	}
	used := map[string]bool{}
	for _, file := range programFiles(t, filepath.Dir(shared)) {
		dir, path := filepath.ToSlash(filepath.Dir(file)), filepath.Join(filepath.Dir(shared), file)
		for owner, methods := range lent {
			switch {
			case dir == "shared/confine" || !uses(t, path, methods...):
			case dir == owner:
				used[owner] = true
			default:
				t.Errorf("%s takes a descriptor of a directory from confine: %q are for %s", file, methods, owner)
			}
		}
	}
	for owner := range lent {
		if !used[owner] {
			t.Errorf("%s does not use the gate: the rule guards nothing", owner)
		}
	}
}

// programFiles is every Go file of the project but tests, relative to its root.
func programFiles(t *testing.T, root string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && path != root && (name == "node_modules" || name == "testdata" || name[0] == '.'):
			return filepath.SkipDir
		case strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go"):
			rel, err := filepath.Rel(root, path)
			files = append(files, rel)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// uses says whether a file selects one of names from anything.
func uses(t *testing.T, file string, names ...string) (found bool) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			for _, name := range names {
				found = found || s.Sel.Name == name
			}
		}
		return !found
	})
	return found
}
