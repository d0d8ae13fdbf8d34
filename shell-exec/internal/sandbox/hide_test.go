package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/multiollama/mcp-server/shared/fault"
)

// Where nothing is covered, a grant around what is to be hidden is refused, however it is spelled.
func TestNoGrantOpensWhatIsHidden(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(os.MkdirAll(at("home/state/servers/audit"), 0o700), os.MkdirAll(at("work"), 0o700), os.Symlink(at("home"), at("link"))); err != nil {
		t.Fatal(err)
	}
	hide := []string{at("home/state/servers")}
	for _, c := range []struct {
		what    string
		rules   Rules
		refused bool
	}{
		{"elsewhere", Rules{Read: []string{at("work")}, Write: []string{at("work")}, Temp: at("work"), Hide: hide}, false},
		{"a name that begins alike", Rules{Write: []string{at("home/state/servers-cache")}, Hide: hide}, false},
		{"a sibling", Rules{Write: []string{at("home/other")}, Hide: hide}, false},
		{"nothing to hide", Rules{Write: []string{at("home")}}, false},
		{"writing around it", Rules{Write: []string{at("work"), at("home")}, Hide: hide}, true},
		{"reading around it", Rules{Read: []string{at("home/state")}, Hide: hide}, true},
		{"it", Rules{Read: []string{at("home/state/servers")}, Hide: hide}, true},
		{"a part of it", Rules{Write: []string{at("home/state/servers/audit")}, Hide: hide}, true},
		{"a temporary directory around it", Rules{Temp: at("home"), Hide: hide}, true},
		{"everything", Rules{Read: []string{"/"}, Hide: hide}, true},
		{"by a link", Rules{Write: []string{at("link")}, Hide: hide}, true},
		{"hidden by a link", Rules{Write: []string{at("home")}, Hide: []string{at("link/state/servers")}}, true},
		{"before it is there", Rules{Write: []string{at("link")}, Hide: []string{at("home/later/servers")}}, true},
		{"with a dot", Rules{Write: []string{at("work") + "/../home/."}, Hide: hide}, true},
		{"outside of the sandbox, as a person agreed", Rules{Write: []string{at("home")}, Hide: hide, UnsafeUnrestricted: true}, false},
	} {
		command := Command{Path: "/bin/true", Args: []string{"true"}, Dir: dir, Rules: c.rules}
		if err := command.check(false); c.refused != errors.Is(err, fault.Forbidden) || !c.refused && err != nil {
			t.Errorf("%s: %v", c.what, err)
		}
		if err := command.check(true); err != nil {
			t.Errorf("%s, where it is covered: %v", c.what, err)
		}
	}
}
