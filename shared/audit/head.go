package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"

	"github.com/multiollama/mcp-server/shared/jsonx"
)

// headSize is the size of the head record in bytes: one sector, so that it is
// either the old one or the new one after a crash.
const headSize = 512

// head is what the log ends with. It is kept beside the log so that nobody has
// to read the log to continue it, and so that lines taken from its end are
// missed.
type head struct {
	Seq     uint64 `json:"seq"`               // of the last event, 0 for none
	Hash    string `json:"hash"`              // of the last event
	Size    int64  `json:"size"`              // of the log file in bytes
	Rotated int    `json:"rotated"`           // number of the newest rotated file, 0 for none
	From    uint64 `json:"from"`              // the oldest event that Keep has not pruned
	Rebuilt uint64 `json:"rebuilt,omitempty"` // the event after which a lost head was rebuilt
}

// record is h as stored in the file, in b: JSON, a checksum, and blanks.
func (h head) record(b []byte) ([]byte, error) {
	b, err := jsonx.Append(b[:0], &h)
	if err != nil {
		return nil, err
	}
	b = append(append(b, ' '), headSum(b)...)
	if len(b) >= headSize {
		return nil, errors.New("the head record outgrew its sector")
	}
	for len(b) < headSize-1 {
		b = append(b, ' ')
	}
	return append(b, '\n'), nil
}

// parseHead reads a record; false for one that is empty, torn or edited.
func parseHead(raw []byte) (head, bool) {
	var h head
	text := bytes.TrimRight(raw, " \n")
	at := bytes.LastIndexByte(text, ' ')
	if len(raw) != headSize || at < 0 || headSum(text[:at]) != string(text[at+1:]) {
		return h, false
	}
	err := json.Unmarshal(text[:at], &h)
	return h, err == nil && h.Size >= 0 && h.Rotated >= 0
}

func headSum(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}

// readHead is the record in f, in raw, which has room for it; shorter than headSize where
// it is not complete.
func readHead(f *os.File, raw []byte) ([]byte, error) {
	raw = raw[:headSize]
	n, err := f.ReadAt(raw, 0)
	if err == io.EOF {
		err = nil
	}
	return raw[:n], err
}
