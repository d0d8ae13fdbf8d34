package shown

import (
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shared/mcptest"
)

// pages are the documents whose commands are run, each in a fixture of its own, in order:
//
//   - of a block ```console every line that begins with $, with what stands below it for
//     what it prints: … is anything within a line, and a line of it any lines
//   - a block ```sh as a whole, which has to succeed
//   - what stands in <!-- run: … -->, unseen
//
// A block after <!-- not run: why --> is not run.
var pages = []string{
	"../../README.md", "../../docs/getting-started.md", "../../docs/security-model.md", "../../docs/audit.md", "../../docs/policy.md",
	"../../docs/fleet.md", "../../docs/http.md", "../../docs/migrating-from-filesystem.md", "../../docs/migrating-from-mcp-shell-server.md",
	"../deploy/README.md",
}

func TestEveryCommandOfThePagesDoesWhatItSays(t *testing.T) {
	for _, page := range pages {
		t.Run(page[strings.LastIndexByte(page, '/')+1:], func(t *testing.T) {
			t.Parallel()
			text := read(t, page)
			steps, err := stepsOf(text)
			if err != nil {
				t.Fatal(err)
			}
			w := newFixture(t)
			var now strings.Builder // the page with what is printed now
			for _, s := range steps {
				got, err := w.do(s.command)
				switch {
				case !s.exact && err != nil:
					t.Errorf("line %d: %v\n%s", s.line, err, got)
				case s.exact && !alike(s.want, got):
					before, after, _ := strings.Cut(text, s.shown(s.want))
					now.WriteString(before + s.shown(got))
					text = after
				}
			}
			now.WriteString(text)
			mcptest.Golden(t, page, now.String())
		})
	}
}

// step is one command of a page, what it prints according to it, and whether that counts.
type step struct {
	line    int
	command string
	want    string
	exact   bool
}

// shown is the step as the page has it.
func (s step) shown(output string) string { return "$ " + s.command + "\n" + output }

var opening = regexp.MustCompile("^(?:```(console|sh)|<!-- (run|not run): ?(.*))$")

// stepsOf reads a page.
func stepsOf(page string) ([]step, error) {
	var steps []step
	var block []string
	kind, begin, skip := "", 0, false
	for i, line := range strings.Split(page, "\n") {
		switch m := opening.FindStringSubmatch(line); {
		case kind != "" && (line == "```" || line == "-->"):
			if !skip {
				steps = append(steps, stepsIn(kind, block, begin)...)
			}
			kind, block, skip = "", nil, false
		case kind != "":
			block = append(block, line)
		case m == nil:
		case m[2] == "not run":
			skip = true
		default:
			kind, begin = m[1]+m[2], i+2
		}
	}
	if kind != "" {
		return nil, fmt.Errorf("the block in line %d has no end", begin)
	}
	return steps, nil
}

// stepsIn are those of one block.
func stepsIn(kind string, block []string, begin int) []step {
	if kind != "console" {
		return []step{{line: begin, command: "set -e\n" + strings.Join(block, "\n")}}
	}
	var steps []step
	for i, line := range block {
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			steps = append(steps, step{line: begin + i, command: command, exact: true})
		} else if n := len(steps); n > 0 {
			steps[n-1].want += line + "\n"
		}
	}
	return steps
}

// do runs a command line as somebody types it at home, and is what the screen shows.
func (w fixture) do(line string) (string, error) {
	cmd := exec.Command("sh", "-uc", line)
	cmd.Env, cmd.Dir = w.environ(), w.home
	out, err := cmd.CombinedOutput()
	return ever(w.shown(string(out))), err
}

// passing is what is another at every run.
var passing = regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:.]+Z|\b[0-9a-f]{64}\b|\b\d+\.\d+ms\b|\d{8}T\d{6}Z|"(pid|duration_ms)":[\d.]+|"request_id":"\w+"`)

// ever is text without what is another at every run.
func ever(text string) string {
	return passing.ReplaceAllStringFunc(text, func(s string) string {
		switch {
		case strings.HasSuffix(s, "ms"):
			return "…ms"
		case len(s) == 64:
			return "…"
		case s[0] == '"':
			name, _, _ := strings.Cut(s, ":")
			return name + ":…"
		}
		return s[:4] + "-…"
	})
}

// alike says whether got is what is wanted, with … for anything.
func alike(want, got string) bool {
	pattern := regexp.MustCompile(`(?m)^…\n`).ReplaceAllString(regexp.QuoteMeta(want), `(?s:(?:.*\n)?)`)
	pattern = strings.ReplaceAll(pattern, "…", `.*?`)
	return regexp.MustCompile(`^` + pattern + `$`).MatchString(got)
}

func TestAPageThatIsWrongIsFound(t *testing.T) {
	for _, c := range []struct {
		what, want, got string
		alike           bool
	}{
		{"the same", "a\nb\n", "a\nb\n", true},
		{"another line", "a\nb\n", "a\nc\n", false},
		{"a line more", "a\n", "a\nb\n", false},
		{"anything within a line", "a…c\n", "abbc\n", true},
		{"no line within a line", "a…c\n", "a\nc\n", false},
		{"any lines", "a\n…\nd\n", "a\nb\nc\nd\n", true},
		{"what means something to a pattern", "a.c\n", "abc\n", false},
	} {
		if got := alike(c.want, c.got); got != c.alike {
			t.Errorf("%s: %v", c.what, got)
		}
	}
	steps, err := stepsOf("```console\n$ false\nx\n$ true\n```\n<!-- not run: no -->\n```sh\nexit 1\n```\n<!-- run:\necho y\n-->\n")
	if err != nil || len(steps) != 3 || steps[0].want != "x\n" || steps[2].command != "set -e\necho y" {
		t.Errorf("%v %v", err, steps)
	}
}
