package shown

import (
	_ "embed"
	"strings"
	"text/template"
)

// lane is one server: what it grants and never does, and what it reaches of the
// directories you allow.
type lane struct {
	Name, Grants, Never string
	Does                string
	Reaches, Besides    string
	Sandbox             bool // what it reaches runs in one
	Class               string
}

var lanes = []lane{
	{Name: "file-read", Grants: "read, list, find, search", Never: "cannot write, run or connect", Class: "read",
		Does: "reads", Reaches: "files and directories", Besides: "and nothing is changed"},
	{Name: "file-write", Grants: "create, edit, move, copy", Never: "cannot run or connect", Class: "write",
		Does: "changes", Reaches: "files, whole or not at all", Besides: "what was there is kept"},
	{Name: "shell-exec", Grants: "commands a policy has judged", Never: "nothing it starts survives it", Class: "run", Sandbox: true,
		Does: "runs", Reaches: "commands and terminals", Besides: "each in a sandbox"},
}

// refused is what no server does as it is set up by default, whoever asks.
var refused = []string{"../ and links out", "~/.ssh, ~/.aws", ".git/hooks", "rm -rf ~"}

//go:embed picture.svg.tmpl
var drawing string

// picture is docs/picture.svg: the servers, what each may touch, where that ends, and
// the log of it. It has a background of its own, so it is legible wherever it is shown.
func picture() (string, error) {
	t, err := template.New("picture").Funcs(template.FuncMap{"at": at}).Parse(drawing)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = t.Execute(&b, map[string]any{"Lanes": lanes, "Refused": refused, "Chain": make([]int, 6)})
	return b.String(), err
}

// at is where the i-th of what stands in a row lies.
func at(first, step, i int) int { return first + step*i }
