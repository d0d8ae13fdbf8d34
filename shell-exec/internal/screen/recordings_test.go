package screen

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// recordings are what real programs wrote to an xterm of 80 columns and 24 rows.
func recordings(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("testdata/recordings/*")
	if err != nil || len(files) == 0 {
		t.Fatal("no recordings", err)
	}
	all := make(map[string]string)
	for _, file := range files {
		p, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(file)] = string(p)
	}
	return all
}

// Where there is no tmux, this holds the screen to what it showed where there is one.
// A file that is missing is written: look at it, and see that tmux shows the same.
func TestRealProgramsShowWhatTheyShowed(t *testing.T) {
	for name, text := range recordings(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := written(Size{80, 24}, text).seen(true).String() + "\n"
			golden := filepath.Join("testdata", "shown", name+".txt")
			want, err := os.ReadFile(golden)
			if errors.Is(err, fs.ErrNotExist) {
				err = errors.Join(os.WriteFile(golden, []byte(got), 0o600), errors.New(golden+" is new"))
			}
			if err != nil {
				t.Fatal(err)
			}
			if strings.ReplaceAll(string(want), "\r\n", "\n") != got {
				t.Errorf("shows\n%s\nnot\n%s", got, want)
			}
		})
	}
}

// seen is what both are asked for.
type seen struct {
	lines     []string // the history and the screen
	cursor    string
	alternate bool
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
