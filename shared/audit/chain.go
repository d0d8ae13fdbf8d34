package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"time"
)

const (
	hashKey = `,"hash":"`
	hashLen = 2 * sha256.Size
)

// seal puts a body into its place in the chain: the line, newline included, and
// its hash, in room. The hash covers prev and every byte of the line except the hash
// member itself, so that verifying needs no second encoding of the event.
func seal(room []byte, seq uint64, prev string, body []byte) (line []byte, hash string) {
	line = append(slices.Grow(room, len(body)+chainRoom), `{"seq":`...)
	line = strconv.AppendUint(line, seq, 10)
	line = append(line, ',')
	line = append(line, body...)
	line = append(line, `,"prev":"`...)
	line = append(line, prev...)
	line = append(line, '"')
	hash = hashOf(prev, line)
	line = append(line, hashKey...)
	line = append(line, hash...)
	line = append(line, "\"}\n"...)
	return line, hash
}

// hashOf hashes prev and the object that open becomes with its closing brace.
func hashOf(prev string, open []byte) string {
	h := sha256.New()
	h.Write([]byte(prev))
	h.Write(open)
	h.Write([]byte{'}'})
	return hex.EncodeToString(h.Sum(nil))
}

// link is what the chain needs to know of a line.
type link struct {
	Seq  uint64    `json:"seq"`
	Time time.Time `json:"time"`
	Prev string    `json:"prev"`
	hash string    // as the line states it
	true bool      // the stated hash is that of the line
}

// linkOf reads a line without its newline.
func linkOf(line []byte) (link, error) {
	var k link
	open, ok := bytes.CutSuffix(line, []byte(`"}`))
	at := len(open) - hashLen - len(hashKey)
	if !ok || at < 0 || !bytes.HasPrefix(open[at:], []byte(hashKey)) {
		return k, errors.New("the line does not end in a hash")
	}
	if err := json.Unmarshal(line, &k); err != nil {
		return k, err
	}
	k.hash = string(open[at+len(hashKey):])
	k.true = k.hash == hashOf(k.Prev, open[:at])
	return k, nil
}
