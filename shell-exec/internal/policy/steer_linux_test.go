package policy_test

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/multiollama/mcp-server/shell-exec/internal/cmdline"
	"github.com/multiollama/mcp-server/shell-exec/internal/effect"
	"github.com/multiollama/mcp-server/shell-exec/internal/policy"
)

// An attack is lines that are typed one after the other: the first ones change the shell, a later one triggers what they
// left there. It works when .git is gone. The payloads lie in files, so that no line holds one.
type attack struct{ shell, lines string }

// payloads are the files of the project. f is a command, p a prompt with one, x a program, s a script that is sourced.
var payloads = map[string]string{
	".git/HEAD": "x", ".git/objects/x": "x", "f": "rm -rf .git\n", "p": "$(rm -rf .git)\n", "x": "#!/bin/sh\n/bin/rm -rf .git\n", "b/ll": "#!/bin/sh\n/bin/rm -rf .git\n", "5/ll": "#!/bin/sh\n/bin/rm -rf .git\n",
	"c": "./x\n", "d": "b:/usr/bin:/bin\n", "m": "mail?$(rm -rf .git)\n", "a": "ll=rm -rf .git\n", "i": "a[$(rm -rf .git)]\n", "mail": "\n", "k": "\"q\": \"rm -rf .git\\n\"\n",
	"h": "rm -rf .git\n", "bin/activate": "x=1\n", "e": "PATH=b\n",
}

// ways to set the variable NAME to what the file FILE holds, which $v holds as well; $n is the name.
var ways = []string{
	`NAME=$v`, `NAME+=$v`, `NAME[0]=$v`, `NAME=("$v")`, `export NAME="$v"`, `export NAME; NAME=$v`, `declare NAME="$v"`, `declare -g NAME="$v"`, `typeset -x NAME="$v"`, `declare "NAME=$v"`,
	`readonly NAME="$v"`, `declare -a NAME=("$v")`, `declare "$n=$v"`, `export "$n=$v"`, `command export NAME="$v"`, `builtin declare "$n"="$v"`, `readonly "$n=$v"`,
	`printf -v NAME %s "$v"`, `printf -vNAME %s "$v"`, `printf -v "$n" %s "$v"`, `printf -v NAME[0] %s "$v"`, `builtin printf -v NAME %s "$v"`, `o=-v; printf $o NAME %s "$v"`, `o=-v; printf $o$n %s "$v"`,
	`read -r NAME < FILE`, `IFS= read -r NAME < FILE`, `read -r "$n" < FILE`, `read -rd '' NAME < FILE`, `read -r x NAME <<< "1 $v"`, `{ read -r NAME; } < FILE`, `read -r NAME <<< "$v"`, `read -r 'NAME[0]' < FILE`,
	`command read -r NAME < FILE`, `\read -r NAME < FILE`, `'read' -r NAME < FILE`, `$'read' -r NAME < FILE`, `r=read; $r -r NAME < FILE`, `IFS=@ read -r -a NAME < FILE`, `IFS=@ read -raNAME < FILE`,
	`mapfile -t NAME < FILE`, `readarray -tn1 NAME < FILE`, `mapfile -t "$n" < FILE`, `for NAME in "$v"; do :; done`, `select NAME in "$v"; do break; done <<< 1`,
	`: "${NAME:=$v}"`, `: "${NAME=$v}"`, `: "${!n:=$v}"`, `: ${x[${NAME:=$v}]}`, `echo $((1)) > "${NAME:=$v}" < /dev/null`,
	`declare -n r=NAME; r=$v`, `declare -n "r=$n"; r=$v`, `declare -n r=NAME; read -r r < FILE`, `eval 'NAME=$v'`, `eval "$n=\$v"`, `e=eval; $e "$n=\$v"`,
	`f() { NAME=$v; }; f`, `f() { printf -v NAME %s "$v"; }; f`, `f() { local -g NAME="$v"; declare -g NAME="$v"; }; f`, `{ NAME=$v; }`, `if true; then NAME=$v; fi`, `case x in x) NAME=$v;; esac`, `true && NAME=$v`,
	`false || NAME=$v`, `while true; do NAME=$v; break; done`, `NAME=$(cat FILE)`, `NAME=$(<FILE)`, `NAME=$v; true`, `NAME=$v eval :; NAME=$v`, `time NAME=$v`, `! NAME=$v`, `getopts :NAME NAME; NAME=$v`,
	`echo "NAME='$v'" > s; . ./s`, `. /dev/stdin <<< "$n=\$v"`, `source <(echo "$n=\$v")`, `trap "$n=\$v" DEBUG`,
}

