package policy_test

import (
	"errors"
	"testing"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shell-exec/internal/cmdline"
	"github.com/multiollama/mcp-server/shell-exec/internal/policy"
)

func typed(text string, past ...string) policy.Request {
	r := script(text)
	r.Typed, r.Past = true, past
	return r
}

func TestAShellThatWillBeTypedAtIsStartedUnasked(t *testing.T) {
	p := preset(t, "development")
	for _, c := range []struct {
		argv []string
		want policy.Verdict
	}{
		{[]string{"bash"}, policy.Allow}, {[]string{"/bin/bash", "--noprofile", "--norc", "-i"}, policy.Allow},
		{[]string{"sh"}, policy.Allow}, {[]string{"zsh", "-f", "-i"}, policy.Allow}, {[]string{"fish", "--no-config", "--private"}, policy.Allow},
		{[]string{"bash", "-l"}, policy.Ask}, {[]string{"bash", "--rcfile", "x"}, policy.Ask}, {[]string{"bash", "-c", "rm -rf /"}, policy.Deny},
		{[]string{"fish", "-c", "rm -rf /"}, policy.Deny}, {[]string{"fish", "-C", "ls"}, policy.Ask}, {[]string{"env", "bash", "-i"}, policy.Ask},
		{[]string{"sudo", "bash"}, policy.Ask}, {[]string{"python3"}, policy.Ask}, {[]string{"less", "README.md"}, policy.Allow}, {[]string{"vi", "main.go"}, policy.Allow},
	} {
		r := argv(c.argv...)
		r.Terminal = true
		if d := p.Judge(r); d.Verdict() != c.want {
			t.Errorf("%q is %s, want %s\n%s", c.argv, d.Verdict(), c.want, d.Explain())
		}
	}
	if d := p.Judge(argv("bash", "-i")); d.Verdict() != policy.Ask {
		t.Errorf("without a terminal: %s", d.Verdict())
	}
	r := script("bash -i")
	r.Terminal = true
	if d := p.Judge(r); d.Verdict() != policy.Ask {
		t.Errorf("a shell in a shell: %s", d.Verdict())
	}
	r = argv("bash", "-i")
	r.Terminal = true
	if d := preset(t, "minimal").Judge(r); d.Verdict() != policy.Deny {
		t.Errorf("start-up files in the minimal preset: %s", d.Verdict())
	}
}

func TestWhatIsTypedIsJudgedWithThePastOfItsShell(t *testing.T) {
	p := preset(t, "development")
	for _, c := range []struct {
		text string
		past []string
		want policy.Verdict
	}{
		{"ls -la", nil, policy.Allow}, {"go test ./... | tail -3", nil, policy.Allow}, {"cd src && make", nil, policy.Allow},
		{"rm -rf /", nil, policy.Deny}, {"rm -rf ~", nil, policy.Deny}, {"rm -rf $HOME", nil, policy.Deny}, {"echo x > ~/.bashrc", nil, policy.Ask},
		{"cp a ~/.bashrc", nil, policy.Ask}, {"echo $x ~/notes $PATH", nil, policy.Allow}, {"x=build; rm -rf \"$x\"", nil, policy.Allow},
		{"rm -rf $x", nil, policy.Ask}, {"$x", nil, policy.Ask}, {"$EDITOR a", nil, policy.Ask}, {"\"$1\" a", nil, policy.Ask}, {"for f in *.go; do wc -l $f; done", nil, policy.Allow},
		{"cat | sh", nil, policy.Ask}, {"bash", nil, policy.Ask}, {"python3", nil, policy.Ask},
		// functions and aliases of the past
		{"ll src", []string{"alias ll='ls -la'"}, policy.Allow}, {"x /", []string{"alias x='rm -rf'"}, policy.Deny}, {"x", []string{`alias x='ls; rm -rf "$1"'`}, policy.Ask},
		{"ls a", []string{"alias ls='ls --color=auto'", "alias ls=ls"}, policy.Ask}, {"ls /", []string{"ls() { rm -rf \"$@\"; }"}, policy.Deny}, {"ls a", []string{"ls() { command ls -l \"$@\"; }"}, policy.Allow},
		{"ls /", []string{"ls() { rm -rf \"$@\"; }", "ls() { :; }"}, policy.Deny}, {"rm -rf /", []string{"rm() { :; }"}, policy.Deny}, {"true ls", []string{"alias if=ls"}, policy.Ask}, {"export src", []string{"alias export='rm -rf'"}, policy.Ask},
		{"export() { git \"$@\"; }", nil, policy.Ask}, {"export push", []string{"export() { git \"$@\"; }"}, policy.Ask},
		{"ls", []string{"alias x='"}, policy.Ask}, {"ls", []string{policy.UnknownKeys}, policy.Ask},
		{"x=rm-rf; $x", []string{"IFS=-"}, policy.Ask}, {"cd etc; rm -rf ssl", []string{"CDPATH=/"}, policy.Ask}, {"cd etc; rm -rf ssl", nil, policy.Allow},
		// history, keys
		{"!!", nil, policy.Ask}, {"!rm", nil, policy.Ask}, {"echo \"a!rm\"", nil, policy.Ask}, {"^ls^rm", nil, policy.Ask}, {"echo 'a!b'", nil, policy.Allow}, {`echo a\!b`, nil, policy.Allow},
		{"echo \"done!\"", nil, policy.Allow}, {"! grep -q x f", nil, policy.Allow}, {"[ 1 != 2 ]", nil, policy.Allow}, {"sleep 1 & wait $!", nil, policy.Allow}, {"ls [!a]*", nil, policy.Allow},
		{"echo 'a\nb!rm'", nil, policy.Ask}, {"ls\x15rm -rf x", nil, policy.Ask}, {"ls\tx", nil, policy.Ask}, {"ls\x1b[A", nil, policy.Ask},
	} {
		if d := p.Judge(typed(c.text, c.past...)); d.Verdict() != c.want {
			t.Errorf("%q after %q is %s, want %s\n%s", c.text, c.past, d.Verdict(), c.want, d.Explain())
		}
	}
}

