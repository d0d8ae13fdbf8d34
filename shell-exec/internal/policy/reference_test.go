package policy_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/multiollama/mcp-server/shell-exec/internal/cmdline"
	"github.com/multiollama/mcp-server/shell-exec/internal/policy"
)

var (
	oracleScripts = flag.Int("oracle", 300, "how many random scripts a real shell runs")
	oracleSeed    = flag.Uint64("oracle-seed", 1, "where the random scripts begin")
)

// fragments are put together by chance; "marker" is the only program there is.
var fragments = []string{
	"marker", "marker", "marker", "marker", `m\arker`, "'marker'", `"marker"`, "mar''ker", "$'marker'", `m"ark"er`, `$'mark\x65r'`, "{marker,}", "$p", "${p}", `"$p"`, "$q$r",
	"${p:-x}", "${u:-marker}", "${s%X}", "${s/X/}", "${!n}", "${p,,}", "${P,,}", "$(echo marker)", "`echo marker`", "$(printf mark; printf er)", "${a[0]}", "${a[@]}", `"${a[@]}"`,
	"$1", "$@", "$*", `"$@"`, "$u", `"$u"`, "mark[e]r", "${p:0:6}", "${v:1:6}",
	"echo", "eval", "exec", "command", "builtin", "time", "!", "coproc", "true", "false", ":", "test", "[[", "]]", "[", "]", "((", "))",
	"if", "then", "else", "fi", "elif", "while", "do", "done", "for x in", "case", "in", "esac", "x)", ";;", ";&", "function f", "f()", "f", "select",
	";", "&&", "||", "|", "|&", "&", "\n", "\n", "(", ")", "{", "}", "{ ", "; }",
	">", ">>", "<", ">&-", ">&2", "2>&1", "&>", "<&-", ">&", "<&", "-", "<<<", "<(", ">(", "<<E\n", "E\n", "<<'E'\n", "<<-E\n", "\tE\n", "<<\\E\n",
	"$(", "`", `"`, "'", "$((", "${x:-", "}", "#", "# ", "\\\n", `\`, "a=1", "p=marker", "x=", "x=marker", "$x", "a=(marker b)", "set -- marker", "--", "-c", "-x", "-p", "local", "declare",
	"export", "let", "trap marker EXIT", "alias e=marker", "e", "shopt -s expand_aliases", "!(", "@(", "?(", "*(", "*", "?", "~", "x", "1", "a b", "return", "break", "continue", "exit",
	"read x", "printf -v x marker", "source", ".", "/dev/stdin", "set -e", "set +e", "unset x", "IFS=,", "m,r", "hash -p", "type", "shift", "wait", "x+=", "n", "mark",
}

const before = "p=marker; q=mark; r=er; s=markerX; n=p; P=MARKER; v=xmarker; a=(marker q)\n"

func randomScript(r *rand.Rand) string {
	var b strings.Builder
	b.WriteString(before)
	for range 1 + r.IntN(10) {
		b.WriteString(fragments[r.IntN(len(fragments))])
		if r.IntN(5) > 0 {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// reference is a directory in which bash finds no program but the marker, which leaves the
// file that MARK names behind. Each script has another, for a job that one left in the
// background may run on beside the next.
type oracle struct {
	bash, bin, dir string
	runs           int
}

func newOracle(t *testing.T) *oracle {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash here")
	}
	base := t.TempDir()
	o := &oracle{bash: bash, bin: filepath.Join(base, "bin"), dir: filepath.Join(base, "work")}
	if err := os.MkdirAll(o.bin, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(o.bin, "marker"), []byte("#!/bin/sh\n: > \"$MARK\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return o
}

func (o *oracle) env() map[string]string {
	return map[string]string{"PATH": o.bin, "HOME": o.dir, "MARK": filepath.Join(o.bin, fmt.Sprint("mark", o.runs))}
}

// run says whether the script ran the marker.
func (o *oracle) run(t *testing.T, text string) bool {
	o.runs++
	os.RemoveAll(o.dir)
	if err := os.MkdirAll(o.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	c := exec.CommandContext(ctx, o.bash, "--norc", "--noprofile", "-c", text)
	c.Dir, c.WaitDelay = o.dir, 50*time.Millisecond
	for name, v := range o.env() {
		c.Env = append(c.Env, name+"="+v)
	}
	_ = c.Run() // most of the scripts fail
	_, err := os.Stat(o.env()["MARK"])
	return err == nil
}

// What a real shell runs, the policy has listed, or it asks or refuses: a parser that
// reads a text in another way than the shell is a way round the policy.
func TestWhatBashRunsIsListedOrStopped(t *testing.T) {
	t.Parallel()
	o, p := newOracle(t), preset(t, "development")
	random := rand.New(rand.NewPCG(*oracleSeed, 0))
	ran := 0
	for range *oracleScripts {
		text := randomScript(random)
		if !o.run(t, text) {
			continue
		}
		ran++
		r := policy.Request{Text: text, Shell: policy.Shell{Path: o.bash, Grammar: cmdline.Bash}, Dir: o.dir, Home: o.dir, Workspace: []string{o.dir}, Env: o.env()}
		d := p.Judge(r)
		if d.Verdict() == policy.Allow && !lists(d, "marker") {
			t.Errorf("%q runs the marker, but\n%s", strings.TrimPrefix(text, before), d.Explain())
		}
	}
	if ran*100 < *oracleScripts*3 {
		t.Errorf("the marker ran in only %d of %d scripts", ran, *oracleScripts)
	}
	t.Logf("the marker ran in %d of %d scripts", ran, *oracleScripts)
}

func lists(d policy.Decision, program string) bool {
	for _, c := range d.Commands() {
		sourced := (c.Argv[0] == "source" || c.Argv[0] == ".") && strings.Contains(strings.Join(c.Argv, " "), program)
		if c.Argv[0] == program || sourced {
			return true
		}
	}
	return false
}

// The texts of which it is known that bash and the parser read them differently: each
// runs the marker.
func TestTheParsersKnownTrapsAreGuarded(t *testing.T) {
	t.Parallel()
	o, p := newOracle(t), preset(t, "development")
	for _, text := range []string{
		">&-marker", "<&-marker", "echo hi # \\\nmarker", "a=(x)# marker\nmarker", "time -- marker", "<() marker", "!(marker)", "coproc a=1 marker; wait", "coproc marker b; wait",
		`"$@" marker`, "$@\\\nmarker", "$u marker", "x=mar; y=ker; $x$y", "echo $[ $(marker) ]", `x='a[$(marker)]'; (( x ))`, `read 'a[$(marker)]' <<< x`, `a=(1); unset 'a[$(marker)]'`,
		`declare -i n='a[$(marker)]'`, `[[ -v 'a[$(marker)]' ]]`, `[ 'a[$(marker)]' -eq 1 ]`, `x='$(marker)'; : "${x@P}"`, `PS4='$(marker)'; set -x; :`, `printf -v 'a[$(marker)]' x`,
		"mapfile -C marker -c 1 <<< x", "trap marker EXIT", "PROMPT_COMMAND=marker; eval $PROMPT_COMMAND", "shopt -s expand_aliases\nalias e=marker\ne", "x{y,} marker; {marker,}",
		"f() { marker; }; f", "case x in x) marker;& y) :;; esac", "for ((i=0; i<1; i++)); do marker; done", "exec {fd}>/dev/null marker", "cat <<E\n$(marker)\nE\n:", ": ${x:=$(marker)}", ". <(echo marker)",
		"echo marker > f; . ./f", "hash -p $PATH/marker zz; zz", "enable -n echo; marker", "command -p true; builtin eval marker", "&>/dev/null marker", ">f marker", "2>&1 marker",
	} {
		if !o.run(t, text) {
			t.Logf("%q does not run the marker here", text)
			continue
		}
		d := p.Judge(policy.Request{Text: text, Shell: policy.Shell{Path: o.bash, Grammar: cmdline.Bash}, Dir: o.dir, Home: o.dir, Workspace: []string{o.dir}, Env: o.env()})
		if d.Verdict() == policy.Allow && !lists(d, "marker") {
			t.Errorf("%q runs the marker, but\n%s", text, d.Explain())
		}
	}
}

// The lines of the corpus that run a payload run the marker in its place: where bash does,
// it is listed, or the line is stopped. What names a path is not run.
func TestWhatTheCorpusRunsIsListedOrStopped(t *testing.T) {
	t.Parallel()
	o, p := newOracle(t), preset(t, "development")
	seen, ran, tried := 0, 0, 0
	for _, l := range corpus(t, "hostile.tsv", 0, 1, 2) {
		text := strings.NewReplacer("rm -rf /", "marker", "rm\t-rf\t/", "marker", "rm,-rf,/", "marker,", "/dev/null", "x", "/dev/stdin", "/dev/stdin").Replace(l.text)
		if text == l.text || !strings.Contains(text, "marker") || !harmless(text) {
			continue
		}
		if seen++; *oracleScripts < 1000 && seen%12 != 0 { // all of them take a minute
			continue
		}
		tried++
		if !o.run(t, text) {
			continue
		}
		ran++
		d := p.Judge(policy.Request{Text: text, Shell: policy.Shell{Path: o.bash, Grammar: cmdline.Bash}, Dir: o.dir, Home: o.dir, Workspace: []string{o.dir}, Env: o.env()})
		if d.Verdict() == policy.Allow && !lists(d, "marker") {
			t.Errorf("%q runs the marker, but\n%s", text, d.Explain())
		}
	}
	if ran*100 < tried*20 {
		t.Errorf("the marker ran in only %d of %d lines", ran, tried)
	}
	t.Logf("the marker ran in %d of %d lines", ran, tried)
}

// harmless: nothing but the marker can be found, and nothing is named by its path or signalled.
func harmless(text string) bool {
	text = strings.ReplaceAll(text, "/dev/stdin", "")
	for _, part := range []string{"/", "-r", "kill", "~", ":|", "read -p", "ulimit", "\x00"} {
		if strings.Contains(text, part) {
			return false
		}
	}
	return true
}
