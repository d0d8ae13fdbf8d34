package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/mcptest"
)

// TestWhatCommandsPutInTheWayOfMountsLeadsNowhere lets a command, which shares its /tmp with the
// next one, put something where the mounts of that have to be.
func TestWhatCommandsPutInTheWayOfMountsLeadsNowhere(t *testing.T) {
	if level() != 2 {
		t.Skip("at level 2 only")
	}
	for _, script := range []string{
		`mv "$TOP" /tmp/old && ln -s /dev/shm/planted "$TOP"`,
		`mv "$TOP/deep" "$TOP/old" && ln -s /dev/shm/planted "$TOP/deep"`,
		`mv "$TOP/deep" "$TOP/old" && ln -s ../../dev/shm/planted "$TOP/deep"`,
		`mv "$TOP" /tmp/old && ln -s gone "$TOP"`,
		`mv "$TOP" /tmp/old && echo x >"$TOP"`,
		`mv "$TOP" /tmp/old && mkfifo "$TOP"`,
		`mv "$TOP" /tmp/old && mkdir -p "$TOP/deep/work" "$TOP/deep/single/x"`,
		`mv "$TOP" /tmp/old && mkdir -p "$TOP/deep" && ln -s /dev/shm/planted "$TOP/deep/work" && ln -s /dev/shm/planted/file "$TOP/deep/single"`,
		`chmod 0 "$TOP"`,
	} {
		w := newFixture(t)
		top, err := os.MkdirTemp("/tmp", "w")
		must(t, err)
		defer os.RemoveAll(top)
		work, single := top+"/deep/work", top+"/deep/single"
		must(t, os.MkdirAll(work, 0o755))
		must(t, os.WriteFile(work+"/file", []byte("inside"), 0o644))
		must(t, os.WriteFile(single, []byte("single"), 0o644))
		s := newBox(t, w.Home)
		c := w.shell("mkdir /dev/shm/planted && " + script)
		c.Env = append(c.Env, "TOP="+top)
		c.Dir, c.Rules = work, Rules{Write: []*confine.Grant{mcptest.Grant(work)}, Read: []*confine.Grant{mcptest.Grant(single)}, Temp: mcptest.Grant(w.Temp)}
		if got := run(t, s, c); !got.ok() {
			t.Fatalf("%s: %+v", script, got)
		}
		c.Rules.Network = true // other rules, and so other mounts, with the same /tmp
		c.Args[2] = `test ! -L "$TOP" && test ! -L "$TOP/deep" && cat "$TOP/deep/work/file" "$TOP/deep/single" && ls -A /dev/shm/planted`
		if got := run(t, s, c); !got.ok() || got.out != "insidesingle" {
			t.Errorf("%s: %+v", script, got)
		}
	}
}

// TestWhatIsHiddenStaysWhereItIs lets a command move the directories away in which something is
// hidden or kept: what it puts there instead would be taken for that, and what it moved be seen later.
func TestWhatIsHiddenStaysWhereItIs(t *testing.T) {
	if level() != 2 {
		t.Skip("at level 2 only")
	}
	for _, script := range []string{
		"mv .local away", "mv .local/state away", "mv .local/state .local/away", "mv .local/state/hidden away",
		"mkdir other && mv --exchange --no-copy -T other .local || mv -T other .local", "rm -rf .local", "rmdir .local/state/hidden",
		"mv .local/cache away", "mv .local/cache/kept away",
		"cat .local/state/hidden/key", "ls .local/state/hidden/. | grep key", "echo x >.local/state/hidden/key",
	} {
		w := newFixture(t)
		hidden, kept := w.Work+"/.local/state/hidden", w.Work+"/.local/cache/kept"
		must(t, os.MkdirAll(hidden, 0o755))
		must(t, os.MkdirAll(kept, 0o755))
		must(t, os.WriteFile(hidden+"/key", []byte("secret"), 0o644))
		s := newBox(t, w.Home)
		c := w.shell(script)
		c.Rules.Hide = []*confine.Grant{mcptest.Grant(hidden)}
		c.Rules.Write = append(c.Rules.Write, mcptest.Grant(kept))
		if got := run(t, s, c); got.ok() || strings.Contains(got.out, "secret") {
			t.Errorf("%s: %+v", script, got)
		}
		for _, dir := range []string{hidden + "/key", kept} {
			if _, err := os.Stat(dir); err != nil {
				t.Errorf("%s: %v", script, err)
			}
		}
		c.Args[2] = "echo x >new && mv new .local/new && mkdir .local/state/beside && echo x >.local/cache/kept/new"
		if got := run(t, s, c); !got.ok() {
			t.Errorf("after %s nothing else works: %+v", script, got)
		}
		if _, err := os.Stat(filepath.Join(w.Work, ".local/new")); err != nil {
			t.Error(err)
		}
	}
}
