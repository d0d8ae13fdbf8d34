package quoted

import (
	"bytes"
	"encoding/json"
)

// JSON is v as encoding/json has it, on one line, but with <, > and & as they are: this is
// no HTML, and people and models read it.
func JSON(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