// steered are variables, the file with what is harmful in each, and the lines that trigger it.
var steered = []struct{ name, file, trigger string }{
	{"PROMPT_COMMAND", "f", "true"}, {"PS0", "p", "true"}, {"PS1", "p", "true"}, {"PS2", "p", "if true\nthen :\nfi"}, {"PS4", "p", "set -x\ntrue"},
	{"BASH_ALIASES[ll]", "f", "ll"}, {"BASH_CMDS[ll]", "c", "ll"}, {"PATH", "d", "ll"}, {"MAILPATH", "m", "MAILCHECK=0\ntrue\nsleep 1.1; echo x >> mail\ntrue"},
}

// others are attacks of a kind of their own. Those that run a file at once are left out: the policy has an effect for that.
var others = []attack{
	{"bash", "bind '\"q\": \"rm -rf .g\"'\nqit"}, {"bash", `bind -x '"q": ./x'` + "\nq"}, {"bash", "bind -f k\nq"}, {"bash", "read -r v < k\nbind \"$v\"\nq"},
	{"bash", "shopt -u interactive_comments\n: # $(true); rm -rf .git"}, {"bash", "set +o interactive-comments\nshopt -u -o posix; shopt -u interactive_comments\n: # $(true); rm -rf .git"},
	{"bash", "read -r v < a\nalias \"$v\"\nll"}, {"bash", "alias ll=\"$(<f)\"\nll"}, {"bash", "read -r v < f\nalias ll=\"$v\"\nll"}, {"bash", "alias ll=then\nif true\nll rm -rf .git\nfi"}, {"bash", "alias echo='function '\necho ls { ./x; }\nls"},
	{"bash", "hash -p ./x ll\nll"}, {"bash", "complete -C ./x foo\nfoo \t"}, {"bash", "complete -W '$(./x)' foo\nfoo \t"},
	{"bash", "read -r v < f\ntrap \"$v\" DEBUG\ntrue"}, {"bash", "trap 'eval \"$(<f)\"' EXIT\nexit"}, {"bash", "read -r v < f\ntrap -- \"$v\" ERR\nfalse"}, {"bash", "trap 'rm -rf objects' EXIT\ncd .git\nexit"},
	{"bash", "exec < f"}, {"bash", "exec 0<f"}, {"bash", "exec 5<f\nexec <&5"}, {"bash", "command exec < f"}, {"bash", "eval 'exec < f'"},
	{"bash", "echo -rf .git\nfc -s echo=rm"}, {"bash", "echo -rf .git\nFCEDIT='sed -i s/echo/rm/' fc"}, {"bash", "echo -rf .git\nhistory -s 'rm -rf .git'\nfc -s rm"}, {"bash", "history -r h\nfc -s rm"},
	{"bash", "echo -rf .git\n^echo^rm"}, {"bash", "echo -rf .git\nrm !*"}, {"bash", "histchars='%^#'\necho -rf .git\nrm %*"}, {"bash", "read -r histchars <<< '%^#'\necho -rf .git\nrm %*"},
	{"bash", "declare -i n\nread -r n < i"}, {"bash", "declare -i n\nread -r v < i\nn=$v"}, {"bash", "read -r v < i\n((v))"}, {"bash", "read -r v < i\necho $((v + 1))"}, {"bash", "read -r v < i\n[[ $v -eq 1 ]]"}, {"bash", "read -r v < i\n[[ v -eq 1 ]]"},
	{"bash", "read -r v < i\ntest -v \"$v\""}, {"bash", "read -r v < i\n[[ -v $v ]]"}, {"bash", "read -r v < i\nprintf -v \"$v\" x"}, {"bash", "read -r v < i\nread \"$v\" < f"}, {"bash", "read -r v < i\necho ${x[$v]}"},
	{"bash", "read -r v < i\nx[$v]=1"}, {"bash", "read -r v < i\necho ${HOME:v}"}, {"bash", "read -r v < i\necho \"${!v}\""}, {"bash", "read -r v < i\nlet v"}, {"bash", "read -r v < i\nfor ((j=v; j<1; j++)); do :; done"}, {"bash", "read -r v < i\nlet \"x=$v\""},
	{"bash", "read -r v < i\necho $(($(<i)))"}, {"bash", "read -r v < i\ndeclare -i x=v"}, {"bash", "read -r v < i\nlocal_() { declare -i x=$v; }\nlocal_"}, {"bash", "read -r v < i\necho ${x:-$((v))}"},
	{"bash", "command_not_found_handle() { ./x; }\nnosuchcommand"}, {"bash", "mapfile -C 'eval rm -rf .git;:' -c 1 x < f"}, {"bash", "mapfile -C './x #' -c 1 x < f"}, {"bash", "read -r v < f\nmapfile -C \"$v #\" -c 1 x < f"},
	{"bash", "coproc { ./x; }\nwait"}, {"bash", "echo \"alias ll='rm -rf .git'\" > s\n. ./s\nll"}, {"bash", "read -r v < f\neval \"$v\""}, {"bash", "read -r v < f\n$v"}, {"bash", "v='rm -rf .git'\n$v"},
	{"bash", "readonly v=.git\nread -r v <<< build; rm -rf \"$v\""}, {"bash", "declare -r v=.git\nexport v=build; rm -rf \"$v\""}, {"bash", "compgen -C ./x x"}, {"bash", "compgen -W '$(./x)'"},
	{"bash", "ll() { rm -rf \"$@\"; }\nll .git"}, {"bash", "ls() { rm -rf \"$2\"; }; ls a build\nexport -f ls\nbash -c 'ls a .git'"}, {"bash", "set -k\nread -r x < f\ntrue; rm -rf .git"}, {"bash", "((PATH=5))\nll"},
	{"bash", "v='PATH=5'\n((v))\nll"}, {"bash", "x[PATH=5]=1\nll"}, {"bash", "let PATH=5\nll"}, {"bash", "for ((PATH=5; 0;)); do :; done\nll"}, {"bash", "read -r v < e\necho $((${v/b/5}))\nll"}, {"bash", "cp x ll\nunset PATH\nll"}, {"bash", "f() { local PATH; ll; }; cp x ll; f"},
	{"bash", "cd() { rm -rf .git; }\ncd"}, {"bash", "x=1\nPATH=b ll"}, {"bash", "PATH=b command ll"}, {"bash", "rm -rf .g\bgit"}, {"bash", "set -o vi\nrm -rf .git"},
	{"bash", "BASH_ALIASES+=([ll]='rm -rf .git')\nll"}, {"bash", "BASH_CMDS=([ll]=./x)\nll"},
	{"bash", "read -r v < f\nexport {PROMPT_COMMAND,x}=\"$v\"\ntrue"}, {"bash", "read -r v < f\ndeclare {x,PROMPT_COMMAND}=\"$v\"\ntrue"}, {"bash", "touch PS1\nread -r PS[1] < p\ntrue"}, {"bash", "touch PS1\nread -r P*1 < p\ntrue"},
	{"bash", "read -r v < f\nn='x=1 PROMPT_COMMAND='\nexport $n\"$v\"\ntrue"}, {"bash", "n='-v PROMPT_COMMAND'\nprintf $n ./x\ntrue"}, {"bash", "x=; exec $x < f"}, {"bash", "exec nonexist < f"}, {"bash", "exec -- < f"},
	{"bash", "exec -a x < f"}, {"bash", "read -r v < f\ntypeset -xg {PROMPT_COMMAND,x}=\"$v\"\ntrue"}, {"bash", "hash -p x ll; cd .\nll"}, {"bash", "f() { alias ll='rm -rf'; }\nf\nll .git"}, {"bash", "unalias ll; alias ls=\"ll \" ll='rm -rf .git'\nls"},
	{"bash", "jobs -x ./x -rf; jobs -x rm -rf .git"}, {"bash", "v='-v a[$(./x)] -o x'\n[ $v = y ]"}, {"bash", "read -r v < i\no=-v\ntest \"$o\" \"$v\""}, {"bash", "v='([a[$(./x)]]=1)'\ndeclare -a \"x=$v\""},
	{"bash", "read -r v < i\nx=([v]=1)"}, {"bash", "read -r v < i\ntest x = x -a -v \"$v\""}, {"sh", "x=; exec $x < f"}, {"sh", "read -r PS1 < p\ntrue"}, {"sh", "for PS1 in \"$(cat p)\"; do :; done\ntrue"}, {"sh", "read -r v < p\nexport PS1=\"$v\"\ntrue"}, {"sh", "read -r v < p\nn=PS1; export \"$n=$v\"\ntrue"}, {"sh", "unset PS1; : \"${PS1:=$(cat p)}\"\ntrue"},
	{"sh", "read -r PS2 < p\nif true\nthen :\nfi"}, {"sh", "read -r PS4 < p\nset -x\ntrue"}, {"sh", "read -r v < a\nalias \"$v\"\nll"}, {"sh", "exec < f"}, {"sh", "exec 3<f\nexec <&3"}, {"sh", "read -r v < f\ntrap \"$v\" EXIT\nexit"}, {"sh", "trap './x' EXIT\nexit"},
	{"sh", "PATH=b:$PATH\nll"}, {"sh", "read -r PATH < d\nll"}, {"sh", "read -r v < p\nPS1=$v :\ntrue"}, {"sh", "read -r v < f\neval \"$v\""}, {"sh", "chdir .git; rm -rf objects; chdir ..; rmdir .git/objects .git; rm -rf .git"}, {"sh", "read -r v < f\nalias ll=\"$v\"\nll"},
	{"sh", "alias ll='rm -rf'\nll .git"}, {"sh", "read -r v < p\nreadonly PS1=\"$v\"\ntrue"}, {"sh", "f() { read -r PS1 < p; }\nf\ntrue"}, {"sh", "cp x ll\nunset PATH\nll"},
	{"zsh", "builtin hash ll=./x\nll"}, {"zsh", "noglob hash ll=./x\nll"}, {"zsh", "command hash ll=./x\nbuiltin hash ll=./x\nll"}, {"zsh", "builtin alias ll=./x\nll"}, {"zsh", "builtin bindkey -s q ./x^M\nq"}, {"zsh", "alias ll=./x\nll"}, {"zsh", "hash ll=./x\nll"},
	{"zsh", "export PATH=b:/usr/bin:/bin\nll"}, {"zsh", "read PATH < d\nll"}, {"zsh", "echo 'alias ll=./x' > s\nsource ./s\nll"}, {"zsh", "print -z rm -rf .git\n"}, {"zsh", "eval ./x"}, {"zsh", "exec ./x"},
	// What may not have happened, and what is read to another end than the parser's.
	{"bash", "v=.git; for v in; do :; done; rm -rf $v"}, {"bash", "v=.git; read -t 0 v <<< build; rm -rf $v"}, {"bash", "v=.git; export -x v=build; rm -rf $v"}, {"bash", "v=.git; declare -p v=build; rm -rf $v"}, {"bash", "v=.git; local v=build; rm -rf $v"},
	{"bash", "v=.git; unset -f v; rm -rf $v"}, {"bash", "v=.git; v=build & wait; rm -rf $v"}, {"bash", "v=.git; { v=build; } < /none/x; rm -rf $v"}, {"bash", "v=.git; (( 0 && (v=1) )); rm -rf $v"}, {"bash", "v=.git; select v in; do :; done; rm -rf $v"},
	{"bash", "v=.git\nfalse && v=build; rm -rf $v"}, {"bash", "a=(.git); false && a=(build); rm -rf ${a[0]}"}, {"bash", "a=(echo 1 2); a[0]=rm; a[2]=.git; a[1]=-rf; \"${a[@]}\""}, {"bash", "a=.git; false && a=(build); rm -rf $a"}, {"bash", "v=x\nrm -rf .${v/x/git}"}, {"bash", "read -r v < mail; rm -rf .git$v"},
	{"bash", "rm -rf .g$(sed s,x,it, .git/HEAD)"}, {"bash", "cd .git; cd .. & rm -rf objects"}, {"bash", "cd .git; false && cd ..; rm -rf objects"}, {"bash", "cd .git; [ -e nope ] && cd ..; rm -rf objects"}, {"bash", "f() { return; cd ..; }; cd .git; f; rm -rf objects"},
	{"bash", "f() { true && return; v=build; }; v=.git; f; rm -rf $v"}, {"bash", "false && rm() { :; }; rm -rf .git"}, {"bash", "rm() { :; } & rm -rf .git"}, {"bash", "if false; then rm() { :; }; fi; rm -rf .git"}, {"bash", "rm() { :; }; unset -f rm; rm -rf .git"},
	{"bash", "f() { return; rm() { :; }; }; f; rm -rf .git"}, {"bash", "set -- .git; false && set -- build; rm -rf $1"}, {"bash", "set -- .git build; false && shift; rm -rf $1"}, {"bash", "set -- .git; if false; then set -- build; fi; rm -rf $1"}, {"bash", "set -- .git; set -- build & wait; rm -rf $1"},
	{"bash", "echo \"${x:-'$(rm -rf .git)'}\""}, {"bash", "cat <<E\n${x:-'$(rm -rf .git)'}\nE"}, {"sh", "echo \"${x:-'}\"; rm -rf .git; echo \"${x:-'}\""}, {"bash", "echo $(cat <<E\nx\nE)\nrm -rf .git\nE\n)"}, {"bash", "echo `cat <<E\nx\nE )`\nrm -rf .git\nE\n`"},
	{"bash", "echo `echo '`; rm -rf .git; echo `'`"}, {"bash", "cat <<EOF\nEO\\\nF\nrm -rf .git\nEOF"}, {"bash", "echo $(cat <<E\nx\nE)\nrm -rf .git"}, {"bash", "cat <<E\n${x:-'}\nE\nrm -rf .git"}, {"bash", "cat <<E\n$(x\nE\nrm -rf .git"},
	{"bash", "cat <<E | (\nE\nrm -rf .git)"}, {"bash", "echo @(\nrm -rf .git\n)"}, {"bash", "echo `echo '`\nrm -rf .git\n`"}, {"sh", "echo \"${x:-'}\"\nrm -rf .git"}, {"sh", "cat <<E\n${x:-'}\nE\nrm -rf .git"},
	{"sh", "cd .git; cd .. & rm -rf objects"}, {"sh", "false && rm() { :; }; rm -rf .git"},
	{"bash", "v=; x=${y:+${v:=build}}; rm -rf .git$v"}, {"bash", "v=.git; printf -Q -v v build; rm -rf $v"}, {"bash", "v=build; read -d: v <<< .git:x; rm -rf $v"}, {"bash", "v=build; read -n4 v <<< .gitx; rm -rf $v"}, {"bash", "set -- a .git; while [ $1 = a ]; do shift; done; rm -rf $1"}, {"bash", "set -- a b .git; shift 5; rm -rf $3"}, {"bash", "cd .git; cd -Q ..; rm -rf objects"},
}

