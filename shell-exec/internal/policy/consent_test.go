package policy_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shell-exec/internal/effect"
	"github.com/multiollama/mcp-server/shell-exec/internal/policy"
)

// The holds of --sandbox off, auto, and required, and of auto without a network.
var (
	auto     = policy.Sandbox{Files: true, Rights: true}
	required = policy.Sandbox{Files: true, Rights: true, Always: true}
	offline  = policy.Sandbox{Files: true, Rights: true, Offline: true}
)

// said is what a decision does: its verdict, what a yes opens or lifts, or why there is none.
func said(d policy.Decision) string {
	var parts []string
	for _, f := range d.Asked() {
		s := string(f.Effect)
		if f.Opens != "" {
			s += map[bool]string{true: " writes ", false: " reads "}[f.Writes] + f.Opens
		}
		if !slices.Contains(parts, s) {
			parts = append(parts, s)
		}
	}
	if d.Verdict() == policy.Deny {
		parts = []string{d.Findings()[0].Rule}
	}
	if l := d.Lifted(); l != nil {
		parts = append(parts, fmt.Sprintf("lifts %q", l))
	}
	return strings.TrimSpace(d.Verdict().String() + " " + strings.Join(parts, ", "))
}

func TestAYesOpensExactlyWhatIsAskedOrIsNotAskedFor(t *testing.T) {
	p := preset(t, "development")
	for _, c := range []struct {
		text string
		hold policy.Sandbox
		want string
	}{
		{"git push --force", auto, "ask versions.publish"},
		{"git push --force", required, "ask versions.publish"},
		{"git push --force", offline, "deny versions.publish"},
		{"git push --force", policy.Sandbox{}, "ask versions.publish"},
		{"git push; rm -rf *", auto, "ask versions.publish, delete.workspace"},
		{"git push; sudo id", auto, "deny escalate"},
		{"cat ~/.ssh/id", auto, "ask read.secret reads /home/dev/.ssh/id"},
		{"cat ~/.ssh/id ~/.aws/credentials", auto, "ask read.secret reads /home/dev/.ssh/id, read.secret reads /home/dev/.aws/credentials"},
		{"cd ~/.ssh && cat id", auto, "ask read.secret reads /home/dev/.ssh/id"},
		{"f() { cat id; }; cd ~/.ssh; f; cd ~/.aws; f", auto, "ask read.secret reads /home/dev/.ssh/id, read.secret reads /home/dev/.aws/id"},
		{"cat ~/.ssh/*", auto, "deny read.secret"},
		{`cat ~/.ssh/"$(head -1 x)"`, auto, "deny read.secret"},
		{"gpg --export-secret-keys", auto, "deny read.secret"},
		{"python3 -c 'open(\"/home/dev/.ssh/id\")'", auto, "deny read.secret"},
		{"cat ~/.ssh/id", required, "deny read.secret"},
		{"cat ~/.ssh/id", policy.Sandbox{}, "ask read.secret"},
		{"cat ~/.aws/config", policy.Sandbox{Files: true, Rights: true, Always: true, Read: []string{"/home/dev/.aws"}}, "ask read.secret"},
		{"echo x >>~/.bashrc", auto, "ask write.startup writes /home/dev/.bashrc"},
		{"echo x | tee -a ~/.bashrc", auto, "ask write.startup writes /home/dev/.bashrc"},
		{"echo x >>~/.bashrc", required, "deny write.startup"},
		{"echo x >>~/.bashrc", policy.Sandbox{}, "ask write.startup"},
		{"sed -i s/a/b/ ~/.bashrc", auto, "deny write.startup"},
		{"git config --global user.name x", auto, "deny write.startup"},
		{"echo x >/home/dev/notes", auto, "ask write.outside writes /home/dev/notes"},
		{"cp a /home/dev/notes", auto, "deny write.outside"},
		{"echo x >/etc/motd", auto, "deny write.system"},
		{"rm /home/dev/notes", auto, "deny delete.outside"},
		{"rm /home/dev/notes", policy.Sandbox{}, "ask delete.outside"},
		{"chmod u+s x", auto, "deny escalate"},
		{"chmod u+s x", policy.Sandbox{}, "ask escalate"},
		{"mount -o bind a b", auto, "deny machine.kernel"},
		{"systemctl restart ssh", auto, "deny machine.service"},
		{"apt-get install jq", auto, "deny machine.packages"},
		{"npm install -g x", auto, "deny user.packages"},
		{"crontab x", auto, "deny run.outside"},
		{"docker run --privileged alpine", auto, "deny container.privileged"},
		{"ssh host ls", auto, "ask run.remote"},
		{"ssh host ls", offline, "deny run.remote"},

		{"sudo id", auto, `ask escalate, lifts ["sudo" "id"]`},
		{"/usr/bin/sudo id", auto, `ask escalate, lifts ["/usr/bin/sudo" "id"]`},
		{"sudo apt-get install jq", auto, `ask escalate, machine.packages, lifts ["sudo" "apt-get" "install" "jq"]`},
		{"sudo -u x sh -c 'cat ~/.ssh/id | wc'", auto, `ask escalate, read.secret, lifts ["sudo" "-u" "x" "sh" "-c" "cat ~/.ssh/id | wc"]`},
		{"passwd", auto, `ask escalate, lifts ["passwd"]`},
		{"su -c id", auto, `ask escalate, lifts ["su" "-c" "id"]`},
		{"sudo rm -rf /", auto, "deny delete.vital"},
		{"ls; sudo rm -rf /", auto, "deny delete.vital"},
		{"sudo id", required, "deny escalate"},
		{"sudo id", offline, "deny escalate"},
		{"sudo id", policy.Sandbox{}, "ask escalate"},
		{"sudo id; ls", policy.Sandbox{}, "ask escalate"},
		{"useradd x", auto, "deny escalate"},
		{"chroot / id", auto, "deny escalate"},
		{"./sudo id", auto, "deny escalate"},
	} {
		r := script(c.text)
		r.Sandbox = c.hold
		d := p.Judge(r)
		if got := said(d); got != c.want {
			t.Errorf("%q under %+v: %s, not %s\n%s", c.text, c.hold, got, c.want, d.Explain())
		}
		if _, err := d.Confirmed(d.ID()); (err == nil) != strings.HasPrefix(c.want, "ask") {
			t.Errorf("%q: confirmed with %v", c.text, err)
		}
	}
}

