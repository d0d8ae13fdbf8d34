package toolkit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/multiollama/mcp-server/shared/fault"
)

// Vocabulary is a table that says under which names tools are offered. What is
// not in it cannot be called.
type Vocabulary struct {
	Name, Doc string
	Tools     []Tool
	// FailurePrefix comes before the text of a failure; "Error: " is what
	// FastMCP writes.
	FailurePrefix string

	withheld []Tool // in the table, but not granted by Narrow
}

// Toolsets are the toolsets of the table, in its order.
func (v Vocabulary) Toolsets() []string {
	var all []string
	for _, t := range v.Tools {
		if t.Toolset != "" && !slices.Contains(all, t.Toolset) {
			all = append(all, t.Toolset)
		}
	}
	return all
}

// Narrow is the vocabulary with only the named toolsets; none named leaves it
// as it is. A name the table does not have is Misconfigured.
func (v Vocabulary) Narrow(toolsets []string) (Vocabulary, error) {
	if len(toolsets) == 0 {
		return v, nil
	}
	known := v.Toolsets()
	for _, name := range toolsets {
		if !slices.Contains(known, name) {
			do := "The toolsets are " + strings.Join(known, ", ")
			if meant := nearest(name, known); meant != "" {
				do = fmt.Sprintf("Did you mean %q? %s", meant, do)
			}
			return Vocabulary{}, fault.New(fault.Misconfigured, fmt.Sprintf("vocabulary %q has no toolset %s", v.Name, quote(name)), do)
		}
	}
	narrow := v
	narrow.Tools, narrow.withheld = nil, slices.Clone(v.withheld)
	for _, t := range v.Tools {
		if slices.Contains(toolsets, t.Toolset) {
			narrow.Tools = append(narrow.Tools, t)
		} else {
			narrow.withheld = append(narrow.withheld, t)
		}
	}
	return narrow, nil
}

// find is the tool of that name.
func (v Vocabulary) find(name string) (*Tool, bool) {
	for i := range v.Tools {
		if v.Tools[i].Name == name {
			return &v.Tools[i], true
		}
	}
	return nil, false
}

// absent says why there is no tool of that name: it is not granted, or there is
// none, and which was meant.
func (v Vocabulary) absent(name string) error {
	for _, t := range v.withheld {
		if t.Name == name {
			what := fmt.Sprintf("the tool %q belongs to the toolset %q, which is not granted", name, t.Toolset)
			do := "Ask the person who runs this server to grant it, or use another tool"
			return fault.New(fault.PermissionDenied, what, do).With("toolset", t.Toolset)
		}
	}
	var known []string
	for _, t := range v.Tools {
		known = append(known, t.Name)
	}
	e := fault.New(fault.ParamInvalid, "there is no tool "+quote(name), "The tools are "+strings.Join(known, ", "))
	if meant := nearest(name, known); meant != "" {
		e.Do = fmt.Sprintf("Did you mean %q? %s", meant, e.Do)
		e = e.With("did_you_mean", meant)
	}
	return e
}
