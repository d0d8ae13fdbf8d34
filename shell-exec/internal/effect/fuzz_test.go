package effect

import (
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shell-exec/internal/cmdline"
)

func fixture(g cmdline.Grammar) Surroundings {
	return Surroundings{Grammar: g, Dir: "/home/dev/project", Home: "/home/dev", Workspace: []string{"/home/dev/project"}, Env: map[string]string{"HOME": "/home/dev"}}
}

// Shapes that make naive analysers take for ever, or use up the stack.
var worstShapes = map[string]string{
	"a list":                  strings.Repeat("a&&", 40_000) + "a",
	"a pipeline":              strings.Repeat("a|", 40_000) + "a",
	"statements":              strings.Repeat("a\n", 60_000),
	"brackets":                strings.Repeat("(", 100_000),
	"substitutions":           strings.Repeat("$(", 60_000),
	"quoted substitutions":    strings.Repeat(`"$(`, 40_000),
	"if":                      strings.Repeat("if a;then ", 10_000),
	"braces":                  "echo " + strings.Repeat("{a,b}", 60),
	"braces in braces":        "echo " + strings.Repeat("{a,{b,", 100) + strings.Repeat("}}", 100),
	"functions of functions":  manyFunctions(40),
	"a function of itself":    "f(){ f $1x; f $1y; }; f a",
	"growing text":            "x=a;" + strings.Repeat("x=$x$x;", 10_000) + "echo $x",
	"growing alternatives":    strings.Repeat("if a; then x=$x"+"b; fi;", 3_000) + "rm $x",
	"quotes":                  "echo " + strings.Repeat(`''`, 60_000),
	"variables and subshells": strings.Repeat("a=1;(b=2);", 10_000),
	"evals":                   strings.Repeat("eval '", 300),
	"printf":                  "printf '" + strings.Repeat("%s", 10_000) + "' a",
	"for in for":              strings.Repeat("for i in a b c; do ", 300) + "rm $i;" + strings.Repeat(" done;", 300),
	"here-documents":          strings.Repeat("cat <<E\nx\nE\n", 8_000),
	"comments":                strings.Repeat("# \\\n", 30_000),
	"redirections":            strings.Repeat("a >f;", 20_000),
	"patterns":                strings.Repeat("/*", 50_000),
	"arrays":                  "a=(" + strings.Repeat("x ", 50_000) + `); rm "${a[@]}"`,
	"arrays again":            "a=(x x x x);" + strings.Repeat(`a=("${a[@]}" "${a[@]}");`, 100) + `rm "${a[@]}"`,
	"a dash behind a host":    "ssh host - ls",
	"interpreters":            "python3 -c '" + strings.Repeat(`os.system("ls -l");`, 6_000) + "'",
}

func manyFunctions(n int) string {
	var b strings.Builder
	b.WriteString("f0(){ ls; };")
	for i := 1; i < n; i++ {
		name, before := "f"+strings.Repeat("x", i), "f"+strings.Repeat("x", i-1)
		if i == 1 {
			before = "f0"
		}
		b.WriteString(name + "(){ " + before + " a; " + before + " b; };")
	}
	b.WriteString("f" + strings.Repeat("x", n-1))
	return b.String()
}

func TestTheWorstShapesTakeBoundedWork(t *testing.T) {
	for what, text := range worstShapes {
		report := OfText(fixture(cmdline.Bash), text)
		if report.Steps > maxSteps+20_000 || len(report.Effects) > maxEffects+10 || len(report.Commands) > maxSteps {
			t.Errorf("%s: %d steps, %d effects, %d commands", what, report.Steps, len(report.Effects), len(report.Commands))
		}
	}
}

func FuzzReading(f *testing.F) {
	for _, text := range worstShapes {
		if len(text) < 2000 {
			f.Add(text)
		}
	}
	for _, text := range []string{
		"rm -rf /", `a=(x)# rm`, ">&-rm -rf /", "time -- rm", "<() rm -rf /", "!(rm)", "coproc a=1 rm b", "$x{y,} rm", "$@\\\nrm", "${x@P}", "${!x}", "${x[$(ls)]}",
		"cat <<E | sh\n$(ls)\nE", "case $x in a) ;; esac", "find . -exec rm {} +", "xargs -I% rm %", "[[ -v a[x] ]]", "((x++))", "printf -v x %d 1", "echo $'\\u00e9\\x'",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, g := range []cmdline.Grammar{cmdline.Bash, cmdline.POSIX} {
			report := OfText(fixture(g), text)
			if report.Unreadable != nil && strings.Contains(report.Unreadable.Error(), "a fault while reading") {
				t.Fatal(report.Unreadable)
			}
			if report.Steps > maxSteps+20_000 {
				t.Fatalf("%d steps", report.Steps)
			}
			for _, e := range report.Effects {
				if !e.Kind.Valid() {
					t.Fatalf("the effect %q", e.Kind)
				}
			}
		}
	})
}
