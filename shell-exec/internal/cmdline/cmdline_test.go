package cmdline

import (
	"errors"
	"strings"
	"testing"
)

func TestWhatTheShellMayReadDifferentlyIsRefused(t *testing.T) {
	for text, where := range map[string]int{
		"ls\rrm":                             2,
		"ls\x00rm":                           2,
		"a=(x)# rm -rf /":                    5,
		"ls " + string(Hole):                 3,
		"if then":                            0,
		"echo 'x":                            5,
		strings.Repeat("(", 500):             400,
		strings.Repeat("x", MaxLength+1):     MaxLength,
		strings.Repeat("a|", maxOperators+1): 0,
	} {
		_, err := Parse(text, Bash)
		var u *Unreadable
		if !errors.As(err, &u) {
			t.Errorf("%.20q is read", text)
			continue
		}
		if u.Offset != where {
			t.Errorf("%.20q: refused at %d, want %d: %s", text, u.Offset, where, u.Why)
		}
	}
	if _, err := Parse("ls", 0); err == nil {
		t.Error("the zero grammar reads something")
	}
}

func TestACommentEndsWithItsLine(t *testing.T) {
	file, err := Parse("echo hi # x \\\nrm -rf / # y \\\nls", Bash)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(file.Stmts); n != 3 {
		t.Errorf("%d statements", n)
	}
}

func TestTheGrammarsDiffer(t *testing.T) {
	for text, readable := range map[string][2]bool{"a=(1 2)": {true, false}, "diff <(a) <(b)": {true, false}, "ls | wc": {true, true}} {
		for i, g := range []Grammar{Bash, POSIX} {
			if _, err := Parse(text, g); (err == nil) != readable[i] {
				t.Errorf("%q in grammar %d: %v", text, g, err)
			}
		}
	}
}

func TestEscapesAreReadAsTheShellDoes(t *testing.T) {
	for in, want := range map[string]string{`\x72m`: "rm", `\162\155`: "rm", `a\tb\n`: "a\tb\n", `\u00e9`: "é", `\cA`: "\x01", `\q`: `\q`, `x\`: `x\`, `\x`: `\x`} {
		if got := Decode(in); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{`r\m`: "rm", `\*`: "*", `*`: string(Star), "a\\\nb": "ab", `[`: "[", `[a]`: string(Set) + "a]"} {
		if got := Unescape(in, false); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
	if got := Unescape(`\$\"\x*`, true); got != `$"\x*` {
		t.Errorf("in quotes: %q", got)
	}
}

func TestQuotedTextIsOneWordAgain(t *testing.T) {
	for in, want := range map[string]string{"": "''", "a-b/c": "a-b/c", "a b": "'a b'", "it's": `'it'\''s'`, "$x": "'$x'"} {
		if got := Quote(in); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
}

func TestAPromptTakesSomeTextsOtherwiseThanAScript(t *testing.T) {
	for text, as := range map[string][2]bool{ // in bash, in dash
		"ls -la": {true, true}, "echo 'a!b'": {true, true}, "!!": {false, true}, "echo \"a!b\"": {false, true}, "echo \"a!\"": {true, true}, "[ a != b ]": {true, true},
		"^a^b": {false, true}, "ls\tx": {false, false}, "ls\x15": {false, false}, "ls\xff": {false, false}, "echo 'a\nb!c'": {false, true}, "ls \\": {false, false}, `echo \!x`: {true, true},
		strings.Repeat("x", maxTyped+1): {false, false},
	} {
		for i, g := range []Grammar{Bash, POSIX} {
			if err := AtPrompt(text, g); (err == nil) != as[i] {
				t.Errorf("%.20q in grammar %d: %v", text, g, err)
			}
		}
	}
}

func TestOfZshAndFishOnlyPlainWordsAreRead(t *testing.T) {
	for text, readable := range map[string]bool{
		"ls -la a.txt": true, "ls && pwd; git log | head": true, "ls\npwd": true,
		"echo $x": false, "ls *": false, "ls &": false, "ls |& wc": false, "=ls": false, "x=1 ls": false, "- ls": false, "repeat 2 ls": false, "begin; ls; end": false, "alias a b": false, "ls ~": false,
	} {
		for _, g := range []Grammar{Zsh, Fish} {
			if _, err := Parse(text, g); (err == nil) != readable {
				t.Errorf("%q in grammar %d: %v", text, g, err)
			}
		}
	}
}

func TestATextThatIsOnlyUnfinishedIsToldApart(t *testing.T) {
	for text, incomplete := range map[string]bool{"echo 'x": true, "cat <<E\nx": true, "cat <<'E'": true, "if a; then": true, "a |": true, "fi": false, "a )": false, "a | ;": false} {
		_, err := Parse(text, Bash)
		var u *Unreadable
		if !errors.As(err, &u) || u.Incomplete != incomplete {
			t.Errorf("%q: %v", text, err)
		}
	}
}
