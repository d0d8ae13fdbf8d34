package restrict

import (
	"errors"
	"testing"

	"github.com/multiollama/mcp-server/shared/fault"
)

func TestAReportHoldsOnlyAsAWhole(t *testing.T) {
	for _, w := range []struct {
		what string
		r    Report
		want bool
	}{
		{"nothing was promised", nil, false},
		{"everything is kept", Report{{Holds: true}, {Holds: true}}, true},
		{"one promise is broken", Report{{Holds: true}, {Holds: false}}, false},
	} {
		if w.r.Holds() != w.want {
			t.Errorf("%s: %v", w.what, w.r.Holds())
		}
	}
}

func TestAPathThatIsNotThereIsRefusedBeforeAnythingIsGivenUp(t *testing.T) {
	for _, r := range []Rules{{Read: []string{"/no/such/path"}}, {Write: []string{"/no/such/path"}}, {Read: []string{""}}, {Write: []string{"relative/missing"}}} {
		if report, err := Self(r); !errors.Is(err, fault.Misconfigured) || report != nil {
			t.Errorf("%+v: %v %v", r, report, err)
		}
	}
}

func TestProbeSpeaksOfEveryPart(t *testing.T) {
	names := map[string]bool{}
	for _, part := range Probe() {
		names[part.Name] = true
		if part.Why == "" || part.Holds == (part.Fix != "") {
			t.Errorf("%+v", part)
		}
	}
	for _, name := range []string{"read", "write", "run", "network", "attributes", "kernel"} {
		if !names[name] {
			t.Errorf("nothing about %q", name)
		}
	}
}
