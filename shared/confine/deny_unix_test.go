//go:build linux || darwin

package confine_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
)

func TestWhatIsDeniedIsNotThere(t *testing.T) {
	for _, c := range []struct {
		what    string
		deny    string // BASE is the directory that holds allow/
		denied  []string
		allowed []string
	}{
		{"a name anywhere", "private", []string{"private", "a/private", "private/f", "a/private/b/f"}, []string{"privates", "a/f"}},
		{"in any case", ".GIT", []string{".git", ".Git/hooks/x", "a/.gIT"}, []string{".gitignore"}},
		{"with letters that fold to ASCII", ".ssh", []string{".\u017fsh/x"}, nil},
		{"in either normal form, given composed", "caf\u00e9", []string{"caf\u00e9", "cafe\u0301", "CAFE\u0301"}, []string{"cafe"}},
		{"in either normal form, given decomposed", "cafe\u0301", []string{"caf\u00e9", "cafe\u0301"}, []string{"cafe"}},
		{"a pattern of names", "*.pem", []string{"x.pem", "a/x.PEM", "x.pem/f"}, []string{"x.pem.txt"}},
		{"a way from the root", "a/b", []string{"a/b", "a/b/c", "A/B"}, []string{"b", "c/a/b", "a/c"}},
		{"a way at any depth", "**/a/b", []string{"a/b", "c/a/b/d"}, []string{"a/c"}},
		{"a directory with a trailing slash", "private/", []string{"private", "a/private/f"}, []string{"x"}},
		{"a name with a leading dot and slash", "./private", []string{"private"}, []string{"x"}},
		{"everything beneath a directory", "a/**", []string{"a", "a/b/c"}, []string{"b", "c/a"}},
		{"an absolute path", "BASE/allow/a", []string{"a", "a/b", "BASE/allow/a"}, []string{"b", "c/a"}},
		{"an absolute path above the root", "BASE", []string{".", "a"}, nil},
		{"an absolute path through a link", "BASE/link/a", []string{"a", "a/b"}, []string{"b"}},
		{"an absolute pattern through a link", "BASE/link/*/key", []string{"x/key", "x/key/y"}, []string{"key"}},
		{"a path beneath the home", "~/a", []string{"a", "a/b", "~/a/x"}, []string{"b"}},
		{"a dot pattern does not mean the root itself", ".*", []string{".x", "a/.y/z"}, []string{".", "a"}},
		{"everything", "**", []string{"a", "a/b"}, nil},
		{"the whole disk", "/", []string{".", "a"}, nil},
		{"alternatives", "{a,b/c}", []string{"a", "b/c/d"}, []string{"c", "b/d"}},
	} {
		base := fixture(t, "link => allow")
		t.Setenv("HOME", base+"/allow")
		in := func(s string) string { return strings.ReplaceAll(s, "BASE", base) }
		r := roots(t, confine.ByWalk, confine.Options{Deny: []string{in(c.deny)}}, base)
		for _, name := range c.denied {
			if _, err := r.Parse(in(name)); !errors.Is(err, fault.OutsideAllowed) || detail(err, "denied") != true {
				t.Errorf("%s: %q does not deny %q: %v", c.what, c.deny, name, err)
			}
		}
		for _, name := range c.allowed {
			if _, err := r.Parse(in(name)); err != nil {
				t.Errorf("%s: %q denies %q: %v", c.what, c.deny, name, err)
			}
		}
	}
}

func TestADenyPatternThatCannotBeReadStopsTheStart(t *testing.T) {
	for _, pattern := range []string{"[", "", "a/../b", strings.Repeat("{a,b}", 30)} {
		_, err := confine.Open([]string{t.TempDir()}, confine.Options{Deny: []string{"x", pattern}})
		if !errors.Is(err, fault.Misconfigured) {
			t.Errorf("%q: %v, want SYSTEM_003", pattern, err)
		}
	}
}