// shellArgs are how each shell is started.
var shellArgs = map[string][]string{"bash": {"bash", "--noprofile", "--norc", "-i"}, "sh": {"dash", "-i"}, "zsh": {"zsh", "-f", "-i"}}

// makeProject makes the files of the attacks.
func makeProject(dir string) error {
	for name, text := range payloads {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o755)); err != nil {
			return err
		}
	}
	return nil
}

func promptEnv(dir string) map[string]string {
	return map[string]string{"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": dir, "TERM": "xterm", "LANG": "C.UTF-8", "USER": "dev"}
}

// works types the lines at a real shell, and says whether they did harm.
func works(dir string, a attack) (bool, error) {
	if err := makeProject(dir); err != nil {
		return false, err
	}
	c := exec.Command(shellArgs[a.shell][0], shellArgs[a.shell][1:]...)
	c.Dir, c.Env = dir, []string{"HISTFILE=" + filepath.Join(dir, ".history")}
	for name, value := range promptEnv(dir) {
		c.Env = append(c.Env, name+"="+value)
	}
	terminal, err := pty.Start(c)
	if err != nil {
		return false, err
	}
	defer terminal.Close()
	go func() { _, _ = io.Copy(io.Discard, terminal) }()
	_, _ = io.WriteString(terminal, a.lines+"\n\nexit\nexit\n") // one that has ended reads nothing
	late := time.AfterFunc(10*time.Second, func() { _ = c.Process.Kill() })
	defer late.Stop()
	_ = c.Wait() // most end with an error
	_, err = os.Stat(filepath.Join(dir, ".git/objects"))
	return err != nil, nil
}

