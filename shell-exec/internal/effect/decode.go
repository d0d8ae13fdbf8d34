package effect

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
)

// decodedText is what a decoder prints for a text that is known.
func decodedText(name string, in flow) (string, bool) {
	if in.kind != literal {
		return "", false
	}
	packed := strings.Join(strings.Fields(in.text), "")
	switch name {
	case "base64", "openssl":
		return fromBase64(packed)
	case "base32":
		b, err := base32.StdEncoding.DecodeString(packed)
		return string(b), err == nil
	case "xxd":
		b, err := hex.DecodeString(packed)
		return string(b), err == nil
	case "rev":
		return reversed(in.text), true
	}
	return "", false
}

func fromBase64(s string) (string, bool) {
	for _, e := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding} {
		if b, err := e.DecodeString(s); err == nil {
			return string(b), true
		}
	}
	return "", false
}

func reversed(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i, line := range lines {
		runes := []rune(line)
		slices.Reverse(runes)
		lines[i] = string(runes)
	}
	return strings.Join(lines, "\n") + "\n"
}
