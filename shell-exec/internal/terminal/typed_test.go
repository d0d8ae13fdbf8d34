package terminal

import (
	"slices"
	"strings"
	"testing"
)

// prompt is a shell's prompt as it is as a rule.
var prompt = keyboard{interrupts: true, usual: true, unicode: true, pastes: true}

func with(change func(*keyboard)) keyboard {
	k := prompt
	change(&k)
	return k
}

func TestWhatIsTypedIsFollowedAsFarAsItCanBe(t *testing.T) {
	canonical := with(func(k *keyboard) { k.canonical = true })
	deaf := with(func(k *keyboard) { k.interrupts = false })
	changed := with(func(k *keyboard) { k.usual = false })
	latin := with(func(k *keyboard) { k.unicode = false })
	for _, c := range []struct {
		name      string
		inputs    string // several between |
		keyboard  keyboard
		lines     string // completed by the last input
		completes bool
		unknown   bool
		text      string // left on the line
	}{
		{"text stays on the line", "ls", prompt, "", false, false, "ls"},
		{"Enter completes it", "ls\r", prompt, "ls", true, false, ""},
		{"so do ^J and the end of a line", "a\nb\n", prompt, "a\nb", true, false, ""},
		{"what was typed before counts", "rm |-rf x\r", prompt, "rm -rf x", true, false, ""},
		{"Backspace takes one character away", "lsx\x7f|\r", prompt, "ls", true, false, ""},
		{"of a letter beyond ASCII nobody knows how much", "é\x7f", prompt, "", false, true, "é"},
		{"^H is Backspace to a shell", "lsx\x08\r", prompt, "ls", true, false, ""},
		{"and text to the terminal itself", "lsx\x08\r", canonical, "lsx", true, true, ""},
		{"^U clears the line", "rm x\x15ls\r", prompt, "ls", true, false, ""},
		{"^C clears it", "rm x|\x03|ls\r", prompt, "ls", true, false, ""},
		{"^C that means nothing does not", "rm |\x03|x\r", deaf, "rm x", true, true, ""},
		{"^W takes a plain word", "rm ab\x17cd\r", prompt, "rm cd", true, false, ""},
		{"of another word nobody knows how much", "rm a-b\x17", prompt, "", false, true, "rm a-b"},
		{"an arrow makes the line unknown", "a\x1b[D", prompt, "", false, true, "a"},
		{"which its completion tells", "a\x1b[D|\r", prompt, "a", true, true, ""},
		{"and ends", "a\x1b[D|\r|ls\r", prompt, "ls", true, false, ""},
		{"Tab makes it unknown until ^C", "a\t|\r|ls\r", prompt, "ls", true, true, ""},
		{"of which it takes two", "a\t|\x03|ls\r", prompt, "ls", true, true, ""},
		{"after that it is known", "a\t|\x03|\x03|ls\r", prompt, "ls", true, false, ""},
		{"Escape may run something by itself", "\x1b", prompt, "", true, true, ""},
		{"and any key after it", "\x1b|v", prompt, "", true, true, "v"},
		{"so may ^X", "\x18", prompt, "", true, true, ""},
		{"^V hides the next key, ^C too", "\x16|\x03|\x03|ls\r", prompt, "ls", true, true, ""},
		{"^O runs the line and brings another", "a\x0f|b\r", prompt, "b", true, true, ""},
		{"^D on an empty line runs nothing", "\x04", prompt, "", false, false, ""},
		{"in a line it is unknown", "a\x04", prompt, "", false, true, "a"},
		{"to a terminal that gives out lines it completes one", "rm x\x04", canonical, "rm x", true, false, ""},
		{"of which another may be the end", "rm x\x04|\x04", canonical, "", true, true, ""},
		{"or what is typed the rest", "rm x\x04|y\r", canonical, "y", true, true, ""},
		{"after Enter it is the end of a file", "x\r\x04", canonical, "x\n", true, false, ""},
		{"other keys of the terminal make all unknown", "ls\r", changed, "ls", true, true, ""},
		{"letters are keys to a shell that knows ASCII alone", "é", latin, "", false, true, ""},
		{"a paste is text with its ends of lines", "\x1b[200~a\rb\x1b[201~", prompt, "", false, false, "a\nb"},
		{"which Enter completes", "\x1b[200~a\rb\x1b[201~\r", prompt, "a\nb", true, false, ""},
		{"a paste without its end is none", "\x1b[200~a", prompt, "", true, true, "[200~a"},
		{"a key in a paste makes it none", "\x1b[200~\x03\x1b[201~", with(func(k *keyboard) { k.interrupts = false }), "", true, true, "[200~[201~"},
		{"a line that the terminal would cut is unknown", strings.Repeat("x", 4001), canonical, "", false, true, strings.Repeat("x", 4001)},
	} {
		var state typed
		var r reading
		for _, input := range strings.Split(c.inputs, "|") {
			r = state.read([]byte(input), c.keyboard)
			state = r.after(true)
		}
		if got := strings.Join(r.lines, "\n"); got != c.lines || r.completes != c.completes || r.unknown != c.unknown || string(state.text) != c.text {
			t.Errorf("%s: %q completes %q (%v), unknown %v, leaves %q", c.name, c.inputs, got, r.completes, r.unknown, state.text)
		}
	}
}

