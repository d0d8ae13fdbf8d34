package cmdline

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Unescape takes the backslashes out of a literal as it stands in a script. Outside
// quotes its *, ? and [ become patterns.
func Unescape(s string, quoted bool) Text {
	if quoted {
		return unescapeQuoted(s)
	}
	if !strings.ContainsAny(s, `\*?[`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == '\\' && i+1 < len(s) {
			next, m := utf8.DecodeRuneInString(s[i+1:])
			if next != '\n' {
				b.WriteString(s[i+1 : i+1+m])
			}
			i += 1 + m
			continue
		}
		switch {
		case r == '*':
			b.WriteRune(Star)
		case r == '?':
			b.WriteRune(Any)
		case r == '[' && strings.IndexByte(s[i:], ']') > 0:
			b.WriteRune(Set)
		default:
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}

// unescapeQuoted: in double quotes a backslash counts only before " \ $ ` and a line end.
func unescapeQuoted(s string) Text {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) || !strings.ContainsRune("\"\\$`\n", rune(s[i+1])) {
			b.WriteByte(s[i])
			continue
		}
		i++
		if s[i] != '\n' {
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// simpleEscapes are those of $'…', echo -e and printf that stand for one character.
var simpleEscapes = map[byte]byte{'a': 7, 'b': 8, 'e': 27, 'E': 27, 'f': 12, 'n': '\n', 'r': '\r', 't': '\t', 'v': 11, '\\': '\\', '\'': '\'', '"': '"', '?': '?'}

// Decode reads the escapes of $'…'.
func Decode(s string) Text {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i += escape(&b, s[i+1:])
	}
	return b.String()
}

var octal = regexp.MustCompile(`\\0([0-7]{1,3})`)

// DecodeEcho reads the escapes of echo -e and of printf's %b, where an octal number has a
// 0 before it.
func DecodeEcho(s string) Text { return Decode(octal.ReplaceAllString(s, `\$1`)) }

// escape writes the character that s, the text after a backslash, begins with, and
// says how much of s that took.
func escape(b *strings.Builder, s string) int {
	if c, ok := simpleEscapes[s[0]]; ok {
		b.WriteByte(c)
		return 1
	}
	switch s[0] {
	case 'x':
		return digits(b, s, 2, 16)
	case 'u':
		return digits(b, s, 4, 16)
	case 'U':
		return digits(b, s, 8, 16)
	case 'c':
		if len(s) > 1 {
			b.WriteByte(s[1] & 0x1f)
			return 2
		}
	case '0', '1', '2', '3', '4', '5', '6', '7':
		n := len(prefixOf(s, "01234567", 3))
		v, _ := strconv.ParseUint(s[:n], 8, 16)
		b.WriteByte(byte(v))
		return n
	}
	b.WriteByte('\\')
	b.WriteByte(s[0])
	return 1
}

func digits(b *strings.Builder, s string, most, base int) int {
	d := prefixOf(s[1:], "0123456789abcdefABCDEF", most)
	v, err := strconv.ParseUint(d, base, 32)
	switch {
	case err != nil:
		b.WriteString(`\` + s[:1])
		return 1
	case s[0] == 'x':
		b.WriteByte(byte(v))
	default:
		b.WriteRune(rune(v))
	}
	return 1 + len(d)
}

func prefixOf(s, of string, most int) string {
	n := 0
	for n < len(s) && n < most && strings.IndexByte(of, s[n]) >= 0 {
		n++
	}
	return s[:n]
}
