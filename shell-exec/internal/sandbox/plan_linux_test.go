package sandbox

import (
	"os"
	"testing"
	"time"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/mcptest"
	"github.com/multiollama/mcp-server/shared/restrict"
)

// TestAPlanIsKeptWhileEveryNameLeadsWhereItDid installs a tool, replaces it and lets
// time pass: each time the rules are made again, and else they are not.
func TestAPlanIsKeptWhileEveryNameLeadsWhereItDid(t *testing.T) {
	s := &Sandbox{machine: machine{landlock: restrict.LandlockABI()}, home: t.TempDir()}
	if s.machine.landlock == 0 {
		t.Skip("SKIPPED: no Landlock here")
	}
	home, rules := s.home, Rules{Write: []*confine.Grant{mcptest.Grant(t.TempDir())}}
	tool := home + "/.cargo/bin"
	last, err := s.plan(rules)
	must(t, err)
	for _, step := range []struct {
		what string
		do   func(p *plan)
		same bool
	}{
		{"nothing happened", func(*plan) {}, true},
		{"some seconds passed", func(p *plan) { p.looked = p.looked.Add(-maxUnseen) }, true},
		{"a tool was installed a moment ago", func(*plan) { must(t, os.MkdirAll(tool, 0o755)) }, true},
		{"it was installed some seconds ago", func(p *plan) { p.looked = p.looked.Add(-maxUnseen) }, false},
		{"it was replaced", func(p *plan) {
			must(t, os.Rename(tool, home+"/old"))
			must(t, os.Mkdir(tool, 0o755))
			p.looked = p.looked.Add(-maxUnseen)
		}, false},
		{"it was removed", func(p *plan) { must(t, os.Remove(tool)); p.looked = p.looked.Add(-maxUnseen) }, false},
		{"much time passed", func(p *plan) { p.looked, p.made = time.Now().Add(-maxUnseen), time.Now().Add(-maxAge) }, false},
	} {
		step.do(last)
		now, err := s.plan(rules)
		must(t, err)
		if (now == last) != step.same {
			t.Errorf("%s: made anew is %v", step.what, now != last)
		}
		last = now
	}
}