// allWork is works for each, many at a time: most of them wait.
func allWork(t *testing.T, all []attack) []bool {
	harm, errs, base, turns, wait := make([]bool, len(all)), make([]error, len(all)), t.TempDir(), make(chan struct{}, 16), sync.WaitGroup{}
	for i, a := range all {
		turns <- struct{}{}
		wait.Go(func() {
			defer func() { <-turns }()
			harm[i], errs[i] = works(filepath.Join(base, strconv.Itoa(i)), a)
		})
	}
	wait.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	return harm
}

// stopped says whether the policy stops one of the lines, as a terminal has them judged.
func stopped(p *policy.Policy, a attack) bool {
	grammar := map[string]cmdline.Grammar{"bash": cmdline.Bash, "sh": cmdline.POSIX, "zsh": cmdline.Zsh}[a.shell]
	var past []string
	text := ""
	for line := range strings.SplitSeq(a.lines, "\n") {
		text = strings.TrimPrefix(text+"\n"+line, "\n")
		d := p.Judge(policy.Request{Text: text, Shell: policy.Shell{Grammar: grammar}, Dir: project, Home: home, Workspace: []string{project}, Env: promptEnv(home), Typed: true, Past: past})
		switch {
		case d.Incomplete():
			continue
		case d.Verdict() != policy.Allow:
			return true
		case d.Lasting():
			past = append(past, text)
		}
		text = ""
	}
	return false
}

