package audit

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/multiollama/mcp-server/shared/jsonx"
)

// Masked replaces a credential.
const Masked = "[masked]"

// Below these lengths, in bytes, nothing can be recognised, and most texts and
// nearly all keys are shorter.
const (
	shortestText = len("token=x")
	shortestKey  = 16 // of the tokens; an assignment is not a key
)

// maxValue is the longest value that is kept, in bytes.
const maxValue = 256

// MaskArguments is what of a call's arguments may be stored: values of the
// parameters in secretParams, at any depth, and values over 256 bytes become
// {"sha256":…,"bytes":n}; values under a name that speaks of credentials, and
// whatever in a text looks like one, become "[masked]". Arguments that [jsonx.Parse]
// does not read become a digest as a whole. The keys come out sorted.
func MaskArguments(raw json.RawMessage, secretParams map[string]bool) json.RawMessage {
	v, _ := jsonx.Parse(raw)
	return MaskValue(v, raw, secretParams)
}

// MaskValue is MaskArguments for what was read from raw already.
func MaskValue(v jsonx.Value, raw json.RawMessage, secretParams map[string]bool) json.RawMessage {
	switch {
	case len(bytes.TrimSpace(raw)) == 0:
		return nil
	case v.Kind == 0:
		return digest(raw)
	}
	return masker{secretParams}.append(make([]byte, 0, min(len(raw)+64, 4096)), v)
}

// masker knows the parameters whose values are contents.
type masker struct{ contents map[string]bool }

// append appends what of a value may be stored, as JSON.
func (m masker) append(b []byte, v jsonx.Value) []byte {
	switch v.Kind {
	case jsonx.String:
		if s, ok := shortText(v); ok {
			return jsonx.AppendText(b, maskText(s))
		}
		return appendDigest(b, v)
	case jsonx.Number:
		if len(v.Raw) > maxValue {
			return append(b, digest(v.Raw)...)
		}
	case jsonx.List:
		return m.list(b, v.Kids)
	case jsonx.Object:
		return m.object(b, v)
	}
	return append(b, v.Raw...)
}

// shortText is the text of a string, where it is not too long to be kept.
func shortText(v jsonx.Value) (s string, ok bool) {
	if v.Kind != jsonx.String || len(v.Raw) > 6*maxValue+2 { // \u0061 is one byte
		return "", false
	}
	s = v.Text()
	return s, len(s) <= maxValue
}

// list masks what follows an option that takes a credential, too:
// ["--password", "x"]; and where all are texts, what is one in a command of these words,
// which may begin with a program named elsewhere.
func (m masker) list(b []byte, list []jsonx.Value, program ...string) []byte {
	words := make([]word, 0, len(list)+1)
	for _, name := range program {
		words = append(words, word{text: name})
	}
	texts := make([]bool, len(list))
	for i, v := range list {
		s, ok := shortText(v)
		if s = maskText(s); !ok {
			s = "" // a digest is no word: it must not pass for the credential that comes last
		}
		if i > 0 {
			if option := list[i-1].Text(); strings.HasPrefix(option, "-") && !strings.ContainsAny(option, "= :") && isSecretName(option) {
				s, ok = Masked, true
			}
		}
		texts[i] = ok
		words = append(words, word{text: s})
	}
	b = append(b, '[')
	for i, s := range maskWords(words, nil, maxNested)[len(program):] {
		if i > 0 {
			b = append(b, ',')
		}
		if texts[i] {
			b = jsonx.AppendText(b, s)
		} else {
			b = m.append(b, list[i])
		}
	}
	return append(b, ']')
}

// object masks by name, {"token": "x"}, and by pairs of name and value,
// {"name": "Authorization", "value": "x"}.
func (m masker) object(b []byte, object jsonx.Value) []byte {
	members := object.Sorted()
	keys := make(map[string]int, len(members)) // by what is stored of each
	for i, v := range members {
		keys[maskKey(v.Name)] = i
	}
	named := isSecretName(object.Member("name").Text()) || isSecretName(object.Member("key").Text())
	command := object.Member("command")
	b = append(b, '{')
	for i, key := range slices.Sorted(maps.Keys(keys)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(jsonx.AppendText(b, key), ':')
		switch v := members[keys[key]]; {
		case isSecretKey(v), named && v.Name == "value":
			b = jsonx.AppendText(b, Masked)
		case m.contents[v.Name] && v.Kind > jsonx.Bool:
			b = appendDigest(b, v)
		case v.Kind == jsonx.List && command.Kind == jsonx.String:
			b = m.list(b, v.Kids, command.Text())
		default:
			b = m.append(b, v)
		}
	}
	return append(b, '}')
}

// maskKey keeps a key that is neither a credential itself nor a long text.
func maskKey(key string) string {
	if len(key) < shortestKey {
		return key
	}
	if len(key) > maxValue {
		sum := sha256.Sum256([]byte(key))
		return Masked + " " + hex.EncodeToString(sum[:])
	}
	return maskText(key)
}

// digest replaces contents or a long value: {"sha256":…,"bytes":n}.
func digest(content []byte) json.RawMessage {
	sum := sha256.Sum256(content)
	return digestJSON(nil, sum[:], len(content))
}

func digestJSON(b, sum []byte, size int) []byte {
	b = hex.AppendEncode(append(b, `{"sha256":"`...), sum)
	return append(strconv.AppendInt(append(b, `","bytes":`...), int64(size), 10), '}')
}

// appendDigest appends the digest of a text, which is hashed without a copy of it, or of
// anything else as JSON.
func appendDigest(b []byte, v jsonx.Value) []byte {
	if v.Kind != jsonx.String {
		return append(b, digest(v.AppendCanonical(nil))...)
	}
	h := sha256.New()
	w := bufio.NewWriter(h)
	_, _ = w.WriteString(v.Text()) // a hash takes everything
	_ = w.Flush()
	return digestJSON(b, h.Sum(nil), len(v.Text()))
}

// maskText replaces the parts of s that look like credentials.
func maskText(s string) string {
	if len(s) < shortestText {
		return s
	}
	lower := strings.ToLower(s)
	for _, row := range credentials {
		if row.mayBeIn(lower) {
			s = row.mask(s)
		}
	}
	if strings.ContainsAny(s, "=:") {
		s = maskAssigned(s)
	}
	return maskLine(s, maxNested)
}

// maxNested is how deep command lines are looked for in the words of others: bash -c "…".
const maxNested = 4
