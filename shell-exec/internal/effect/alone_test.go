package effect_test

import (
	"fmt"
	"testing"

	"github.com/multiollama/mcp-server/shell-exec/internal/cmdline"
	"github.com/multiollama/mcp-server/shell-exec/internal/effect"
)

func TestOnlyOneCommandOfPlainWordsIsAlone(t *testing.T) {
	for text, want := range map[string]string{
		"sudo id":                       `["sudo" "id"]`,
		" sudo  id ;":                   `["sudo" "id"]`,
		"sudo id # a comment":           `["sudo" "id"]`,
		`sudo sh -c 'a; b | c' "d e"f`:  `["sudo" "sh" "-c" "a; b | c" "d ef"]`,
		"sudo a=b c":                    `["sudo" "a=b" "c"]`,
		"sudo id\n\n":                   `["sudo" "id"]`,
		"sudo ''":                       `["sudo" ""]`,
		"":                              "[]",
		"sudo id; ls":                   "[]",
		"sudo id\nls":                   "[]",
		"sudo id && ls":                 "[]",
		"sudo id | cat":                 "[]",
		"cat x | sudo tee y":            "[]",
		"sudo id &":                     "[]",
		"! sudo id":                     "[]",
		"time sudo id":                  "[]",
		"(sudo id)":                     "[]",
		"{ sudo id; }":                  "[]",
		"f() { sudo id; }":              "[]",
		"if sudo id; then ls; fi":       "[]",
		"coproc sudo id":                "[]",
		"sudo id >x":                    "[]",
		"sudo id <x":                    "[]",
		"sudo id 2>&1":                  "[]",
		"sudo sh <<E\nid\nE":            "[]",
		"sudo sh <<<id":                 "[]",
		"X=1 sudo id":                   "[]",
		"X=1":                           "[]",
		"sudo $(id)":                    "[]",
		"sudo `id`":                     "[]",
		`sudo "$(id)"`:                  "[]",
		"sudo $x":                       "[]",
		`sudo "$x"`:                     "[]",
		"sudo <(id)":                    "[]",
		"sudo $((1))":                   "[]",
		"sudo *":                        "[]",
		"sudo ~/x":                      "[]",
		"sudo {a,b}":                    "[]",
		"sudo [a]":                      "[]",
		"sudo !(a)":                     "[]",
		`s\udo id`:                      "[]",
		`sudo "a\$b"`:                   "[]",
		`sudo $'a\n'`:                   "[]",
		`sudo $"a"`:                     "[]",
		"sudo 'id":                      "[]",
		"sudo id \\\n; ls":              "[]",
		"declare x=1":                   "[]",
		"((1))":                         "[]",
		"[[ a ]]":                       "[]",
		"for i in 1; do sudo id; done":  "[]",
		"case a in a) sudo id;; esac":   "[]",
		"while sudo id; do break; done": "[]",
		"sudo id ||\nls":                "[]",
		"sudo id |& cat":                "[]",
	} {
		r := effect.OfText(effect.Surroundings{Grammar: cmdline.Bash, Dir: "/w", Workspace: []string{"/w"}}, text)
		if got := fmt.Sprintf("%q", r.Alone); got != want {
			t.Errorf("%q: %s; want %s", text, got, want)
		}
	}
}
