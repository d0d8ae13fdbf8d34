package terminal

import (
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shared/fault"
)

// atPrompt is the end of what each of the shells writes when it waits.
const atPrompt = `[#$%>] $`

func TestEveryShellTakesACommandAndShowsWhatItWrote(t *testing.T) {
	for _, kind := range []string{"bash", "sh", "zsh", "fish"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			need(t, kind)
			w := newFixture(t)
			i := w.shell(kind)
			w.enter(i.ID, `printf "made-%d\n" 42`)
			w.until(i.ID, WaitFor{Pattern: "^made-42"})
			w.until(i.ID, WaitFor{Pattern: atPrompt})
			w.send(Input{ID: i.ID, Text: "never run"})
			w.until(i.ID, WaitFor{Pattern: "never run"})
			w.send(Input{ID: i.ID, Keys: []string{"Ctrl+C"}})
			w.until(i.ID, WaitFor{Pattern: atPrompt})
			var no refuse
			_, err := w.Send(t.Context(), Input{ID: i.ID, Text: "ls", Execute: true, Judge: no.judge})
			is(t, err, fault.DangerousCommand)
			if p := no.asked[0]; p.Text != "ls" || p.Unknown || !p.Shell {
				t.Errorf("%+v", p)
			}
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

func TestATextIsPastedWholeWhereTheShellTakesIt(t *testing.T) {
	for _, kind := range []string{"bash", "zsh"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			need(t, kind)
			w := newFixture(t)
			id := w.shell(kind).ID
			s, err := w.find(id)
			must(t, err)
			if !eventually(func() bool { return s.screen.View().Modes.BracketedPaste }) {
				t.Fatal("the shell wants no pastes")
			}
			var no refuse
			w.send(Input{ID: id, Text: "printf 'a%s\\n' 1\nprintf 'b%s\\n' 2", Paste: true, Judge: no.judge})
			w.until(id, WaitFor{Pattern: "printf 'b"})
			_, err = w.Send(t.Context(), Input{ID: id, Keys: []string{"Enter"}, Judge: no.judge})
			is(t, err, fault.DangerousCommand)
			if p := no.asked[0]; p.Text != "printf 'a%s\\n' 1\nprintf 'b%s\\n' 2" || p.Unknown {
				t.Errorf("%+v", p)
			}
			w.send(Input{ID: id, Keys: []string{"Enter"}})
			w.until(id, WaitFor{Pattern: "^b2$"})
		})
	}
}

func TestShellsThatAreNotKnownAreRefused(t *testing.T) {
	for _, kind := range []string{"", "cmd", "powershell", "/bin/bash"} {
		_, err := ShellCommand(kind)
		is(t, err, fault.ParamInvalid)
	}
}