// larger are command lines with sudo that are more than one command, or whose words are
// not all there.
var larger = []string{
	"sudo true; cat x", "sudo true && ls", "sudo true || ls", "sudo true\nls", "ls; sudo true", "cat secret | sudo tee y", "sudo cat x | wc", "sudo true &",
	"(sudo true)", "{ sudo true; }", "! sudo true", "time sudo true", "f() { sudo true; }; f", "f() { sudo true; }", "alias s=sudo; s true", "X=1 sudo true",
	"sudo cat x >y", "sudo cat <x", "sudo sh <<E\nid\nE", "bash <<E\nsudo id\nE", "sudo sh <<<id", "echo $(sudo true)", "echo `sudo true`", "cat <(sudo true)",
	"sudo $(echo id)", `sudo "$CMD"`, "sudo cat *", "sudo cat ~/x", "env sudo true", "env X=1 sudo true", "nohup sudo true", "xargs sudo true", "timeout 9 sudo true",
	"nice sudo true", "command sudo true", "exec sudo true", "bash -c 'sudo true'", "sh -c 'sudo true; ls'", "eval sudo true", "if sudo true; then ls; fi",
	"for i in 1; do sudo true; done", "coproc sudo true", "find . -exec sudo true ';'", "trap 'sudo true' EXIT", "watch sudo true", "setsid sudo true", `s\udo true`,
	"echo 'sudo true' | sh", "su -c id; ls", "doas id | cat", "passwd && ls", "busybox su -c id", "unshare sudo id",
}

func TestSudoInAnythingLargerIsNeverAskedFor(t *testing.T) {
	p := preset(t, "development")
	for _, text := range larger {
		for what, change := range map[string]func(*policy.Request){"run": nil, "typed": func(r *policy.Request) { r.Typed = true }} {
			r := script(text)
			r.Sandbox = auto
			if change != nil {
				change(&r)
			}
			d := p.Judge(r)
			_, err := d.Confirmed(d.ID())
			if d.Verdict() != policy.Deny || d.Lifted() != nil || err == nil {
				t.Errorf("%q, %s: %s\n%s", text, what, said(d), d.Explain())
			}
		}
	}
}

func TestSudoIsAskedForAloneOnlyAsItStands(t *testing.T) {
	p := preset(t, "development")
	for what, change := range map[string]func(*policy.Request){
		"with an input":             func(r *policy.Request) { r.Input = "x" },
		"with variables of its own": func(r *policy.Request) { r.Given = map[string]string{"A": "b"} },
		"typed":                     func(r *policy.Request) { r.Typed = true },
		"typed at later":            func(r *policy.Request) { r.Argv, r.Terminal = []string{"sudo", "id"}, true },
	} {
		r := script("sudo id")
		r.Sandbox = auto
		change(&r)
		d := p.Judge(r)
		_, err := d.Approved()
		if d.Verdict() != policy.Deny || d.Lifted() != nil || !errors.Is(err, fault.Forbidden) {
			t.Errorf("%s: %s, %v", what, said(d), err)
		}
	}
	r := argv("sudo", "cat", "*; $(id)")
	r.Sandbox = auto
	d := p.Judge(r)
	c, err := d.Confirmed(d.ID())
	if err != nil {
		t.Fatal(err)
	}
	if l, err := c.Launch(); err != nil || !slices.Equal(l.Argv, r.Argv) {
		t.Errorf("started as %q, %v", l.Argv, err)
	}
	r = script(`sudo sh -c 'echo "$x"' "a b"`)
	r.Sandbox = auto
	d = p.Judge(r)
	if c, err = d.Confirmed(d.ID()); err != nil {
		t.Fatal(err)
	}
	if l, err := c.Launch(); err != nil || !slices.Equal(l.Argv, []string{"sudo", "sh", "-c", `echo "$x"`, "a b"}) {
		t.Errorf("a shell starts it: %q, %v", l.Argv, err)
	}
}

func TestEveryEffectSaysWhatAYesCanDo(t *testing.T) {
	for _, kind := range effect.Kinds() {
		if !policy.Consented(kind) {
			t.Errorf("nothing says what a yes to %s brings about", kind)
		}
	}
}

func TestWhatIsAllowedUnaskedLiftsNothing(t *testing.T) {
	p, err := policy.Load("version = 1\n[effects]\n\"escalate\" = \"allow\"\n\"read.secret\" = \"allow\"")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"sudo id", "cat ~/.ssh/id"} {
		r := script(text)
		r.Sandbox = auto
		if d := p.Judge(r); d.Verdict() != policy.Allow || d.Lifted() != nil || len(d.Asked()) != 0 {
			t.Errorf("%q: %s", text, said(d))
		}
	}
}
