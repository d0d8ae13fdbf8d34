package audit

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/multiollama/mcp-server/shared/quoted"
)

// Most arguments are an object of texts, whole numbers and truth values. They are
// masked as they stand, without a value of Go for each of theirs, and a content is
// hashed without holding it. Whatever else there is, masker masks.

// mostFlat is how many members are looked at in this way.
const mostFlat = 16

// flatMember is a member of an object, masked.
type flatMember struct {
	key   string
	value []byte
}

// flat masks raw where it is such an object, to what masker makes of it.
func (m masker) flat(raw []byte) (json.RawMessage, bool) {
	var room [mostFlat]flatMember
	members, ok := m.members(room[:0], raw)
	if !ok {
		return nil, false
	}
	slices.SortFunc(members, func(a, b flatMember) int { return cmp.Compare(a.key, b.key) })
	out := append(make([]byte, 0, len(members)*64+min(len(raw), 4096)), '{')
	for i, one := range members {
		if i > 0 {
			if one.key == members[i-1].key { // the last one would count
				return nil, false
			}
			out = append(out, ',')
		}
		out = append(append(quoted.Append(out, one.key), ':'), one.value...)
	}
	return append(out, '}'), true
}

func (m masker) members(all []flatMember, raw []byte) ([]flatMember, bool) {
	raw, ok := after(raw, '{')
	if !ok {
		return nil, false
	}
	for len(all) < mostFlat {
		if rest, empty := after(raw, '}'); empty && len(all) == 0 {
			return all, len(blanks(rest)) == 0
		}
		name, rest, ok := cutText(raw)
		if !ok {
			return nil, false
		}
		key := quoted.Text(name)
		if rest, ok = after(rest, ':'); !ok || key == "name" || key == "key" {
			return nil, false
		}
		value, rest, ok := m.flatValue(key, rest)
		if !ok {
			return nil, false
		}
		all = append(all, flatMember{maskKey(key), value})
		if rest, ended := after(rest, '}'); ended {
			return all, len(blanks(rest)) == 0
		}
		if raw, ok = after(rest, ','); !ok {
			return nil, false
		}
	}
	return nil, false
}

// flatValue masks the value that stands at the start of raw.
func (m masker) flatValue(key string, raw []byte) (value, rest []byte, ok bool) {
	if text, rest, ok := cutText(raw); ok {
		return m.flatText(key, text), rest, true
	}
	raw = blanks(raw)
	end := slices.IndexFunc(raw, func(c byte) bool { return c == ',' || c == '}' || c <= ' ' })
	if end < 0 {
		return nil, nil, false
	}
	switch word := string(raw[:end]); {
	case word == "true", word == "false", word == "null":
	case !isWhole(word), m.contents[key], isSecretName(key):
		return nil, nil, false
	}
	return raw[:end], raw[end:], true
}

func (m masker) flatText(key string, raw []byte) []byte {
	const longest = 6*maxValue + 2 // of a value that is kept: \u0061 is one byte
	switch {
	case isSecretName(key):
		return []byte(`"` + Masked + `"`)
	case m.contents[key], len(raw) > longest:
		return digestOfText(raw)
	}
	text := quoted.Text(raw)
	if len(text) > maxValue {
		return digestOfText(raw)
	}
	return quoted.Append(nil, maskText(text))
}

// digestOfText is the digest of a text as JSON.
func digestOfText(raw []byte) []byte {
	size := 0
	h := sha256.New()
	quoted.Pieces(raw, func(piece []byte) {
		size += len(piece)
		h.Write(piece)
	})
	out := append(make([]byte, 0, 128), `{"sha256":"`...)
	out = hex.AppendEncode(out, h.Sum(nil))
	out = append(out, `","bytes":`...)
	return append(strconv.AppendInt(out, int64(size), 10), '}')
}

// isWhole says that a number is whole and written plainly.
func isWhole(word string) bool {
	v, err := strconv.ParseInt(word, 10, 64)
	return err == nil && strconv.FormatInt(v, 10) == word
}

// cutText takes the text that stands at the start of b.
func cutText(b []byte) (raw, rest []byte, ok bool) {
	if b = blanks(b); len(b) == 0 || b[0] != '"' {
		return nil, nil, false
	}
	size, wrong := quoted.Valid(b)
	return b[:size], b[size:], wrong == 0
}

// after is what follows c, if b begins with it.
func after(b []byte, c byte) ([]byte, bool) {
	if b = blanks(b); len(b) == 0 || b[0] != c {
		return b, false
	}
	return b[1:], true
}

// blanks is b without the space that it begins with.
func blanks(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t' || b[0] == '\r' || b[0] == '\n') {
		b = b[1:]
	}
	return b
}
