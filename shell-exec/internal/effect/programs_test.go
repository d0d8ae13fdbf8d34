package effect

import (
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shell-exec/internal/cmdline"
)

func TestTheTableCanBeRead(t *testing.T) {
	table, err := parsePrograms(programsTOML)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(table); n < 400 {
		t.Errorf("only %d programs", n)
	}
}

func words(line string) []cmdline.Word {
	var all []cmdline.Word
	for _, f := range strings.Fields(line) {
		all = append(all, cmdline.At(f, cmdline.Span{}))
	}
	return all
}

func TestOptionsAndOperandsAreToldApart(t *testing.T) {
	for _, c := range []struct{ line, options, operands string }{
		{"rm -rf a b", "-r -f", "a b"},
		{"rm a -rf", "-r -f", "a"},
		{"rm -- -rf", "", "-rf"},
		{"sort -k2 -o out in", "-k=2 -o=out", "in"},
		{"sort --output=out in", "--output=out", "in"},
		{"sort --outp out in", "--output=out", "in"},
		{"timeout -k 5 10 rm -rf x", "-k=5", "10 rm -rf x"},
		{"sudo -u root rm -r x", "-u=root", "rm -r x"},
		{"start-stop-daemon --start --exec x", "--start --exec=x", ""},
		{"tar --to-command=x -xf a", "--to-command=x -x -f=a", ""},
	} {
		argv := words(c.line)
		args := findProgram(argv[0].Text).Split(argv[1:])
		var options []string
		for _, o := range args.Options {
			if o.Valued {
				o.Name += "=" + o.Value.Text
			}
			options = append(options, o.Name)
		}
		got := strings.Join(cmdline.Texts(args.Operands), " ")
		if strings.Join(options, " ") != c.options || got != c.operands {
			t.Errorf("%s: options %q, operands %q", c.line, options, got)
		}
	}
}

func TestRulesSeeAProgramWithoutTheOptionsBeforeItsOperands(t *testing.T) {
	for line, want := range map[string]string{
		"git -C x push":                  "git push",
		"git push -f":                    "git push -f",
		"docker --context c system df":   "docker system df",
		"npm --prefix web run deploy -w": "npm run deploy -w",
		"nothing-known -x y":             "nothing-known -x y",
	} {
		if got := strings.Join(Short(strings.Fields(line)), " "); got != want {
			t.Errorf("%s is %q, want %q", line, got, want)
		}
	}
}

func TestATableThatIsWrongIsRefused(t *testing.T) {
	for what, text := range map[string]string{
		"an unknown key": "[x]\noperand = \"delete\"",
		"a name twice":   "[\"a|b\"]\nmodel = \"x\"\n[\"b|c\"]\nmodel = \"y\"",
		"no TOML":        "[x",
	} {
		if _, err := parsePrograms([]byte(text)); err == nil {
			t.Errorf("%s is taken", what)
		}
	}
}

func TestOptionsOfGoAreNeverSeveralInOne(t *testing.T) {
	args := knownPrograms()["go test"].Split(words("-count=1 -o out ./..."))
	if o, ok := args.Find("-o"); !ok || o.Value.Text != "out" || len(args.Options) != 2 || len(args.Operands) != 1 {
		t.Errorf("%+v", args)
	}
}
