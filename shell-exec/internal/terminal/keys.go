package terminal

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/multiollama/mcp-server/shared/fault"
)

// named are the keys that always send the same.
var named = map[string]string{
	"enter": "\r", "return": "\r", "tab": "\t", "shift+tab": "\x1b[Z", "escape": "\x1b", "esc": "\x1b", "space": " ", "backspace": "\x7f",
	"insert": "\x1b[2~", "delete": "\x1b[3~", "pageup": "\x1b[5~", "pagedown": "\x1b[6~",
	"f1": "\x1bOP", "f2": "\x1bOQ", "f3": "\x1bOR", "f4": "\x1bOS", "f5": "\x1b[15~", "f6": "\x1b[17~", "f7": "\x1b[18~", "f8": "\x1b[19~",
	"f9": "\x1b[20~", "f10": "\x1b[21~", "f11": "\x1b[23~", "f12": "\x1b[24~",
}

// cursor are the keys that a program may have switched to another form.
var cursor = map[string]byte{"up": 'A', "down": 'B', "right": 'C', "left": 'D', "home": 'H', "end": 'F'}

// modifiers with the number that encodes them in a sequence.
var modifiers = map[string]int{"shift": 1, "alt": 2, "ctrl": 4}

// keys is what pressing them sends. application says that the program wants the cursor keys in their other form.
func keys(names []string, application bool) ([]byte, error) {
	var out []byte
	for _, name := range names {
		sent, ok := key(name, application)
		if !ok {
			return nil, fault.New(fault.ParamInvalid, fmt.Sprintf("there is no key %q", name),
				"Use Enter, Tab, Escape, Space, Backspace, Delete, Insert, Up, Down, Left, Right, Home, End, PageUp, PageDown, "+
					"F1 to F12, Ctrl+C, Alt+X or Shift+Tab").
				With("parameter", "keys").With("key", name)
		}
		out = append(out, sent...)
	}
	return out, nil
}

// key is what a key sends, with others held or not: Enter, Ctrl+C, Alt+x, Ctrl+Left.
func key(name string, application bool) (string, bool) {
	if sent, ok := named[strings.ToLower(name)]; ok {
		return sent, true
	}
	if letter, ok := cursor[strings.ToLower(name)]; ok {
		if application {
			return "\x1bO" + string(letter), true
		}
		return "\x1b[" + string(letter), true
	}
	modifier, rest := 0, name
	for {
		before, after, found := strings.Cut(rest, "+")
		bit, known := modifiers[strings.ToLower(before)]
		if !found || !known || after == "" || modifier&bit != 0 {
			break
		}
		modifier, rest = modifier|bit, after
	}
	if modifier == 0 {
		return "", false
	}
	word := strings.ToLower(rest)
	if letter, ok := cursor[word]; ok {
		return fmt.Sprintf("\x1b[1;%d%c", modifier+1, letter), true
	}

	// It has no form of its own for those held: Ctrl makes a control character, Alt sends Escape before.
	sent, ok := named[word]
	if modifier == modifiers["ctrl"] || modifier == modifiers["ctrl"]|modifiers["alt"] {
		sent, ok = controlled(rest)
	} else if utf8.RuneCountInString(rest) == 1 {
		sent, ok = rest, true
	}
	if !ok || modifier&modifiers["shift"] != 0 {
		return "", false
	}
	if modifier&modifiers["alt"] != 0 {
		sent = "\x1b" + sent
	}
	return sent, true
}

func controlled(rest string) (string, bool) {
	switch word := strings.ToLower(rest); {
	case word == "space":
		return "\x00", true
	case rest == "?":
		return "\x7f", true
	case len(rest) == 1 && word[0] >= 'a' && word[0] <= 'z':
		return string(rune(word[0] - 'a' + 1)), true
	case len(rest) == 1 && rest[0] >= '@' && rest[0] <= '_':
		return string(rune(rest[0] - '@')), true
	}
	return "", false
}
