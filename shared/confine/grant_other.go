//go:build !linux

package confine

import (
	"os"

	"github.com/multiollama/mcp-server/shared/fault"
)

// hold only remembers the name: what holds commands here takes names.
func hold(name, real string) (*Grant, error) {
	if _, err := os.Lstat(real); err != nil {
		return nil, err
	}
	return &Grant{name: name, real: real}, nil
}

func (one *root) grant(mechanism) (*Grant, error) { return hold(one.name, one.real) }

// Check refuses a grant whose name leads nowhere, or through a link, by now.
func (g *Grant) Check() error {
	if g == nil || g.real == "" {
		return fault.New(fault.Internal, "a grant was never opened", "")
	}
	if real, err := withoutLinks(g.real, nil); err != nil || real != g.real {
		return fault.New(fault.OutsideAllowed, shown(g.name)+" was moved, removed or replaced since it was allowed",
			"Put it back, or ask the person who runs this server to restart it").With("path", g.name).Because(err)
	}
	return nil
}
