package terminal

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/multiollama/mcp-server/shared/fault"
)

// asTyped is text as a keyboard sends it: the end of a line is the key Enter.
func asTyped(text string) []byte {
	return []byte(strings.NewReplacer("\r\n", "\r", "\n", "\r").Replace(text))
}

// escapes are the letters after a backslash that stand for one byte.
var escapes = map[byte]byte{
	'a': 7, 'b': 8, 't': 9, 'n': 10, 'v': 11, 'f': 12, 'r': 13, 'e': 27, 'E': 27, '\\': '\\', '^': '^', '"': '"', '\'': '\'',
}

// codes resolves control codes: \xHH, \0NNN and \NNN (octal), \uHHHH, \UHHHHHHHH, \e and the escapes of C, ^A to ^_, ^?,
// and \\, \^ and ^^ for the characters themselves. An error names the position of what is wrong.
func codes(text string) ([]byte, error) {
	var out []byte
	for at := 0; at < len(text); {
		size, err := 1, error(nil)
		switch c := text[at]; {
		case c == '\\':
			out, size, err = backslash(out, text, at)
		case c == '^' && at+1 == len(text):
			err = malformedCode(text, at, "a ^ has nothing after it; write ^^ for the character")
		case c == '^':
			size = 2
			switch c := text[at+1]; {
			case c == '?':
				out = append(out, 0x7f)
			case c == '^':
				out = append(out, '^')
			case c >= '@' && c <= '_':
				out = append(out, c-'@')
			case c >= 'a' && c <= 'z':
				out = append(out, c-'a'+1)
			default:
				err = malformedCode(text, at, "there is no such control character; write ^^ for the character ^")
			}
		case c == '\n' || c == '\r':
			out = append(out, '\r')
			if strings.HasPrefix(text[at:], "\r\n") {
				size = 2
			}
		default:
			out = append(out, c)
		}
		if err != nil {
			return nil, err
		}
		at += size
	}
	return out, nil
}

func backslash(out []byte, text string, at int) ([]byte, int, error) {
	if at+1 == len(text) {
		return nil, 0, malformedCode(text, at, `a \ has nothing after it; write \\ for the character`)
	}
	c := text[at+1]
	switch {
	case c == 'x':
		return number(out, text, at, 2, 2, 16)
	case c == 'u':
		return number(out, text, at, 2, 4, 16)
	case c == 'U':
		return number(out, text, at, 2, 8, 16)
	case c >= '0' && c <= '7':
		limit, n := 3, 1 // digits; a leading 0 is one more
		if c == '0' {
			limit = 4
		}
		for rest := text[at+1:]; n < min(limit, len(rest)) && rest[n] >= '0' && rest[n] <= '7'; {
			n++
		}
		return number(out, text, at, 1, n, 8)
	}
	if b, ok := escapes[c]; ok {
		return append(out, b), 2, nil
	}
	_, size := utf8.DecodeRuneInString(text[at+1:])
	return nil, 0, malformedCode(text, at, fmt.Sprintf(`there is no code \%s; write \\ for the character \`, text[at+1:at+1+size]))
}

// number resolves digits after a prefix of so many bytes.
func number(out []byte, text string, at, prefix, digits, base int) ([]byte, int, error) {
	end := at + prefix + digits
	if end > len(text) {
		return nil, 0, malformedCode(text, at, fmt.Sprintf("%d digits are missing", end-len(text)))
	}
	n, err := strconv.ParseUint(text[at+prefix:end], base, 32)
	switch {
	case err != nil:
		return nil, 0, malformedCode(text, at, fmt.Sprintf("%q is not %d digits", text[at+prefix:end], digits))
	case digits > 4 && !utf8.ValidRune(rune(n)) && base == 16 || digits == 4 && base == 16 && !utf8.ValidRune(rune(n)):
		return nil, 0, malformedCode(text, at, "there is no such character")
	case n > 255 && base == 8:
		return nil, 0, malformedCode(text, at, "an octal code is at most \\377")
	case digits >= 4 && base == 16:
		return utf8.AppendRune(out, rune(n)), end - at, nil
	}
	return append(out, byte(n)), end - at, nil
}

func malformedCode(text string, at int, why string) error {
	position := utf8.RuneCountInString(text[:at]) + 1
	return fault.New(fault.ParamMalformed, fmt.Sprintf("the control code at position %d cannot be read: %s", position, why),
		`Use \x03, \n, \r, \t, \e[A, \033, \u3042, ^C, ^[ or ^?; or leave control_codes out`).
		With("parameter", "input").With("position", position)
}

// fromHex reads bytes as hexadecimal digits, with or without blanks between them.
func fromHex(text string) ([]byte, error) {
	for at, r := range text {
		if !strings.ContainsRune("0123456789abcdefABCDEF \t\n\r", r) {
			return nil, malformedHex(fmt.Sprintf("%q at position %d is not a hexadecimal digit", r, utf8.RuneCountInString(text[:at])+1))
		}
	}
	out, err := hex.DecodeString(strings.Join(strings.Fields(text), ""))
	if err != nil {
		return nil, malformedHex("the last byte has one digit only")
	}
	return out, nil
}

func malformedHex(why string) error {
	return fault.New(fault.ParamMalformed, "the raw bytes cannot be read: "+why, "Write two hexadecimal digits for every byte, as in 1b5b41").
		With("parameter", "input")
}
