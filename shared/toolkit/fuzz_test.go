package toolkit

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/multiollama/mcp-server/shared/fault"
)

// lossless is a struct whose fields encoding/json writes back as they were
// given: omitzero keeps what omitempty would leave out.
type lossless struct {
	Path   string            `json:"path"`
	Limit  int               `json:"limit,omitempty" min:"1" default:"50"`
	Offset int64             `json:"offset,omitzero"`
	Ratio  float64           `json:"ratio,omitzero" max:"1e9"`
	All    bool              `json:"all,omitzero"`
	Depth  *int              `json:"depth,omitempty"`
	Sort   *order            `json:"sort,omitempty" enum:"name|size"`
	List   []string          `json:"list,omitzero" maxItems:"5"`
	Edits  []losslessEdit    `json:"edits,omitzero"`
	Window losslessEdit      `json:"window"`
	Env    map[string]string `json:"env,omitzero"`
}

type losslessEdit struct {
	Old   string   `json:"old,omitzero"`
	Tags  []string `json:"tags,omitzero"`
	Count int      `json:"count,omitzero"`
}

// FuzzDecode: the decoder never panics, its refusals have a sentence, what it
// accepts encoding/json accepts too, and what it accepted it accepts again, with
// the same value, after it was encoded.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"path":"p","window":{}}`, `{"path":"\ud83d\ude00\u2028\u0000","limit":3.0,"window":{"old":"é","tags":[]}}`,
		`{"path":"","offset":9007199254740993,"ratio":-0.0,"all":true,"depth":0,"sort":"size","list":[],"edits":[{}],"window":{},"env":{"":""}}`,
		`{"path":"p","path":"q"}`, `{"pth":"p"}`, `[[[[`, `{"path":1e400}`, `{"path":"\ud800"}`, "{\"path\":\"\xff\"}", `{"path":"p","window":{"count":1e2}}`, ``, `null`, `{"edits":[{"tags":[null]}]}`,
	} {
		f.Add([]byte(seed))
	}
	plan := shapeOf(reflect.TypeFor[lossless]())
	read := func(raw []byte, into *lossless) *fault.Error {
		args, err := readArguments(raw)
		if err == nil {
			err = plan.record(args, reflect.ValueOf(into).Elem(), where{})
		}
		return fault.From(err)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var first, second lossless
		if err := read(raw, &first); err != nil {
			if err.Code.Category() != "PARAM" || err.Msg == "" || err.Do == "" {
				t.Errorf("%q: %#v", raw, err)
			}
			return
		}
		if !json.Valid(raw) && len(bytes.TrimSpace(raw)) > 0 {
			t.Errorf("%q is no JSON and was accepted", raw)
		}
		again, err := json.Marshal(first)
		if err != nil {
			t.Fatalf("%q: %v", raw, err)
		}
		if err := read(again, &second); err != nil {
			t.Fatalf("%q was accepted, %s is not: %v", raw, again, err)
		}
		if diff := cmp.Diff(first, second); diff != "" {
			t.Errorf("%q and %s differ:\n%s", raw, again, diff)
		}
	})
}

// FuzzDetach: a message without its arguments is the same message otherwise.
func FuzzDetach(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"say","arguments":{"word":"}\"{"}}}`, `{"`, `{"a`, `{"params":{"`, `{"params":[}`,
		`{"method":"tools/call","params":{"arguments":[[{"a":"\\"}]],"x":{}},"id":null}`, `{"method":"tools/call","params":{"arguments":{}`, `{"params":{"arguments":1e400,"arguments":2},"method":"tools/call"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, rest := detach(raw)
		if m.args == nil {
			if !bytes.Equal(raw, rest) {
				t.Errorf("%q became %q", raw, rest)
			}
			return
		}
		at := bytes.Index(rest, []byte("{}"))
		back := false
		for ; at >= 0 && !back; at = next(rest, at) {
			back = bytes.Equal(raw, bytes.Join([][]byte{rest[:at], m.args, rest[at+2:]}, nil))
		}
		if !back {
			t.Errorf("%q is not %q with %q", raw, rest, m.args)
		}
		if json.Valid(raw) && (!json.Valid(rest) || !json.Valid(m.args)) {
			t.Errorf("%q was JSON; %q and %q are not", raw, rest, m.args)
		}
	})
}

// next is where {} stands again, or -1.
func next(raw []byte, at int) int {
	after := bytes.Index(raw[at+1:], []byte("{}"))
	if after < 0 {
		return -1
	}
	return at + 1 + after
}
