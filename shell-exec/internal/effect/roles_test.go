package effect

import (
	"slices"
	"strings"
	"testing"
)

// The roles that call.go knows.
var known = strings.Fields(`delete delete-all write read attribute shell split directory script program hijack hijack-path code awk sed
	editor gdb make makefile expect checkpoint tail tail-cmake git-config ssh data form send connect mount unpack command package
	shell-words ignore module setting macro wrapper write-system editor-file`)

// models that only call.go asks about.
var asked = strings.Fields("command flock setarch")

func TestTheTableSaysOnlyWhatIsUnderstood(t *testing.T) {
	for name, row := range knownPrograms() {
		for _, act := range row.Acts {
			if !Kind(act.Effect).Valid() && act.Effect != "none" {
				t.Errorf("%s has the effect %q", name, act.Effect)
			}
		}
		roles := []string{row.First, row.Operands}
		for _, role := range row.Options {
			roles = append(roles, role)
		}
		for _, role := range roles {
			if role != "" && !slices.Contains(known, role) {
				t.Errorf("%s has the role %q", name, role)
			}
		}
		if row.Model != "" && models[row.Model] == nil && !slices.Contains(asked, row.Model) {
			t.Errorf("%s has the model %q", name, row.Model)
		}
		if row.Prints != "" && !slices.Contains([]string{"nothing", "word", "download", "list", "content", "passes"}, row.Prints) {
			t.Errorf("%s prints %q", name, row.Prints)
		}
	}
}
