package screen

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// tmux is another terminal, asked what it makes of the same bytes.
type tmux struct{ socket string }

func startTmux(t *testing.T) tmux {
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed")
	}
	m := tmux{socket: filepath.Join(t.TempDir(), "tmux")}
	if out, err := m.run("new-session", "-d", "-x", "80", "-y", "24", "exec sleep 600", ";", "set", "-g", "history-limit", "5000"); err != nil {
		t.Skipf("tmux does not start: %v, %s", err, out)
	}
	t.Cleanup(func() { _, _ = m.run("kill-server") })
	return m
}

func (m tmux) run(args ...string) (string, error) {
	out, err := exec.Command("tmux", append([]string{"-u", "-f", "/dev/null", "-S", m.socket}, args...)...).CombinedOutput()
	return string(out), err
}

// seen is what both are asked for.
type seen struct {
	lines     []string // the history and the screen
	cursor    string
	alternate bool
}

// show gives tmux the bytes and a title after them; when it has the title, it has them all.
func (m tmux) show(t *testing.T, size Size, text string, history bool) seen {
	file := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(file, []byte(text+"\x18\x1b]2;all\a"), 0o600); err != nil {
		t.Fatal(err)
	}
	command := fmt.Sprintf("stty raw -echo; cat %s; exec sleep 600", file)
	out, err := m.run("new-session", "-d", "-P", "-F", "#{session_id}", "-x", fmt.Sprint(size.Width), "-y", fmt.Sprint(size.Height), command, ";", "set", "status", "off")
	id := strings.TrimSpace(out)
	if err != nil {
		t.Fatal(err, out)
	}
	first := "0"
	if history {
		first = "-"
	}
	defer func() { _, _ = m.run("kill-session", "-t", id) }()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		out, err := m.run("display", "-p", "-t", id, "#{pane_title}\t#{cursor_y},#{cursor_x}\t#{alternate_on}", ";", "capture-pane", "-p", "-t", id, "-S", first)
		if rest, all := strings.CutPrefix(out, "all\t"); err == nil && all {
			head, lines, _ := strings.Cut(rest, "\n")
			cursor, alternate, _ := strings.Cut(head, "\t")
			return seen{trimmed(strings.Split(lines, "\n")), cursor, alternate == "1"}
		}
	}
	t.Fatal("tmux never came to the end")
	return seen{}
}

// trimmed is without the blank lines at the end, and without the blanks at the end of each.
func trimmed(lines []string) []string {
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

func (s *Screen) seen(history bool) seen {
	v := s.View()
	var lines []string
	if history {
		p := s.Lines(0, 5000, false)
		lines = append(lines, p.Lines[:s.history.next()-p.First]...)
	}
	lines = append(lines, v.Lines...)
	column := v.Cursor.Column
	if s.wrapNext {
		column++ // as tmux counts it
	}
	return seen{trimmed(lines), fmt.Sprintf("%d,%d", v.Cursor.Row, column), v.Alternate}
}

func (s seen) String() string {
	return fmt.Sprintf("%s\ncursor %s, alternate %t", strings.Join(s.lines, "\n"), s.cursor, s.alternate)
}

// pieces are what the streams are made of that both are to make the same of.
var pieces = []string{
	"word ", "longer text of some words. ", "日本語", "e\u0301a\u0308", "ﾊﾝ", "x", "x\x1b[%db", "\r\n", "\r\n", "\r\n", "\n", "\r", "\r\x1b[%dC", "\t", "\r\x1b[%dC\b",
	"\x1b[%d;%dH", "\x1b[%d;%dH", "\x1b[%dA", "\x1b[%dB", "\x1b[%dG", "\x1b[%dd", "\x1b[%dE", "\x1b[%dF",
	"x\x1b[J", "\x1b[1J", "w\x1b[2J", "x\x1b[K", "\x1b[1K", "\x1b[2K", "\x1b[%d@", "\x1b[%dP", "x\x1b[%dX", "\x1b[3;4H\x1b[%dL\r", "\x1b[3;4H\x1b[%dM\r",
	"\x1b[31m", "\x1b[0m", "\x1b[44m", "\x1b[1;38;5;9m", "\x1b7", "\x1b[4h", "\x1b[4l", "\x1b[4l\x1b[?7l\r\x1b[%dCmore than fits here\x1b[?7h", "\x1b7up\x1b[%d;%dH\x1b[31mdown\x1b8",
	"\x1bM", "\x1bD", "\x1bE", "\x1b[%dS", "\x1b[3g", "\x1bH", "\x1b[%dZ", "\x1b[%d`",
}

// regional are those that scroll parts of the screen. tmux keeps what scrolls out of
// any region; here it is lost unless the region begins at the top.
var regional = []string{
	"\x1b[2;5r", "\x1b[1;4r", "\x1b[3;6r", "\x1b[r", "\x1b[2;5r\x1b[?6h\x1b[%d;3Hin\x1b[?6l", "\x1b[?1049h", "\x1b[?1049l", "\x1b[%dT", "\x1b[%d;3H\n\n", "\x1b[%d;3H\x1bM\x1bM",
}

func stream(seed uint64, pieces []string) string {
	random := rand.New(rand.NewPCG(seed, 1))
	var b strings.Builder
	for range 10 + random.IntN(50) {
		piece := pieces[random.IntN(len(pieces))]
		for strings.Contains(piece, "%d") {
			piece = strings.Replace(piece, "%d", fmt.Sprint(1+random.IntN(12)), 1)
		}
		b.WriteString(piece)
	}
	return b.String()
}

func TestTmuxShowsTheSame(t *testing.T) {
	t.Parallel()
	m := startTmux(t)
	size := Size{20, 6}
	for seed := range uint64(50) {
		m.compare(t, size, stream(seed, pieces), true)
		m.compare(t, size, stream(seed, slices.Concat(pieces, regional, regional)), false)
	}
}

func (m tmux) compare(t *testing.T, size Size, text string, history bool) {
	t.Helper()
	want, got := m.show(t, size, text, history).String(), written(size, text).seen(history).String()
	if want != got {
		t.Errorf("%q\nhere:\n%s\nin tmux:\n%s", text, got, want)
	}
}

func TestTmuxShowsTheSameOfRealPrograms(t *testing.T) {
	t.Parallel()
	m := startTmux(t)
	for name, text := range recordings(t) {
		t.Run(name, func(t *testing.T) { m.compare(t, Size{80, 24}, text, name != "progress") })
	}
}
