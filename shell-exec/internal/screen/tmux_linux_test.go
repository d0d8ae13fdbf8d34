package screen

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
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
	pid, err := m.run("display", "-p", "#{pid}")
	if err != nil {
		t.Fatal(err, pid)
	}
	t.Cleanup(func() { m.end(t, strings.TrimSpace(pid)) })
	return m
}

// end comes back when the server is gone, and with it what ran in it.
func (m tmux) end(t *testing.T, pid string) {
	_, _ = m.run("kill-server")
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat("/proc/" + pid); err != nil {
			return
		}
	}
	t.Error("tmux is still there:", pid)
}

func (m tmux) run(args ...string) (string, error) {
	out, err := exec.Command("tmux", append([]string{"-u", "-f", "/dev/null", "-S", m.socket}, args...)...).CombinedOutput()
	return string(out), err
}

// start gives tmux the bytes and a title after them.
func (m tmux) start(t *testing.T, size Size, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(file, []byte(text+"\x18\x1b]2;all\a"), 0o600); err != nil {
		t.Fatal(err)
	}
	id, err := m.run("new-session", "-d", "-P", "-F", "#{session_id}", "-x", strconv.Itoa(size.Width), "-y", strconv.Itoa(size.Height),
		"stty raw -echo; cat "+file+"; exec sleep 600", ";", "set", "status", "off")
	if err != nil {
		t.Fatal(err, id)
	}
	return strings.TrimSpace(id)
}

// shows waits for the title, since all the rest was taken before it.
func (m tmux) shows(t *testing.T, id string, history bool) seen {
	t.Helper()
	first := "0"
	if history {
		first = "-"
	}
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
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

// pieces are what the streams are made of. What they avoid, since tmux 3.3 differs:
//   - Moving left from a full row: tmux counts from a column after the last one, and
//     xterm and this screen from the last.
//   - Erasing that begins or ends within a wide character: tmux leaves the half.
//   - Inserting and deleting rows: tmux leaves the cursor in its column and does it
//     outside of the scroll region too; xterm does neither.
//   - Margins set while rows count from the region: tmux goes to the first row of the
//     screen, DEC and xterm to that of the region.
//   - Leaving the alternate screen while it is not shown: tmux and xterm restore the
//     cursor, and here nothing happens.
//   - Saving the cursor: tmux has one place for both screens.
//   - Clearing a screen that is blank: tmux keeps one blank line.
//   - Skin tones, which tmux does not combine; families, whose last member it loses;
//     bytes that are not UTF-8, which it does not show at all.
//   - CHT, which tmux does not know; line drawing, which capture-pane shows as letters.
var pieces = []string{
	"word ", "longer text of some words. ", "日本語", "e\u0301a\u0308", "ﾊﾝ", "x", "x\x1b[%db", "\r\n", "\r\n", "\r\n", "\n", "\r", "\r\x1b[%dC", "\t", "\r\x1b[%dC\b",
	"\x1b[%d;%dH", "\x1b[%d;%dH", "\x1b[%dA", "\x1b[%dB", "\x1b[%dG", "\x1b[%dd", "\x1b[%dE", "\x1b[%dF",
	"x\x1b[J", "\x1b[1J", "w\x1b[2J", "x\x1b[K", "\x1b[1K", "\x1b[2K", "\x1b[%d@", "\x1b[%dP", "\r12345\r\x1b[3X", "\x1b[3;4H\x1b[%dL\r", "\x1b[3;4H\x1b[%dM\r",
	"\x1b[31m", "\x1b[0m", "\x1b[44m", "\x1b[1;38;5;9m", "\x1b7", "\x1b[4h", "\x1b[4l", "\x1b[4l\x1b[?7l\r\x1b[%dCmore than fits here\x1b[?7h", "\x1b7up\x1b[%d;%dH\x1b[31mdown\x1b8",
	"\x1bM", "\x1bD", "\x1bE", "\x1b[%dS", "\x1b[3g", "\x1bH", "\x1b[%dZ", "\x1b[%d`",
}

// regional are those that scroll parts of the screen. tmux keeps what scrolls out of
// any region; here it is lost unless the region begins at the top.
var regional = []string{
	"\x1b[2;5r", "\x1b[1;4r", "\x1b[3;6r", "\x1b[r", "\x1b[2;5r\x1b[?6h\x1b[%d;3Hin\x1b[?6l", "\x1b[?1049h", "\x1b[?1049hfull\x1b[%d;3Hscreen\x1b[?1049l", "\x1b[%dT", "\x1b[%d;3H\n\n", "\x1b[%d;3H\x1bM\x1bM",
}

func stream(seed uint64, pieces []string) string {
	random := rand.New(rand.NewPCG(seed, 2))
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

type comparison struct {
	size    Size
	text    string
	history bool // what scrolled away is compared too
}

func (m tmux) compare(t *testing.T, cases []comparison) {
	ids := make([]string, len(cases))
	for i, c := range cases {
		ids[i] = m.start(t, c.size, c.text)
	}
	for i, c := range cases {
		want, got := m.shows(t, ids[i], c.history).String(), written(c.size, c.text).seen(c.history).String()
		if want != got {
			t.Errorf("%q\nhere:\n%s\nin tmux:\n%s", c.text, got, want)
		}
	}
}

const streams = 8

func TestTmuxShowsTheSame(t *testing.T) {
	t.Parallel()
	var cases []comparison
	for seed := range uint64(streams) {
		cases = append(cases,
			comparison{Size{20, 6}, stream(seed, pieces), true},
			comparison{Size{20, 6}, stream(seed, slices.Concat(pieces, regional, regional)), false})
	}
	startTmux(t).compare(t, cases)
}

func TestTmuxShowsTheSameOfRealPrograms(t *testing.T) {
	t.Parallel()
	var cases []comparison
	for _, text := range recordings(t) {
		cases = append(cases, comparison{Size{80, 24}, text, true})
	}
	startTmux(t).compare(t, cases)
}
