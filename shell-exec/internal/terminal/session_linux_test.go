package terminal

import (
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shared/fault"
)

func TestEveryShellTakesACommandAndShowsWhatItWrote(t *testing.T) {
	for _, kind := range []string{"bash", "sh", "zsh", "fish"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			need(t, kind)
			w := newWorld(t)
			i := w.shell(kind)
			w.enter(i.ID, `printf "made-%d\n" 42`)
			w.until(i.ID, WaitFor{Pattern: "^made-42"})
			w.enter(i.ID, "exit 7")
			w.until(i.ID, WaitFor{Exit: true})
			got, err := w.Get(i.ID)
			must(t, err)
			if got.Status != Exited || got.ExitCode != 7 {
				t.Errorf("%+v", got)
			}
			_, err = w.Send(t.Context(), Input{ID: i.ID, Text: "x"})
			is(t, err, fault.NoTerminal)
			if !strings.Contains(w.screen(i.ID), "made-42") {
				t.Error("what it showed is gone")
			}
		})
	}
}