func TestLinesOfAnUnfinishedCommandAreReadTogether(t *testing.T) {
	var state typed
	r := state.read([]byte("rm \\\r"), prompt)
	state = r.after(false)
	r = state.read([]byte("-rf x\rls\r"), prompt)
	lines, known := r.all()
	if want := []string{"rm \\", "-rf x", "ls"}; !slices.Equal(lines, want) || !known {
		t.Errorf("%q, known %v", lines, known)
	}
	p := Pending{Text: strings.Join(lines, "\n"), Lines: lines}
	var texts []string
	complete, err := p.Each(func(text string) (bool, error) { texts = append(texts, text); return true, nil })
	if want := []string{"rm \\\n-rf x\nls", "-rf x\nls", "ls"}; !slices.Equal(texts, want) || !complete || err != nil {
		t.Errorf("%q %t %v", texts, complete, err)
	}
	if r = r.after(true).read([]byte("x\r"), prompt); len(r.before) > 0 {
		t.Errorf("%q is still there", r.before)
	}
	state = typed{}.read([]byte("cat <<E\r"), prompt).after(false)
	if r = state.read([]byte("\x03"), prompt); len(r.after(true).earlier) > 0 {
		t.Error("^C left something")
	}
	if r = state.read([]byte("\x04"), prompt); !r.completes || !r.ends {
		t.Error("the end of a here-document runs nothing")
	}
	doubted := state.read([]byte("x\x1b[D"), prompt).after(false)
	doubted.text = nil
	if r = doubted.read([]byte("\x04"), prompt); !r.completes || !r.unknown {
		t.Error("it runs nothing after a key that nobody knows")
	}
}

// What is whole is run before the rest is there.
func TestWhatStandsBeforeAnUnfinishedCommandIsJudged(t *testing.T) {
	p := Pending{Lines: []string{"rm -rf x", "ls", "for i in 1; do"}}
	var wholes []string
	complete, err := p.Each(func(text string) (bool, error) {
		whole := !strings.HasSuffix(text, "do")
		if whole {
			wholes = append(wholes, text)
		}
		return whole, nil
	})
	if want := []string{"rm -rf x\nls", "ls"}; !slices.Equal(wholes, want) || complete || err != nil {
		t.Errorf("%q %t %v", wholes, complete, err)
	}
}

func TestWhatIsTypedWithoutEndIsBounded(t *testing.T) {
	var state typed
	for range 100 {
		state = state.read([]byte(strings.Repeat("x", 10_000)), prompt).after(false)
	}
	if len(state.text) > maxTyped || state.doubt == sure {
		t.Errorf("%d bytes, %v", len(state.text), state.doubt)
	}
	r := typed{}.read([]byte(strings.Repeat("a\r", maxLines+1)), prompt)
	if _, known := r.all(); known {
		t.Error("that many lines are told as known")
	}
}

// FuzzTyped holds the model to what does not depend on a shell: nothing panics, an input in two parts is the same as in
// one, and a line that is known is made of what was typed.
func FuzzTyped(f *testing.F) {
	for _, s := range []string{"ls\r", "a\x7f\x7f\x15\x17", "\x1b[A\t\x03x\r", "\x1b[200~a\rb\x1b[201~", "é日本\xff", "\x16\x03\x18\x05"} {
		f.Add([]byte(s), 1)
	}
	f.Fuzz(func(t *testing.T, input []byte, cut int) {
		r := typed{}.read(input, prompt)
		for _, l := range r.lines {
			if !r.unknown && strings.ContainsAny(l, "\x00\x03\x1b\t\r") && !strings.Contains(string(input), pasteBegins) {
				t.Fatalf("%q made the line %q", input, l)
			}
		}
		if cut < 0 || cut > len(input) || strings.ContainsAny(string(input), "\x1b") || !isText(input) {
			return
		}
		one := typed{}.read(input[:cut], prompt)
		two := one.next.read(input[cut:], prompt)
		if got := append(slices.Clone(one.lines), two.lines...); !slices.Equal(got, r.lines) || string(two.next.text) != string(r.next.text) || two.next.doubt != r.next.doubt {
			t.Fatalf("%q cut at %d: %q and %q", input, cut, got, r.lines)
		}
	})
}

func isText(p []byte) bool {
	return !slices.ContainsFunc(p, func(c byte) bool { return c >= 0x80 })
}
