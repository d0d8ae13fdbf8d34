package sandbox

import (
	"errors"
	"strings"
	"testing"
)

func TestTheReportAdvisesWhatHelpsOnThisKernel(t *testing.T) {
	for _, c := range []struct {
		landlock, level int
		why             error
		part, fix, not  string
	}{
		{0, 1, nil, "read", "with Landlock enabled", "6.2"},
		{0, 2, nil, "write", "with Landlock enabled", "6.2"},
		{0, 2, nil, "processes", "with Landlock enabled", "--sandbox-level"},
		{2, 1, nil, "write", "Linux 6.2", "5.13"},
		{2, 1, nil, "processes", "--sandbox-level 2", "user namespaces"},
		{2, 2, nil, "processes", "Linux 6.12", "--sandbox-level"},
		{2, 1, errors.New("no namespaces"), "processes", "Allow user namespaces", "--sandbox-level"},
		{2, 1, nil, "kill", "--sandbox-level 2", "user namespaces"},
		{0, 1, errors.New("no namespaces"), "kill", "Allow user namespaces", "--sandbox-level"},
	} {
		s := &Sandbox{mode: Auto, level: c.level, why: c.why, machine: machine{landlock: c.landlock}}
		report := append(s.promised(map[string]outcome{"processes": {escaped: "signalling"}}, nil), s.killPart(nil))
		for _, part := range report {
			if part.Name == c.part && (part.Holds || !strings.Contains(part.Fix, c.fix) || strings.Contains(part.Fix, c.not)) {
				t.Errorf("Landlock ABI %d at level %d (%v): %+v", c.landlock, c.level, c.why, part)
			}
		}
	}
}
