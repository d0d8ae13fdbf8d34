package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestTheManualNamesEveryCommandAndSetting(t *testing.T) {
	each(t, func(t *testing.T, s server) {
		page := string(bytes.ReplaceAll(manual(s.about), []byte(`\`), nil))
		for _, c := range s.about.Commands {
			if !strings.Contains(page, c.Use) {
				t.Errorf("the page does not name %s", c.Use)
			}
		}
		for _, f := range s.about.Flags {
			for _, word := range []string{"--" + f.Name, f.Variable, f.Default} {
				if !strings.Contains(page, word) {
					t.Errorf("the page does not name %s of --%s", word, f.Name)
				}
			}
		}
	})
}

func TestNoTextOfTheManualIsMarkup(t *testing.T) {
	var a about
	a.Doc = ".so /etc/passwd\n'sy rm\n# a *b* _c_ <d> `e` [f](g) <server>.jsonl"
	page := string(manual(a))
	for line := range strings.Lines(page) {
		for _, request := range []string{".so", "'sy", ".de"} {
			if strings.HasPrefix(line, request) {
				t.Errorf("a text became a request to the reader: %q", line)
			}
		}
	}
	plain := strings.NewReplacer(`\`, "", "&", "").Replace(page)
	for _, text := range []string{"# a *b* _c_ <d> `e` [f](g)", "<server>.jsonl"} {
		if !strings.Contains(plain, text) {
			t.Errorf("%q is not in\n%s", text, page)
		}
	}
}
