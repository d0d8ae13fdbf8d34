package terminal

import (
	"errors"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shared/fault"
)

func TestControlCodesAreTheBytesTheyStandFor(t *testing.T) {
	for text, want := range map[string]string{
		`ls`: "ls", `\x03`: "\x03", `\n`: "\n", `\r`: "\r", `\t`: "\t", `\e[A`: "\x1b[A", `\033[B`: "\x1b[B", `\u3042`: "あ", `\U0001F600`: "😀", `^C`: "\x03", `^c`: "\x03",
		`^[`: "\x1b", `^?`: "\x7f", `^@`: "\x00", `\\`: `\`, `^^`: "^", `\^`: "^", `\0`: "\x00", `\12`: "\n", `\7x`: "\ax", `\xff`: "\xff", "a\nb": "a\rb", "a\r\nb": "a\rb",
		`日本\x0d`: "日本\r", `:wq\r`: ":wq\r", `\x1b:q!\n`: "\x1b:q!\n", ``: "",
	} {
		if got, err := codes(text); err != nil || string(got) != want {
			t.Errorf("%s is %q, %v", text, got, err)
		}
	}
	for text, place := range map[string]string{
		`\`: "position 1", `ab\`: "position 3", `\q`: "position 1", `\x`: "position 1", `\x0`: "position 1", `\xzz`: "position 1", `日\x1`: "position 2", `\u12`: "position 1", `\ud800`: "position 1",
		`\UFFFFFFFF`: "position 1", `^`: "position 1", `a^1`: "position 2", `\777`: "position 1", `\é`: "position 1",
	} {
		if _, err := codes(text); !errors.Is(err, fault.ParamMalformed) || !strings.Contains(err.Error(), place) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestRawBytesAreHexadecimal(t *testing.T) {
	for text, want := range map[string]string{"1b5b41": "\x1b[A", "1B 5b\n41": "\x1b[A", "": "", "e3 81 82": "あ"} {
		if got, err := fromHex(text); err != nil || string(got) != want {
			t.Errorf("%s is %q, %v", text, got, err)
		}
	}
	for _, text := range []string{"1", "1b5", "zz", "0x1b", "あ"} {
		if _, err := fromHex(text); !errors.Is(err, fault.ParamMalformed) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestKeysSendWhatTheScreenAskedFor(t *testing.T) {
	for name, want := range map[string]string{
		"Enter": "\r", "Tab": "\t", "Escape": "\x1b", "Up": "\x1b[A", "left": "\x1b[D", "Home": "\x1b[H", "PageUp": "\x1b[5~", "Delete": "\x1b[3~", "Backspace": "\x7f", "F1": "\x1bOP", "F12": "\x1b[24~",
		"Ctrl+C": "\x03", "ctrl+c": "\x03", "Ctrl+[": "\x1b", "Ctrl+Space": "\x00", "Ctrl+?": "\x7f", "Alt+b": "\x1bb", "Alt+B": "\x1bB", "Alt+Enter": "\x1b\r", "Ctrl+Alt+x": "\x1b\x18", "Shift+Tab": "\x1b[Z",
		"Ctrl+Left": "\x1b[1;5D", "Shift+Up": "\x1b[1;2A", "Alt+日": "\x1b日", "Alt++": "\x1b+",
	} {
		if got, err := keys([]string{name}, false); err != nil || string(got) != want {
			t.Errorf("%s sends %q, %v", name, got, err)
		}
	}
	if got, err := keys([]string{"Up", "Home", "Enter"}, true); err != nil || string(got) != "\x1bOA\x1bOH\r" {
		t.Errorf("%q, %v", got, err)
	}
	for _, name := range []string{"", "x", "Ctrl", "Ctrl+", "Ctrl+é", "F13", "Hyper+x", "Shift+a", "Ctrl+Ctrl+a", "Enter "} {
		if _, err := keys([]string{name}, false); !errors.Is(err, fault.ParamInvalid) {
			t.Errorf("%q: %v", name, err)
		}
	}
}
