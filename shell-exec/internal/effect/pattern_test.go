package effect

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

// What is compiled late would also fail late.
func TestEveryLatePatternIsARegularExpression(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		seen += tried(t, file)
	}
	if seen < 30 {
		t.Errorf("only %d were found", seen)
	}
}

// tried compiles what a file calls late with, and counts it.
func tried(t *testing.T, file *ast.File) (seen int) {
	t.Helper()
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if name, ok := call.Fun.(*ast.Ident); !ok || name.Name != "late" {
			return true
		}
		seen++
		if _, err := regexp.Compile(joined(t, call.Args[0])); err != nil {
			t.Error(err)
		}
		return true
	})
	return seen
}

// joined is the text of a literal, or of several with a + between them.
func joined(t *testing.T, e ast.Expr) string {
	t.Helper()
	if sum, ok := e.(*ast.BinaryExpr); ok {
		return joined(t, sum.X) + joined(t, sum.Y)
	}
	text, err := strconv.Unquote(e.(*ast.BasicLit).Value)
	if err != nil {
		t.Error(err)
	}
	return text
}
