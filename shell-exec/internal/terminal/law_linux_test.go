package terminal

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mvdan.cc/sh/v3/syntax"

	"github.com/multiollama/mcp-server/shared/fault"
)

// whole says whether a text is whole commands, as a judge does.
func whole(text string) bool {
	_, err := syntax.NewParser().Parse(strings.NewReader(text+"\n"), "")
	return !syntax.IsIncomplete(err)
}

// strict is a judge that allows what is known, and remembers it.
type strict struct{ known, refused []string }

func (j *strict) judge(p Pending) (bool, error) {
	if p.Unknown && p.Completes {
		j.refused = append(j.refused, p.Text)
		return false, fault.New(fault.Forbidden, "nobody knows what this would run", "")
	}
	j.known = append(j.known, strings.Split(p.Text, "\n")...)
	return whole(p.Text), nil
}

// piece is one of the pieces of input that together reach the corners of a line editor.
func piece(r *rand.Rand, n int) string {
	word := fmt.Sprintf("w%d", n)
	pieces := []string{
		word, word, ": " + word, ": " + word + "\r", ": " + word + "\r", "\r", "\n", " ", "\x7f", "\x7f\x7f", "\x08", "\x15", "\x17", "\x03", "\x03",
		"\t", "\x1b[A", "\x1b[D", "\x1b[C", "\x12", "\x10", "\x0e", "\x16", "\x16\r", "\x19", "\x1a", "\x0c", "\x0f", "\x04", "\x14", "\x01", "\x05", "\x0b", "\x1f", "\x1d", "\x18\x15",
		"\x1b", "\x1bb", "\x1bd", "\x1b#", "é", "日本語", "\u200d", "'", "\"", "\\", "\\\r", "for i in 1; do\r", "done\r", "cat <<E\r", "E\r", "(", ")\r", "read x\r",
		": " + word + " a-b\x17c\r", ": " + word + " b c\x17d\r", "sleep 0.1\r", "sleep 0.05; : " + word + "\r", "cat\r", "cat\r\x04", ": a\r: " + word + "\r",
		"\x1b[200~: " + word + "\r: p\x1b[201~", "\x1b[200~", "\x1b[201~", "\x00", "\x11", "\x13\x11", "\x1c",
	}
	return pieces[r.IntN(len(pieces))]
}

// TestWhatBashRunsWasJudged types at a real bash, and compares what it wrote into its history with what the judge was asked.
func TestWhatBashRunsWasJudged(t *testing.T) {
	for seed := range uint64(2) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			law(t, rand.New(rand.NewPCG(seed, 1)), 80)
		})
	}
}

func law(t *testing.T, r *rand.Rand, inputs int) {
	w := newWorld(t)
	q := w.request("bash", "--noprofile", "--norc", "+H", "+O", "cmdhist", "-i")
	history := filepath.Join(w.dir, "history")
	q.Command.Env = append(q.Command.Env, "HISTFILE="+history, "HISTSIZE=100000", "PROMPT_COMMAND=history -a", "IGNOREEOF=100000", "HISTCONTROL=")
	i, err := w.Create(t.Context(), q)
	must(t, err)
	w.until(i.ID, WaitFor{Pattern: "ready> $", Since: Start})
	var asked strict
	var sent []string
	for n := range inputs {
		var text string
		for range 1 + r.IntN(3) {
			text += piece(r, n)
		}
		_, err := w.Send(t.Context(), Input{ID: i.ID, RawBytes: true, Text: fmt.Sprintf("%x", text), Judge: asked.judge})
		if err != nil {
			is(t, err, fault.Forbidden)
			text = "(refused) " + text
			w.send(Input{ID: i.ID, Keys: []string{"Ctrl+C", "Ctrl+C", "Ctrl+C"}})
		}
		sent = append(sent, text)
		if r.IntN(4) == 0 {
			w.until(i.ID, WaitFor{Quiet: 30 * time.Millisecond})
		}
	}
	// What still runs ends, and bash writes the last of its history.
	w.send(Input{ID: i.ID, Keys: []string{"Ctrl+C", "Ctrl+C"}})
	w.until(i.ID, WaitFor{Quiet: 200 * time.Millisecond})
	ran, err := os.ReadFile(history)
	must(t, err)
	lines := strings.Split(strings.TrimSuffix(string(ran), "\n"), "\n")
	strange := slices.DeleteFunc(slices.Clone(lines), func(l string) bool { return slices.Contains(asked.known, l) })
	t.Logf("bash ran %d lines; %d inputs of %d were refused", len(lines), len(asked.refused), inputs)
	if len(lines) < inputs/10 || len(strange) > 0 {
		t.Errorf("bash ran %q, which nobody judged\nafter %q", strange, sent)
	}
}
