package mcptest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Rule is one thing that a part of the source may not import or do. Test files are
// outside every rule.
type Rule struct {
	Files   string   // the files: globs relative to the module's root, a space between them
	Except  []string // base names of files the rule is not about
	Never   []string // import paths; "x/..." is x and everything under it
	Deep    bool     // nor may anything that the packages of these files import, at any depth
	Alone   bool     // nor may it start goroutines
	Because string   // why, as a sentence for the person who broke the rule
}

// Imports checks the rules over the module that the test is in. A rule that matches no file fails: it guards nothing.
func Imports(t testing.TB, rules ...Rule) {
	t.Helper()
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rules {
		broken, err := r.broken(root)
		if err != nil {
			t.Errorf("%s: %v", r.Files, err)
		}
		for _, b := range broken {
			t.Errorf("%s: %s", b, r.Because)
		}
	}
}

// moduleRoot is the folder of the go.mod above the working directory.
func moduleRoot() (string, error) {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", err
	}
	file := strings.TrimSpace(string(out))
	if !filepath.IsAbs(file) {
		return "", errors.New("not inside a module")
	}
	return filepath.Dir(file), nil
}

// broken are the ways in which the module at root breaks the rule.
func (r Rule) broken(root string) ([]string, error) {
	files, err := r.files(root)
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, errors.New("it matches no file, so it guards nothing")
	}
	if r.Deep {
		return r.reached(root, files)
	}
	var all []string
	for _, file := range files {
		found, err := r.inFile(file)
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			rel, _ := filepath.Rel(root, file)
			all = append(all, filepath.ToSlash(rel)+" "+f)
		}
	}
	return all, nil
}

func (r Rule) files(root string) ([]string, error) {
	var files []string
	for _, glob := range strings.Fields(r.Files) {
		found, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(glob)))
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	return slices.DeleteFunc(files, func(file string) bool {
		name := filepath.Base(file)
		return !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || slices.Contains(r.Except, name)
	}), nil
}

// inFile looks at one file alone, whatever platform it is for.
func (r Rule) inFile(file string) ([]string, error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, spec := range parsed.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		if banned(r.Never, path) {
			found = append(found, "imports "+path)
		}
	}
	if r.Alone && startsGoroutine(parsed) {
		found = append(found, "starts a goroutine")
	}
	return found, nil
}

func startsGoroutine(file *ast.File) bool {
	started := false
	ast.Inspect(file, func(n ast.Node) bool {
		_, isGo := n.(*ast.GoStmt)
		started = started || isGo
		return !started
	})
	return started
}

func banned(never []string, path string) bool {
	return slices.ContainsFunc(never, func(ban string) bool {
		if above, ok := strings.CutSuffix(ban, "/..."); ok {
			return path == above || strings.HasPrefix(path, above+"/")
		}
		return path == ban
	})
}

// reached follows imports from the packages of files, on this platform, and
// tells the shortest way to each banned package.
func (r Rule) reached(root string, files []string) ([]string, error) {
	graph, start, err := importGraph(root, folders(root, files))
	if err != nil {
		return nil, err
	}
	from := map[string]string{}
	for _, pkg := range start {
		from[pkg] = ""
	}
	var found []string
	for queue := slices.Clone(start); len(queue) > 0; queue = queue[1:] {
		pkg := queue[0]
		if banned(r.Never, pkg) {
			found = append(found, way(from, pkg))
			continue
		}
		for _, next := range graph[pkg] {
			if _, seen := from[next]; !seen {
				from[next] = pkg
				queue = append(queue, next)
			}
		}
	}
	return found, nil
}

// folders are the package patterns of the files' folders.
func folders(root string, files []string) []string {
	var all []string
	for _, file := range files {
		rel, _ := filepath.Rel(root, filepath.Dir(file))
		all = append(all, "./"+filepath.ToSlash(rel))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// way is the chain of imports that led to pkg.
func way(from map[string]string, pkg string) string {
	chain := pkg
	for pkg = from[pkg]; pkg != ""; pkg = from[pkg] {
		chain = pkg + " imports " + chain
	}
	return chain
}

// importGraph asks the go command what imports what, below the patterns. start
// are the packages that the patterns name themselves.
func importGraph(root string, patterns []string) (graph map[string][]string, start []string, err error) {
	cmd := exec.Command("go", append([]string{"list", "-deps", "-json=ImportPath,Imports,DepOnly"}, patterns...)...)
	cmd.Dir = root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, nil, fmt.Errorf("go list: %w: %s", err, stderr.String())
	}
	graph = map[string][]string{}
	for packages := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath string
			Imports    []string
			DepOnly    bool
		}
		switch err := packages.Decode(&p); {
		case err == io.EOF:
			return graph, start, nil
		case err != nil:
			return nil, nil, err
		}
		graph[p.ImportPath] = p.Imports
		if !p.DepOnly {
			start = append(start, p.ImportPath)
		}
	}
}