func TestSecretsAreDeniedAndTemplatesAndPublicKeysAreNot(t *testing.T) {
	base := fixture(t)
	r := roots(t, confine.ByWalk, confine.Options{DenySecrets: true}, base)
	for _, name := range []string{
		".env", "a/.ENV", ".env.local", ".env.production", ".env/x", "server.pem", "tls/server.KEY", "x.p12", "id_rsa", "id_ed25519",
		"id_ed25519_work", "id_rsa.bak", ".netrc", ".npmrc", ".pypirc", ".git-credentials", ".aws/credentials", ".config/gcloud/credentials.db",
		".kube/config", ".docker/config.json", "pass.kdbx", ".ssh/config", ".ssh/known_hosts", ".ssh/x/y", ".gnupg/private-keys-v1.d/k", ".config/gh/hosts.yml",
		"id_rsa.pub/x", ".ssh/x.pub/key", ".ssh/keys.pub/id_rsa", ".env.example/.env",
	} {
		if _, err := r.Parse(name); !errors.Is(err, fault.OutsideAllowed) {
			t.Errorf("%s is not denied: %v", name, err)
		}
	}
	for _, name := range []string{
		".environment", "env", "key", "keys.go", "monkey", "id_rsa.pub", ".ssh/id_ed25519.pub", ".ssh", ".env.example", "a/.env.sample",
		"config", "credentials", ".docker", "aws/credentials", "kube/config", "public.pub",
	} {
		if _, err := r.Parse(name); err != nil {
			t.Errorf("%s is denied: %v", name, err)
		}
	}
}

func TestEveryRowOfTheTableOfSecretsDeniesWhatItNames(t *testing.T) {
	base := fixture(t)
	r := roots(t, confine.ByWalk, confine.Options{DenySecrets: true}, base)
	denied, readable := confine.SecretTable()
	for _, pattern := range denied {
		if strings.HasPrefix(pattern, "/") {
			continue // not under a fresh directory
		}
		name := strings.ReplaceAll(strings.ReplaceAll(pattern, "**/", "x/"), "*", "y")
		if _, err := r.Parse(name); !errors.Is(err, fault.OutsideAllowed) {
			t.Errorf("%s does not deny %s", pattern, name)
		}
	}
	for _, pattern := range readable {
		if _, err := r.Parse(strings.ReplaceAll(pattern, "*", "id_rsa")); err != nil {
			t.Errorf("%s: %v", pattern, err)
		}
	}
}

func TestAnExceptionForFilesDoesNotOpenADirectory(t *testing.T) {
	eachMechanism(t, func(t *testing.T, by confine.Mechanism) {
		base := fixture(t, "allow/.ssh/id_rsa.pub", "allow/.ssh/keys.pub/id_rsa")
		r := roots(t, by, confine.Options{DenySecrets: true}, base)
		got, err := read(r, ".ssh/id_rsa.pub")
		outcome(t, "a public key", got, err, "allow/.ssh/id_rsa.pub")
		got, err = list(r, ".ssh/keys.pub")
		outcome(t, "a directory of that name", got, err, fault.OutsideAllowed)
		p, err := r.Parse(".ssh")
		if err != nil {
			t.Fatal(err)
		}
		d, err := p.OpenDir()
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		_, err = d.OpenDir("keys.pub")
		outcome(t, "the same as an entry", "", err, fault.OutsideAllowed)
		got, err = content(p.Child("keys.pub").Child("id_rsa").Open())
		outcome(t, "a file in it", got, err, fault.OutsideAllowed)
	})
}

func TestARuleIsNoOtherRulesException(t *testing.T) {
	base := fixture(t)
	r := roots(t, confine.ByWalk, confine.Options{DenySecrets: true, Deny: []string{"*.pub"}}, base)
	if _, err := r.Parse("id_rsa.pub"); !errors.Is(err, fault.OutsideAllowed) {
		t.Errorf("what the person denies is readable as an exception of the table: %v", err)
	}
}

func TestADeniedNameLooksTheSameWhetherItExistsOrNot(t *testing.T) {
	base := fixture(t, "allow/private", "allow/a/")
	r := roots(t, confine.ByWalk, confine.Options{Deny: []string{"private"}}, base)
	_, there := read(r, "private")
	_, missing := read(r, "a/private")
	if there == nil || missing == nil ||
		strings.ReplaceAll(there.Error(), "private", "a/private") != missing.Error() {
		t.Errorf("%v / %v", there, missing)
	}
}
