//go:build linux || darwin

package confine_test

import (
	"context"
	"errors"
	"testing"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/mcptest"
)

func TestAScopeIsWhatTheClientWorksInAndNeverMore(t *testing.T) {
	dir := mcptest.Tree(t, "in/a.txt=a", "out/b.txt=b")
	roots, err := confine.Open([]string{dir}, confine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer roots.Close()
	asked := errors.New("the client is gone")
	tell := func(ok bool, err error, dirs ...string) func(context.Context) ([]string, bool, error) {
		return func(context.Context) ([]string, bool, error) { return dirs, ok, err }
	}
	for _, c := range []struct {
		what, name string
		scope      *confine.Scope
		want       error
	}{
		{"nobody asks the client", "out/b.txt", confine.NewScope(roots, nil), nil},
		{"the client has no directories to tell", "out/b.txt", confine.NewScope(roots, tell(false, nil)), nil},
		{"beneath the client's directory", dir + "/in/a.txt", confine.NewScope(roots, tell(true, nil, dir+"/in")), nil},
		{"beside the client's directory", dir + "/out/b.txt", confine.NewScope(roots, tell(true, nil, dir+"/in")), fault.OutsideAllowed},
		{"the client's directory is everything", "/etc/passwd", confine.NewScope(roots, tell(true, nil, "/")), fault.OutsideAllowed},
		{"the client has an empty list", dir + "/in/a.txt", confine.NewScope(roots, tell(true, nil)), fault.OutsideAllowed},
		{"the client does not answer", dir + "/in/a.txt", confine.NewScope(roots, tell(true, asked)), asked},
		{"the zero scope", dir + "/in/a.txt", &confine.Scope{}, fault.OutsideAllowed},
		{"no scope", "a.txt", nil, fault.OutsideAllowed},
	} {
		for range 2 { // the second time from memory
			if _, err := c.scope.Parse(t.Context(), c.name); !errors.Is(err, c.want) {
				t.Errorf("%s: %v, want %v", c.what, err, c.want)
			}
		}
	}
}
