package guard_test

import (
	"testing"

	"github.com/multiollama/mcp-server/file-write/internal/guard"
)

func TestNamesThatMayBeOneFileHaveOnePlainForm(t *testing.T) {
	for _, c := range []struct{ what, written, plain string }{
		{"a plain name stays", ".git", ".git"},
		{"case does not matter", ".GiT", ".git"},
		{"the long s folds to s", ".\u017f\u017fh", ".ssh"},
		{"the Kelvin sign folds to k", "hoo\u212as", "hooks"},
		{"a decomposed letter is the composed one", "cafe\u0301", "caf\u00e9"},
		{"a capital one too", "CAFE\u0301", "caf\u00e9"},
		{"a default stream is the file itself", "x.exe::$DATA", "x.exe"},
		{"a directory's stream is the directory", ".git::$INDEX_ALLOCATION", ".git"},
		{"another stream belongs to the file", ".bashrc:x", ".bashrc"},
		{"dots at the end are dropped", ".git...", ".git"},
		{"spaces too, and both mixed", ".git . . ", ".git"},
		{"and before a stream", ".git. ::$DATA", ".git"},
		{"what HFS+ ignores is ignored", ".g\u200ci\ufefft\u202e", ".git"},
		{"also after a dot at the end", ".git.\u200d", ".git"},
		{"and between a letter and its accent", "cafe\u200c\u0301", "caf\u00e9"},
		{"a leading space is part of the name", " .git", " .git"},
		{"a dot within too", "a.b", "a.b"},
		{"a leading colon begins no stream", ":x", ":x"},
		{"only dots are nothing", "..", ""},
	} {
		if got := guard.Plain(c.written); got != c.plain {
			t.Errorf("%s: %q is %q, want %q", c.what, c.written, got, c.plain)
		}
	}
}

func TestAShortNameIsKnownByTheNameItWasMadeOf(t *testing.T) {
	for _, c := range []struct {
		what, short, long string
		want              bool
	}{
		{"a leading dot is left out", "git~1", ".git", true},
		{"the number depends on what else is there", "git~7", ".git", true},
		{"six letters are kept", "gitmod~1", ".gitmodules", true},
		{"five before a number of two digits", "bashr~12", ".bashrc", true},
		{"an extension keeps three letters", "mcp~1.jso", ".mcp.json", true},
		{"dots in the stem are left out", "precom~1.yam", ".pre-commit-config.yaml", false},
		{"and hyphens are not", "pre-co~1.yam", ".pre-commit-config.yaml", true},
		{"spaces are left out", "startm~1", "start menu", true},
		{"after four of a kind a hash stands in for the name", "gi7eba~1", ".gitmodules", true},
		{"a hash is hexadecimal", "gixyzw~1", ".gitmodules", false},
		{"another extension is another file", "mcp~1.txt", ".mcp.json", false},
		{"another beginning too", "got~1", ".git", false},
		{"a tilde without a number is no short name", "git~", ".git", false},
		{"nor is one followed by letters", "git~a", ".git", false},
		{"nor one that is too long", "gitmodul~1", ".gitmodules", false},
		{"nor the name itself", ".git", ".git", false},
	} {
		if got := guard.IsShortOf(c.short, c.long); got != c.want {
			t.Errorf("%s: %s of %s is %v", c.what, c.short, c.long, got)
		}
	}
}

// FuzzPlain holds that the plain form of a plain form is itself, and that nothing
// that looks at short names panics.
func FuzzPlain(f *testing.F) {
	for _, seed := range []string{".git", "GIT~1", "MCP~1.JSO", "x.exe::$DATA", ".g\u200cit. .", "\xff~1", "~1", "a~1.", "cafe\u0301"} {
		f.Add(seed, ".gitmodules")
	}
	f.Fuzz(func(t *testing.T, name, long string) {
		plain := guard.Plain(name)
		if again := guard.Plain(plain); again != plain {
			t.Errorf("%q is %q and then %q", name, plain, again)
		}
		if guard.IsShortOf(plain, guard.Plain(long)) && !guard.IsShort(plain) {
			t.Errorf("%q is the short name of %q without being one", plain, long)
		}
	})
}
