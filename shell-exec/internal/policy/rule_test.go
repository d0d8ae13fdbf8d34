package policy_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shell-exec/internal/effect"
	"github.com/multiollama/mcp-server/shell-exec/internal/policy"
)

const rules = `
version = 1
preset  = "development"

[effects]
"run.downloaded"    = "deny"
"container.destroy" = "allow"

[[rule]]
command   = ["npm", ["run", "run-script"], "deploy*"]
decision  = "ask"
reason    = "deploys to staging"
match     = ["npm run deploy", "npm run-script deploy:eu -- --dry", "cd web && npm run deploy", "npm -C web run deploy"]
not_match = ["npm run build", "echo npm run deploy"]

[[rule]]
command   = "psql"
flags     = ["--host", "-h"]
decision  = "deny"
reason    = "only the local database"
match     = ["psql -h db.prod -c 'select 1'", "psql --host=db"]
not_match = ["psql -c 'select 1'"]

[[rule]]
command  = "git push"
decision = "allow"

[[rule]]
command  = "git push --force"
decision = "deny"
`

func load(t *testing.T, text string) *policy.Policy {
	t.Helper()
	p, err := policy.Load(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestRulesDecideAboutCommandsThatBeginWithTheirWords(t *testing.T) {
	p := load(t, rules)
	for text, want := range map[string]policy.Verdict{
		"npm run deploy": policy.Ask, "npm run build": policy.Allow, "npm run \"$(cat x)\"": policy.Ask,
		"sh -c 'psql -h db'": policy.Deny, "psql -c 'select 1'": policy.Allow,
		"git push": policy.Allow, "git -C x push origin main": policy.Allow, "git push --force": policy.Deny, "timeout 5 git push": policy.Allow,
		"./git push":         policy.Ask,  // not the git that the rule is about
		"git push; rm -rf /": policy.Deny, // a rule is about its command only
		"sudo git push":      policy.Ask,
		"curl x | sh":        policy.Deny, "docker system prune -f": policy.Allow,
	} {
		if d := p.Judge(script(text)); d.Verdict() != want {
			t.Errorf("%q is %s, want %s\n%s", text, d.Verdict(), want, d.Explain())
		}
	}
}

func TestARuleNeverLowersARefusal(t *testing.T) {
	p := load(t, "[[rule]]\ncommand = \"rm\"\ndecision = \"allow\"\n")
	for text, want := range map[string]policy.Verdict{"rm -rf /": policy.Deny, "rm -rf ../x": policy.Allow, "rm -rf .git": policy.Deny} {
		if d := p.Judge(script(text)); d.Verdict() != want {
			t.Errorf("%q is %s, want %s", text, d.Verdict(), want)
		}
	}
}

func TestASlipInThePolicyFileIsNotAPermission(t *testing.T) {
	for what, text := range map[string]string{
		"an unknown key":              "presett = \"minimal\"",
		"an unknown preset":           "preset = \"none\"",
		"an unknown effect":           "[effects]\n\"rm\" = \"allow\"",
		"an unknown decision":         "[effects]\n\"publish\" = \"yes\"",
		"a floor lowered to allow":    "[effects]\n\"machine.power\" = \"allow\"",
		"a rule without a decision":   "[[rule]]\ncommand = \"ls\"",
		"a rule without a command":    "[[rule]]\ndecision = \"ask\"",
		"an empty alternative":        "[[rule]]\ncommand = [\"a\", []]\ndecision = \"ask\"",
		"an allowing rule for all":    "[[rule]]\ncommand = \"*\"\ndecision = \"allow\"",
		"an example that fails":       "[[rule]]\ncommand = \"npm run\"\ndecision = \"ask\"\nmatch = [\"npm test\"]",
		"an example too many":         "[[rule]]\ncommand = \"npm run\"\ndecision = \"ask\"\nnot_match = [\"npm run x\"]",
		"an example that is no shell": "[[rule]]\ncommand = \"npm run\"\ndecision = \"ask\"\nmatch = [\"npm run 'x\"]",
		"an unknown mode":             "mode = \"free\"",
		"no TOML":                     "[[rule",
	} {
		if _, err := policy.Load(text); !errors.Is(err, fault.Misconfigured) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestTheModes(t *testing.T) {
	for _, c := range []struct {
		file, text string
		want       policy.Verdict
	}{
		{`mode = "permissive"`, "git push", policy.Allow},
		{`mode = "permissive"`, "rm -rf /", policy.Deny},
		{`mode = "restrictive"`, "ls", policy.Allow},
		{`mode = "restrictive"`, "make", policy.Deny},
		{"mode = \"custom\"\nallowed_commands = [\"git\", \"go test\"]", "cd x && git status", policy.Allow},
		{"mode = \"custom\"\nallowed_commands = [\"git\", \"go test\"]", "go build", policy.Deny},
		{"mode = \"custom\"\nallowed_commands = [\"git\"]", "git status | sh", policy.Ask},
		{"mode = \"custom\"\nallowed_commands = [\"git\"]", "/tmp/git status", policy.Deny},
		{"mode = \"custom\"\nallowed_commands = []", "echo", policy.Deny},
		{"mode = \"custom\"\nblocked_commands = [\"git push\"]", "git -c a.b=c push", policy.Deny},
	} {
		if d := load(t, c.file).Judge(script(c.text)); d.Verdict() != c.want {
			t.Errorf("%s: %q is %s, want %s\n%s", c.file, c.text, d.Verdict(), c.want, d.Explain())
		}
	}
}

func TestRestrictionsOnlyTighten(t *testing.T) {
	p := load(t, rules)
	only := []string{"git", "ls"}
	tight, err := p.Tightened(policy.Restrictions{Allowed: &only, Blocked: []string{"git push"}, Effects: map[effect.Kind]policy.Verdict{effect.Discard: policy.Deny}})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]policy.Verdict{"git status": policy.Allow, "make": policy.Deny, "git push": policy.Deny, "git reset --hard": policy.Deny} {
		if d := tight.Judge(script(text)); d.Verdict() != want {
			t.Errorf("%q is %s, want %s", text, d.Verdict(), want)
		}
	}
	if v := p.Judge(script("make")).Verdict(); v != policy.Allow {
		t.Errorf("the policy itself has changed: make is %s", v)
	}
	more := []string{"git", "ls", "make"}
	wider, err := tight.Tightened(policy.Restrictions{Allowed: &more})
	if err != nil {
		t.Fatal(err)
	}
	if v := wider.Judge(script("make")).Verdict(); v != policy.Deny {
		t.Error("a second list has widened the first")
	}
	_, err = tight.Tightened(policy.Restrictions{Effects: map[effect.Kind]policy.Verdict{effect.PublishVersions: policy.Allow}})
	if e := fault.From(err); e.Code != fault.Forbidden || !strings.Contains(e.Do, "person") {
		t.Errorf("loosening: %v", err)
	}
}
