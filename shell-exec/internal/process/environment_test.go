package process_test

import (
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shell-exec/internal/process"
)

var server = []string{"PATH=/bin", "HOME=/home/me", "LANG=C", "LC_ALL=C.UTF-8", "TERM=xterm", "AWS_SECRET_ACCESS_KEY=s", "CI=false", "GOPATH=/go", "PAGER=less"}

func TestOnlyNamedVariablesPass(t *testing.T) {
	got, err := process.Environment{Server: server}.Build(nil)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"PATH": "/bin", "HOME": "/home/me", "LANG": "C", "LC_ALL": "C.UTF-8",
		"TERM": "dumb", "CI": "1", "PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0", "NO_COLOR": "1"}
	if !maps.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}

func TestTheOperatorAndThenTheCallerDecide(t *testing.T) {
	e := process.Environment{Server: server, Pass: []string{"GO*", "CI", "PAGER"}, Set: map[string]string{"NO_COLOR": "", "LD_PRELOAD": "mine.so"}, Path: "/login/bin"}
	got, err := e.Build(map[string]string{"CI": "true", "TERM": "ansi", "ANY": "thing", "GIT_PAGER": "less"})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"GOPATH": "/go", "CI": "true", "PAGER": "less", "NO_COLOR": "", "LD_PRELOAD": "mine.so",
		"PATH": "/login/bin", "TERM": "ansi", "ANY": "thing", "GIT_PAGER": "less"} {
		if got[name] != want {
			t.Errorf("%s is %q, not %q", name, got[name], want)
		}
	}
	if entries := process.Entries(map[string]string{"B": "2", "A": "1=1"}); strings.Join(entries, " ") != "A=1=1 B=2" {
		t.Errorf("the entries are %q", entries)
	}
}

func TestVariablesThatRunCodeAreRefusedFromTheCaller(t *testing.T) {
	for _, entry := range []string{
		"LD_PRELOAD=x.so", "LD_PRELOAD=", "LD_LIBRARY_PATH=.", "DYLD_INSERT_LIBRARIES=x", "BASH_ENV=x", "ENV=x", "BASH_FUNC_ls%%=() { :; }", "PS4=$(x)",
		"PROMPT_COMMAND=x", "PROMPT_COMMAND[0]=x", "PS9=x", "BASH_COMPAT=31", "BASH_ALIASES=x", "MAILPATH=m?$(x)", "MAIL=m", "MAILCHECK=0", "HISTFILE=.git/hooks/pre-commit", "HISTSIZE=1",
		"histchars=;;;", "TMOUT=1", "COMP_WORDBREAKS=x", "FIGNORE=x", "HOSTFILE=x", "READLINE_LINE=x", "TEXTDOMAINDIR=.", "fish_key_bindings=x", "RPS1=x", "READNULLCMD=x", "STTY=x",
		"MODULE_PATH=.", "PWD=/", "TERM=adm3a", "INPUTRC=x", "TERMINFO=x", "IFS=/", "CDPATH=/", "PATH=/tmp", "HOME=/tmp", "GIT_SSH_COMMAND=x", "GIT_CONFIG_COUNT=1", "GIT_EXTERNAL_DIFF=x",
		"GIT_PAGER=sh -c x", "PAGER=./x", "EDITOR=x", "PYTHONSTARTUP=x", "PERL5OPT=-Mx", "RUBYOPT=-rx", "NODE_OPTIONS=--require x",
		"JAVA_TOOL_OPTIONS=-javaagent:x", "MAKEFLAGS=--eval=x", "LESSOPEN=|x", "RUSTC_WRAPPER=x", "GOFLAGS=-toolexec=x", "SSH_AUTH_SOCK=/x", "DOCKER_HOST=unix:///x",
	} {
		name, value, _ := strings.Cut(entry, "=")
		_, err := process.Environment{Server: server}.Build(map[string]string{name: value})
		if fault.From(err) == nil || fault.From(err).Code != fault.Forbidden || fault.From(err).Details["variable"] != name {
			t.Errorf("%s: %v", entry, err)
		}
	}
}

func TestUsualVariablesAreTheCallers(t *testing.T) {
	for _, entry := range []string{"PAGER=less", "GIT_PAGER=", "EDITOR=true", "LESS=-FRX", "CI=0", "TERM=xterm-256color", "FORCE_COLOR=1", "NODE_ENV=test",
		"CGO_ENABLED=0", "GOOS=linux", "GOPATH=/go", "GOMAXPROCS=2", "RUST_BACKTRACE=1", "RUST_LOG=debug", "CARGO_TERM_COLOR=never", "PYTHONUNBUFFERED=1", "PYTHONDONTWRITEBYTECODE=1",
		"GIT_AUTHOR_NAME=me", "GIT_TERMINAL_PROMPT=0", "DOCKER_BUILDKIT=1", "DEBUG=*", "PORT=80", "DATABASE_URL=x", "TZ=UTC", "LANG=C", "PIP_NO_INPUT=1", "Path1=x"} {
		name, value, _ := strings.Cut(entry, "=")
		got, err := process.Environment{Server: server}.Build(map[string]string{name: value})
		if err != nil || got[name] != value {
			t.Errorf("%s: %q, %v", entry, got[name], err)
		}
	}
}

func TestWhatIsNoVariableIsRefused(t *testing.T) {
	for _, given := range []map[string]string{{"": "x"}, {"A=B": "x"}, {"A\x00": "x"}, {"A": "x\x00LD_PRELOAD=y"}} {
		if _, err := (process.Environment{}).Build(given); fault.From(err) == nil || fault.From(err).Code != fault.ParamMalformed {
			t.Errorf("%q: %v", given, err)
		}
	}
}

func TestTheLoginShellTellsItsPathAndNothingElse(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no login shells here")
	}
	home := t.TempDir()
	profile := func(text string) {
		if err := os.WriteFile(filepath.Join(home, ".profile"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	environ := []string{"HOME=" + home, "SHELL=/bin/sh", "PATH=/usr/bin:/bin"}
	profile("echo welcome; PATH=/login/bin:$PATH; export PATH SECRET=1")
	if path, err := process.LoginPath(t.Context(), environ); err != nil || !strings.HasPrefix(path, "/login/bin:") {
		t.Errorf("%q, %v", path, err)
	}
	profile("exit 3")
	_, err := process.LoginPath(t.Context(), environ)
	if fault.From(err) == nil || fault.From(err).Code != fault.Misconfigured {
		t.Errorf("a shell that ends early: %v", err)
	}
	profile("sleep 1 & PATH=/again")
	if _, err := process.LoginPath(t.Context(), environ); err == nil || fault.From(err).Code != fault.Misconfigured {
		t.Errorf("a profile that breaks PATH: %v", err)
	}
}

func TestInATerminalNothingIsMadeNeutral(t *testing.T) {
	env, err := process.Environment{Server: []string{"PATH=/bin", "TERM=vt52"}, Terminal: true}.Build(nil)
	if err != nil || !maps.Equal(env, map[string]string{"PATH": "/bin", "TERM": "xterm-256color", "LANG": "C.UTF-8"}) {
		t.Errorf("%v %v", env, err)
	}
	env, err = process.Environment{Server: []string{"LANG=ja_JP.UTF-8"}, Terminal: true}.Build(nil)
	if err != nil || env["LANG"] != "ja_JP.UTF-8" {
		t.Errorf("%v %v", env, err)
	}
}
