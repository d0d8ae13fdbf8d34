package terminal

import (
	"errors"
	"fmt"
	"io/fs"
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

func (j *strict) judge(p Pending) (Verdict, error) {
	if p.Unknown && p.Completes || p.Ends && !whole(p.Text) {
		j.refused = append(j.refused, p.Text)
		return Verdict{}, fault.New(fault.Forbidden, "nobody knows what this would run", "")
	}
	complete, err := p.Each(func(text string) (bool, error) {
		if !whole(text) {
			return false, nil
		}
		j.known = append(j.known, strings.Split(text, "\n")...)
		return true, nil
	})
	// What is still unfinished is not run; bash has its lines in the history all the same, if ^C ends it.
	lines := strings.Split(p.Text, "\n")
	for i := range lines {
		if tail := lines[i:]; !slices.ContainsFunc(ends(tail), whole) {
			j.known = append(j.known, tail...)
			break
		}
	}
	return Verdict{Complete: complete}, err
}

// ends are the texts that begin with the first line.
func ends(lines []string) (texts []string) {
	for i := range lines {
		texts = append(texts, strings.Join(lines[:i+1], "\n"))
	}
	return texts
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

// TestWhatAShellRunsWasJudged types at a real shell, and compares what it wrote into its history with what the judge was
// asked.
func TestWhatAShellRunsWasJudged(t *testing.T) {
	for seed, argv := range [][]string{
		{"bash", "--noprofile", "--norc", "+H", "+O", "cmdhist", "-i"},
		{"zsh", "-f", "-o", "INC_APPEND_HISTORY", "-o", "NO_BANG_HIST", "-o", "IGNORE_EOF", "-i"},
	} {
		t.Run(argv[0], func(t *testing.T) {
			t.Parallel()
			property(t, rand.New(rand.NewPCG(uint64(seed), 1)), 80, argv...)
		})
	}
}

// ran is the lines of a history. That of zsh hides some bytes behind another one, and marks some lines with a backslash.
func ran(t *testing.T, file string, zsh bool) []string {
	t.Helper()
	history, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // it begins with the first line
		t.Fatal(err)
	}
	if zsh {
		var plain []byte
		for i := 0; i < len(history); i++ {
			if history[i] == 0x83 && i+1 < len(history) {
				i++
				plain = append(plain, history[i]^0x20)
				continue
			}
			plain = append(plain, history[i])
		}
		history = plain
	}
	lines := strings.Split(strings.TrimSuffix(string(history), "\n"), "\n")
	for i, l := range lines {
		if zsh {
			lines[i] = strings.TrimSuffix(strings.TrimPrefix(l, "\\"), "\\")
		}
	}
	return lines
}

func property(t *testing.T, r *rand.Rand, inputs int, argv ...string) {
	w := newFixture(t)
	q := w.request(argv...)
	history := filepath.Join(w.dir, "history")
	q.Command.Env = slices.DeleteFunc(q.Command.Env, func(e string) bool { return e == "HISTFILE=" })
	q.Command.Env = append(q.Command.Env, "HISTFILE="+history, "HISTSIZE=100000", "PROMPT_COMMAND=history -a", "IGNOREEOF=100000", "HISTCONTROL=", "SAVEHIST=100000")
	i, err := w.Create(t.Context(), q)
	must(t, err)
	w.until(i.ID, WaitFor{Pattern: "ready> $", Since: Start})
	zsh, few := argv[0] == "zsh", inputs/20
	var asked strict
	var sent []string
	for n := 0; n < inputs || n < 10*inputs && len(ran(t, history, zsh)) < few; n++ {
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
	lines := ran(t, history, zsh)
	strange := slices.DeleteFunc(slices.Clone(lines), func(l string) bool {
		return slices.ContainsFunc(asked.known, func(k string) bool { return k == l || zsh && strings.Trim(k, "\\ ") == strings.Trim(l, "\\ ") })
	})
	t.Logf("it ran %d lines; %d inputs of %d were refused", len(lines), len(asked.refused), len(sent))
	if len(lines) < few {
		t.Errorf("it ran too little to prove anything: %q", lines)
	}
	if len(strange) > 0 {
		t.Errorf("it ran %q, which nobody judged\nafter %q", strange, sent)
	}
}
