package audit

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/quick"
	"time"

	"github.com/multiollama/mcp-server/shared/jsonx"
)

func TestEventsAreWrittenAsEncodingJSONWritesThem(t *testing.T) {
	same := func(text [9]string, paths []string, pid int, bytes int64, ms uint32, raw string) bool {
		e := Event{
			Time: time.Unix(int64(ms), int64(ms)).UTC(), Server: text[0], Version: text[1], PID: pid, Session: text[2], Client: text[3], RequestID: text[4],
			Tool: text[5], Paths: paths, Verdict: text[6], Rule: raw, Outcome: text[7], Code: text[8][:len(text[8])/99], Cause: "<&>", DurationMS: float64(ms) / 1000, Bytes: bytes,
		}
		e.Arguments, _ = json.Marshal(map[string]string{"a b": raw})
		got, err := bodyOf(e)
		want, wrong := jsonx.Marshal(e)
		return err == nil && wrong == nil && (len(want) > maxBody || emptySeq+string(got)+emptyChain == string(inert(want)))
	}
	if err := quick.Check(same, nil); err != nil {
		t.Error(err)
	}
}

func TestTheHeadRecordIsWrittenAsEncodingJSONWritesIt(t *testing.T) {
	same := func(h head) bool {
		h.Rotated, h.Size = h.Rotated&0xffff, h.Size&0xffff
		h.Hash = fmt.Sprintf("%x", sha256.Sum256([]byte(h.Hash)))
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
