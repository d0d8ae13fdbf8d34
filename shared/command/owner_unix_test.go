//go:build unix

package command_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAStateThatOthersCouldHavePreparedIsRefused(t *testing.T) {
	for _, c := range []struct {
		what    string
		prepare func(state string) error
		words   string // of the refusal; empty: none
	}{
		{"not there yet", os.Remove, ""},
		{"as it was made", func(string) error { return nil }, ""},
		{"readable by others", func(state string) error { return os.Chmod(state, 0o755) }, ""},
		{"with a part of its own", func(state string) error { return os.Mkdir(state+"/audit", 0o700) }, ""},
		{"writable by all", func(state string) error { return os.Chmod(state, 0o777) }, "can be written by others (mode 0777)"},
		{"writable by all, with the sticky bit", func(state string) error { return os.Chmod(state, 0o777|os.ModeSticky) }, "can be written by others"},
		{"writable by its group", func(state string) error { return os.Chmod(state, 0o770) }, "can be written by others"},
		{"a link", func(state string) error {
			return os.Rename(state, state+".real")
		}, "is a link"},
		{"another user's", func(state string) error { return os.Chown(state, 65534, -1) }, "belongs to another user"},
		{"with a part of another user's", func(state string) error {
			if err := os.Mkdir(state+"/outputs", 0o700); err != nil {
				return err
			}
			return os.Chown(state+"/outputs", 65534, -1)
		}, "outputs belongs to another user"},
		{"with a part that is a link", func(state string) error { return os.Symlink("/tmp", state+"/jobs") }, "jobs is a link"},
		{"with a part that others write", func(state string) error {
			if err := os.Mkdir(state+"/history", 0o700); err != nil {
				return err
			}
			return os.Chmod(state+"/history", 0o733)
		}, "history can be written by others"},
	} {
		t.Run(c.what, func(t *testing.T) {
			if strings.Contains(c.what, "another user's") && os.Geteuid() != 0 {
				t.Skip("only root gives a file away")
			}
			w := newFixture(t)
			state := filepath.Join(w.state, "mcp-server")
			must(t, os.MkdirAll(state, 0o700))
			must(t, c.prepare(state))
			if c.what == "a link" {
				must(t, os.Symlink(state+".real", state))
			}
			if c.words == "" {
				w.must(t, 0, "call", "greet", "name=you")
				return
			}
			contains(t, "stderr", w.must(t, 2, "call", "greet", "name=you").errors, c.words, "XDG_STATE_HOME")
		})
	}
}
