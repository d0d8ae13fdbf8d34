package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"strings"

	"github.com/multiollama/mcp-server/shared/quoted"
)

// Masked stands where a credential stood.
const Masked = "[masked]"

// Below these lengths, in bytes, nothing can be recognised, and most texts and
// nearly all keys are shorter.
const (
	shortestText = len("token=x")
	shortestKey  = 16 // of the tokens; an assignment is no key
)

// maxValue is the longest value that is kept, in bytes.
const maxValue = 256

// digest stands where contents or a long value stood.
type digest struct {
	SHA256 string `json:"sha256"` // of the bytes of the value
	Bytes  int    `json:"bytes"`
}

// MaskArguments is what of a call's arguments may be stored: values of the
// parameters in secretParams, at any depth, and values over 256 bytes become
// {"sha256":…,"bytes":n}; values under a name that speaks of credentials, and
// whatever in a text looks like one, become "[masked]". Arguments that are not
// one JSON value become a digest as a whole. The keys come out sorted.
func MaskArguments(raw json.RawMessage, secretParams map[string]bool) json.RawMessage {
	if len(raw) == 0 {
		return nil
	}
	m := masker{secretParams}
	if out, ok := m.flat(raw); ok {
		return out
	}
	return m.any(raw)
}

// any masks arguments of every form.
func (m masker) any(raw json.RawMessage) json.RawMessage {
	var v any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber() // 1e400 and 2^60 stay what they are
	if dec.Decode(&v) != nil || !ended(dec) {
		return digestJSON(raw)
	}
	out, err := quoted.JSON(m.value(v))
	if err != nil {
		return digestJSON(raw)
	}
	return out
}

func ended(dec *json.Decoder) bool {
	_, err := dec.Token()
	return err == io.EOF
}

// masker knows the parameters whose values are contents.
type masker struct{ contents map[string]bool }

func (m masker) value(v any) any {
	switch v := v.(type) {
	case string:
		return maskValue(v)
	case json.Number:
		if len(v) > maxValue {
			return digestOf([]byte(v))
		}
	case []any:
		return m.list(v)
	case map[string]any:
		return m.object(v)
	}
	return v
}

// list masks what follows an option that takes a credential, too:
// ["--password", "x"]; and where all are texts, what is one in a command of these words,
// which may begin with a program that stands elsewhere.
func (m masker) list(list []any, program ...string) []any {
	out := make([]any, len(list))
	words := make([]word, 0, len(list)+1)
	for _, name := range program {
		words = append(words, word{text: name})
	}
	for i, v := range list {
		if i > 0 && isSecretOption(list[i-1]) {
			out[i] = Masked
		} else {
			out[i] = m.value(v)
		}
		s, _ := out[i].(string)
		words = append(words, word{text: s})
	}
	for i, s := range maskWords(words, nil, mostNested)[len(program):] {
		if _, ok := out[i].(string); ok {
			out[i] = s
		}
	}
	return out
}

// object masks by name, {"token": "x"}, and by pairs of name and value,
// {"name": "Authorization", "value": "x"}.
func (m masker) object(object map[string]any) map[string]any {
	out := make(map[string]any, len(object))
	named := isSecretName(object["name"]) || isSecretName(object["key"])
	for key, v := range object {
		switch {
		case isSecretKey(key, v), named && key == "value":
			out[maskKey(key)] = Masked
		case m.contents[key]:
			out[maskKey(key)] = contents(v)
		case isArguments(v, object["command"]):
			out[maskKey(key)] = m.list(v.([]any), object["command"].(string))
		default:
			out[maskKey(key)] = m.value(v)
		}
	}
	return out
}

// isArguments says whether v are arguments of a program that is named beside them.
func isArguments(v, program any) bool {
	_, list := v.([]any)
	_, named := program.(string)
	return list && named
}

// maskKey keeps a key that is no credential itself and no long text.
func maskKey(key string) string {
	if len(key) < shortestKey {
		return key
	}
	if len(key) > maxValue {
		return Masked + " " + hexSum([]byte(key))
	}
	return maskText(key)
}

func maskValue(s string) any {
	if len(s) > maxValue {
		return digestOf([]byte(s))
	}
	return maskText(s)
}

// contents is the digest of a text, or of anything else as JSON.
func contents(v any) any {
	switch v := v.(type) {
	case nil, bool:
		return v
	case string:
		return digestOf([]byte(v))
	}
	b, err := quoted.JSON(v)
	if err != nil {
		return Masked
	}
	return digestOf(b)
}

func digestOf(b []byte) digest { return digest{hexSum(b), len(b)} }

func hexSum(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// digestJSON is the digest of b as JSON.
func digestJSON(b []byte) json.RawMessage {
	out, err := quoted.JSON(digestOf(b))
	if err != nil { // a string and a number always encode
		return json.RawMessage(`"` + Masked + `"`)
	}
	return out
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
	return maskLine(s, mostNested)
}

// mostNested is how deep command lines are looked for in the words of others: bash -c "…".
const mostNested = 4