func TestATextThatIsNotFinishedIsToldFromAWrongOne(t *testing.T) {
	p := preset(t, "development")
	for text, want := range map[string]bool{
		"echo 'a": true, "echo \"a": true, "cat <<E\nx": true, "cat <<'E'\nx": true, "for x in a": true, "if true; then": true, "f() {": true, "ls |": true, "ls &&": true, "echo $(": true, "ls \\": true,
		"fi": false, "ls )": false, "ls": false, "a | ;": false, `echo \\`: false, "!!": false, "rm -rf /": false,
	} {
		if d := p.Judge(typed(text)); d.Incomplete() != want {
			t.Errorf("%q: incomplete is %v\n%s", text, d.Incomplete(), d.Explain())
		}
	}
	if d := p.Judge(typed("for x in a; do rm -rf /")); !d.Incomplete() || d.Verdict() != policy.Deny {
		t.Errorf("what is plain in it: %s", d.Verdict())
	}
}

func TestWhatDefinesSomethingLasts(t *testing.T) {
	p := preset(t, "development")
	for text, want := range map[string]bool{
		"ls": false, "x=1": false, "cd src": false, "alias x=ls": true, "f() { ls; }": true, "IFS=,": true, "if a; then function f { ls; }; fi": true, "alias x='": true,
	} {
		if d := p.Judge(typed(text)); d.Lasting() != want {
			t.Errorf("%q lasts: %v", text, d.Lasting())
		}
	}
}

func TestWhatIsTypedIsNotStarted(t *testing.T) {
	p := preset(t, "development")
	c, err := p.Judge(typed("ls")).Approved()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Launch(); !errors.Is(err, fault.Forbidden) {
		t.Errorf("started: %v", err)
	}
	if p.Judge(typed("git push")).ID() == p.Judge(script("git push")).ID() {
		t.Error("the two have one ID")
	}
}

// Of zsh and fish only what means the same everywhere is read.
func TestOfOtherShellsOnlyPlainWordsAreRead(t *testing.T) {
	p := preset(t, "development")
	for text, want := range map[string]policy.Verdict{
		"ls -la": policy.Allow, "git status && go test ./...": policy.Allow, "cat a | grep b; wc -l c": policy.Allow, "rm -rf build": policy.Allow, "ls\npwd": policy.Allow,
		"rm -rf /": policy.Deny, "ls && rm -rf /": policy.Deny, "git push": policy.Ask, "bash": policy.Ask,
		"echo $x": policy.Ask, "ls *": policy.Ask, "echo 'a'": policy.Ask, "ls &": policy.Ask, "ls > f": policy.Ask, "=rm x": policy.Ask, "a==rm x": policy.Ask, "X=1 ls": policy.Ask,
		"repeat 3 ls": policy.Ask, "and ls": policy.Ask, "- ls": policy.Ask, "set -x a b": policy.Ask, "alias a b": policy.Ask, "time ls": policy.Ask, "ls\\": policy.Ask, "ls |& wc": policy.Ask, "history": policy.Ask,
	} {
		for _, g := range []cmdline.Grammar{cmdline.Zsh, cmdline.Fish} {
			for _, r := range []policy.Request{script(text), typed(text)} {
				r.Shell.Grammar = g
				if d := p.Judge(r); d.Verdict() != want {
					t.Errorf("%q is %s, want %s\n%s", text, d.Verdict(), want, d.Explain())
				}
			}
		}
	}
}