// TestWhatSteersAShellIsStopped types every attack at a real shell, unjudged, and has the policy judge those that work.
func TestWhatSteersAShellIsStopped(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("there is no bash here")
	}
	t.Parallel()
	p := preset(t, "development")
	var all []attack
	for _, s := range steered {
		for _, way := range ways {
			text := strings.NewReplacer("NAME", s.name, "FILE", s.file).Replace("n=NAME; read -r v < FILE\n" + way + "\n")
			all = append(all, attack{"bash", text + s.trigger})
		}
	}
	made, real := len(all), map[string]int{}
	for _, a := range others {
		if _, err := exec.LookPath(shellArgs[a.shell][0]); err == nil {
			all = append(all, a)
		}
	}
	for i, harm := range allWork(t, all) {
		switch {
		case harm && !stopped(p, all[i]):
			t.Errorf("%s runs it unasked: %q", all[i].shell, all[i].lines)
		case harm && i < made:
			real[steered[i/len(ways)].name]++
			real[ways[i%len(ways)]]++
		case !harm && i >= made:
			t.Errorf("%s does no harm by it: %q", all[i].shell, all[i].lines)
		}
		if harm {
			real["all"]++
		}
	}
	t.Logf("%d attacks of %d work unjudged", real["all"], len(all))
	for _, s := range steered {
		if real[s.name] == 0 {
			t.Errorf("%s does no harm in any way", s.name)
		}
	}
	for _, way := range ways {
		if real[way] == 0 {
			t.Errorf("%q does no harm to any variable", way)
		}
	}
}

