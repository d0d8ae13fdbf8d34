package shown

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// link is one to a file, with or without a heading in it.
var link = regexp.MustCompile(`\]\(([^():#\s]*)(#[^()\s]*)?\)`)

func TestEveryLinkOfThePagesLeadsSomewhere(t *testing.T) {
	links := 0
	for _, pattern := range []string{"../../*.md", "../../docs/*.md", "../../*/README.md", "../*/README.md"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, file := range files {
			for _, m := range link.FindAllStringSubmatch(read(t, file), -1) {
				links++
				if to := target(file, m[1]); !there(t, to, m[2]) {
					t.Errorf("%s: %s%s is not there", file, m[1], m[2])
				}
			}
		}
	}
	if links < 50 {
		t.Errorf("only %d links were found", links)
	}
}

// target is the file that a link in a page leads to.
func target(page, path string) string {
	if path == "" {
		return page
	}
	return filepath.Join(filepath.Dir(page), path)
}

// there reports whether a file is there, and has the heading.
func there(t *testing.T, file, heading string) bool {
	t.Helper()
	if _, err := os.Stat(file); err != nil || heading == "" {
		return err == nil
	}
	for line := range strings.Lines(read(t, file)) {
		if text, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && strings.HasPrefix(line, "#") && heading == "#"+anchor(text) {
			return true
		}
	}
	return false
}

// besides is what anchors leave out of a heading.
var besides = regexp.MustCompile(`[^\p{L}\p{N} _-]`)

// anchor is how GitHub names a heading.
func anchor(heading string) string {
	return strings.ReplaceAll(besides.ReplaceAllString(strings.ToLower(strings.TrimSpace(heading)), ""), " ", "-")
}
