package audit

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/quick"
	"time"

	"github.com/multiollama/mcp-server/shared/quoted"
)

// FuzzFlat: what is masked as it stands is what becomes of it otherwise.
func FuzzFlat(f *testing.F) {
	long := strings.Repeat("é", 200)
	for _, s := range []string{
		`{}`, ` { } `, `{"path":"a\u0062","limit":10,"deep":true,"none":null}`, `{"content":"hi\n","b":"x","a":"y"}`, `{"a":1,"a":2}`, `{"password":"x","tokens":"y","max":-0}`,
		`{"long":"` + long + `"}`, `{"content":"` + long + long + `"}`, `{"cmd":"mysql --password hunter2"}`, `{"name":"Authorization","value":"x"}`, `{"content":true,"x":01}`,
		`{"a":1}x`, `{"a":1,}`, `{"a":[1]}`, `{"a":"\ud800"}`, `{"a":1`, `{"\u0070assword":"x"}`, `{"token":null,"tokens":5}`, `{"` + long + `":"` + strings.Repeat(`\u0061`, 256) + `"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		m := masker{map[string]bool{"content": true}}
		got, ok := m.flat(raw)
		if !ok {
			return
		}
		if want := m.any(raw); string(got) != string(want) || !json.Valid(got) {
			t.Errorf("%q is %s, want %s", raw, got, want)
		}
	})
}

func TestOrdinaryArgumentsAreMaskedAsTheyStand(t *testing.T) {
	for _, raw := range []string{`{"path":"src/a.go","limit":10,"deep":true}`, `{"path":"p","content":"a \"line\"\n","overwrite":false}`} {
		if _, ok := (masker{}).flat([]byte(raw)); !ok {
			t.Errorf("%s is not", raw)
		}
	}
}

func TestEventsAreWrittenAsEncodingJSONWritesThem(t *testing.T) {
	quickly := 0
	same := func(text [9]string, paths []string, pid int, bytes int64, ms uint32, raw string) bool {
		e := Event{
			Time: time.Unix(int64(ms), int64(ms)).UTC(), Server: text[0], Version: text[1], PID: pid, Session: text[2], Client: text[3], RequestID: text[4],
			Tool: text[5], Paths: paths, Verdict: text[6], Rule: raw, Outcome: text[7], Code: text[8][:len(text[8])/99], Cause: "<&>", DurationMS: float64(ms) / 1000, Bytes: bytes,
		}
		e.Arguments, _ = json.Marshal(map[string]string{"a b": raw})
		got, ok := appendBody(nil, e)
		want, err := quoted.JSON(e)
		if ok {
			quickly++
		}
		return err == nil && (!ok || emptySeq+string(got)+emptyChain == string(want))
	}
	if err := quick.Check(same, nil); err != nil {
		t.Error(err)
	}
	if quickly < 90 {
		t.Errorf("only %d of 100 were written by hand", quickly)
	}
}

func TestTheHeadRecordIsWrittenAsEncodingJSONWritesIt(t *testing.T) {
	same := func(h head) bool {
		h.Rotated, h.Size = h.Rotated&0xffff, h.Size&0xffff
		h.Hash = hexSum([]byte(h.Hash))
		want, _ := json.Marshal(h)
		got, err := h.record(nil)
		return err == nil && strings.HasPrefix(string(got), string(want)+" ") && len(got) == headSize
	}
	if err := quick.Check(same, nil); err != nil {
		t.Error(err)
	}
}

func TestEveryExpressionOfTheTableCompiles(t *testing.T) {
	for _, row := range credentials {
		if row.expr().NumSubexp() > 2 {
			t.Errorf("%s: more groups than stay", row.name)
		}
	}
}