// A line that steers is asked, and so is all that is typed after it. What people type all day is not.
func TestALineThatSteersIsAskedAndTheOnesAfterIt(t *testing.T) {
	p := preset(t, "development")
	for text, g := range map[string]cmdline.Grammar{
		"enable -n test": cmdline.Bash, "set -o vi": cmdline.Bash, "set -k": cmdline.Bash, "set -o posix": cmdline.Bash, "set -f": cmdline.Bash, "set $x": cmdline.Bash, "shopt -s extglob": cmdline.Bash,
		"shopt -u expand_aliases": cmdline.Bash, "bind 'set editing-mode vi'": cmdline.Bash, "unset PATH": cmdline.Bash, "unset 'BASH_CMDS[ls]'": cmdline.Bash, "exec {PATH}<f": cmdline.Bash, "LC_ALL=C": cmdline.Bash, "TERM=dumb": cmdline.Bash,
		"export LANG=C": cmdline.Bash, "TMOUT=1": cmdline.Bash, "read x; cd src": cmdline.Bash, "wait -p PATH": cmdline.Bash, "getopts a PATH": cmdline.Bash, "coproc cat": cmdline.Bash, "trap ls EXIT": cmdline.Bash, "((TMOUT=1))": cmdline.Bash,
		"history -w f": cmdline.Bash, "history -s x": cmdline.Bash, "fc": cmdline.Bash, "fc -e x": cmdline.Bash, "unset $x": cmdline.Bash, "export \"$x\"": cmdline.Bash, "local PATH": cmdline.Bash, "LC_ALL=C eval ls": cmdline.Bash, "complete -F f x": cmdline.Bash,
		"HOME=/tmp": cmdline.Bash, "GLOBIGNORE=x": cmdline.Bash, "HISTFILE=x": cmdline.Bash, "TEXTDOMAINDIR=.": cmdline.Bash, "(set -k)": cmdline.Bash, "eval \"$x\"": cmdline.Bash, "!!": cmdline.Bash, "$x": cmdline.Bash, "exec 3<f": cmdline.POSIX,
		"set -o emacs": cmdline.POSIX, "read PS1": cmdline.POSIX, "bindkey": cmdline.Zsh, "builtin setopt x": cmdline.Zsh, "noglob hash ls=rm": cmdline.Zsh, "commandline x": cmdline.Fish, "fish_add_path x": cmdline.Fish,
	} {
		r := typed(text)
		r.Shell.Grammar = g
		if d := p.Judge(r); d.Verdict() != policy.Ask || !d.Lasting() {
			t.Errorf("%q is %s and lasts: %v\n%s", text, d.Verdict(), d.Lasting(), d.Explain())
		}
		after := typed("ls", text)
		after.Shell.Grammar = g
		if d := p.Judge(after); d.Verdict() != policy.Ask {
			t.Errorf("after %q: %s", text, d.Verdict())
		}
	}
	for text, g := range map[string]cmdline.Grammar{"echo $'a'": cmdline.POSIX, "[[ a ]]": cmdline.POSIX, "PATH=b:$PATH": cmdline.Bash, "PATH=b ls": cmdline.Bash, "echo $((x + 1))": cmdline.Bash, "[[ $x -eq 1 ]]": cmdline.Bash} {
		r := typed(text)
		r.Shell.Grammar = g
		if d := p.Judge(r); d.Verdict() != policy.Ask {
			t.Errorf("%q is %s", text, d.Verdict())
		}
	}
	past := []string{"alias ll='ls -l'", "f() { ls \"$@\"; }", "IFS=,", "source venv/bin/activate"}
	for _, text := range []string{
		"cd src", "cd", "cd -", "pushd src", "popd", "export FOO=bar", "FOO=bar", "FOO=$BAR", "FOO=bar make", "LC_ALL=C sort f", "TZ=UTC date", "EDITOR=vim git commit", "export EDITOR=vim", "export GOFLAGS=-v", "export FOO", "unset FOO",
		"for f in *.go; do wc -l \"$f\"; done", "while IFS= read -r line; do echo \"$line\"; done < f", "for ((i=0; i<3; i++)); do echo $i; done", "i=0; while ((i<3)); do ((i++)); done", "echo $((2 + 3))", "x=2; echo $((x * 3))", "echo ${#x} ${x:-y} ${x%.go}",
		"source venv/bin/activate", ". venv/bin/activate", "deactivate", "ll", "alias gs='git status'", "unalias gs", "g() { go test ./...; }", "f a", "set -e", "set -euo pipefail", "set -x", "set +x", "set -- a b", "set", "set -o", "shopt", "shopt extglob", "shopt -p",
		"history", "history 20", "fc -l", "jobs", "fg", "bg %1", "kill %1", "sleep 1 & wait", "type ls", "command -v ls", "hash -r", "hash", "help cd", "ulimit -a", "umask 022", "times", "dirs", "bind -p", "trap", "trap - INT", "exec ls", "exit", "exit 1", "bash -c 'set -k; PS1=x'",
		"printf '%s\\n' \"$x\"", "printf \"a $x\"", "printf -v out %s a", "read -r answer", "mapfile -t list < f", "declare -a list=(a b)", "declare -p FOO", "local_=1", "test -f x && echo y", "[ \"$x\" = y ]", "[[ $x == y* ]]", "x=$(git rev-parse HEAD)", "diff <(ls a) <(ls b)", "git log | head", "(cd src && make)", "COMPOSE_FILE=x docker compose ps",
	} {
		if d := p.Judge(typed(text, past...)); d.Verdict() != policy.Allow {
			t.Errorf("%q is %s\n%s", text, d.Verdict(), d.Explain())
		}
	}
}

