package command

import (
	"context"
	"strings"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/settings"
	"github.com/multiollama/mcp-server/shared/toolkit"
)

// OpenDirectories opens what the common flags allow. deny is globs that the server
// adds to those of --deny-path; relative refuses absolute names and any "..".
func OpenDirectories(s *settings.Set, deny []string, relative bool) (*confine.Roots, *confine.Scope, error) {
	o := confine.Options{
		Deny:         append(s.List("deny-path"), deny...),
		DenySecrets:  s.Bool("deny-secrets"),
		RelativeOnly: relative,
		HidePaths:    s.Bool("hide-paths"),
	}
	if s.Text("symlinks") == "within" {
		o.Symlinks = confine.Within
	}
	roots, err := confine.Open(s.List("allow-path"), o)
	if err != nil {
		return nil, nil, err
	}
	if s.Bool("follow-roots") {
		return roots, confine.NewScope(roots, toolkit.ClientRoots), nil
	}
	return roots, confine.NewScope(roots, nil), nil
}

// Directories are what a client may touch, for a tool that lists them.
type Directories struct {
	Directories []Directory `json:"directories"`
}

// Directory is one of them.
type Directory struct {
	Path   string `json:"path"`
	Access string `json:"access"`
}

// ListDirectories is what the client of this call may touch. access is a word: "read".
func ListDirectories(ctx context.Context, scope *confine.Scope, access string) (Directories, error) {
	roots, err := scope.Roots(ctx)
	if err != nil {
		return Directories{}, err
	}
	out := Directories{[]Directory{}}
	for _, dir := range roots.Dirs() {
		out.Directories = append(out.Directories, Directory{dir, access})
	}
	return out, nil
}

// Text is a directory a line.
func (d Directories) Text() string {
	if len(d.Directories) == 0 {
		return "[no directory is allowed]"
	}
	var b strings.Builder
	for _, dir := range d.Directories {
		b.WriteString(dir.Path + " (" + dir.Access + ")\n")
	}
	return b.String()
}