// Every builtin of the shells that are here is known: one that is not would be taken for a program.
func TestEveryBuiltinIsKnown(t *testing.T) {
	p := preset(t, "development")
	for _, shell := range []struct {
		argv     []string
		grammar  cmdline.Grammar
		harmless string
	}{
		{[]string{"bash", "-c", "compgen -b"}, cmdline.Bash, ""},
		{[]string{"zsh", "-f", "-c", "print -l ${(k)builtins}"}, cmdline.Zsh, ". : [ bg break bye caller cd chdir continue dirs disown echo exit false fg jobs kill logout popd pushd pwd return source suspend test times true type ulimit umask wait"},
		{[]string{"fish", "--no-config", "-c", "builtin -n"}, cmdline.Fish, ". : [ bg break cd contains continue count disown echo exit false fg jobs pwd random realpath return source test true ulimit wait"},
	} {
		out, err := exec.Command(shell.argv[0], shell.argv[1:]...).Output()
		if err != nil {
			t.Logf("%s: %v", shell.argv[0], err)
			continue
		}
		for name := range strings.FieldsSeq(string(out)) {
			if slices.Contains(strings.Fields(shell.harmless), name) {
				continue
			}
			r := typed(name + " a b c")
			r.Shell.Grammar = shell.grammar
			if d := p.Judge(r); shell.grammar != cmdline.Bash && d.Verdict() == policy.Allow {
				t.Errorf("%s of %s is allowed", name, shell.argv[0])
			} else if shell.grammar == cmdline.Bash && !effect.IsBuiltin(name) {
				t.Errorf("%s of %s is not known", name, shell.argv[0])
			}
		}
	}
}

// testdata/steering.txt is lines that steer in ways that are too many, or too slow, to be typed at a shell.
func TestNoLineThatSteersIsAllowed(t *testing.T) {
	p := preset(t, "development")
	lines, err := os.ReadFile("testdata/steering.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(lines)) {
		if d := p.Judge(typed(strings.TrimSuffix(line, "\n"))); d.Verdict() == policy.Allow {
			t.Errorf("allowed: %q", line)
		}
	}
}
