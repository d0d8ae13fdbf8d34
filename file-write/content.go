package main

import (
	"bytes"
	"encoding/binary"
	"strings"

	"github.com/multiollama/mcp-server/file-write/internal/diff"
	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/text"
)

const (
	headBytes    = 64 << 10 // bytes that are looked at to tell an encoding
	diffBytes    = 16 << 10 // bytes of a difference in an answer
	diffContext  = 3        // lines around a change, as diff -u has them
	mostCompared = 16 << 20 // bytes of a content whose difference is shown
)

// detect looks at the beginning of a content, or where that is ASCII only, at the
// place where it stops being that.
func detect(content []byte) text.Detected {
	if len(content) <= headBytes {
		return text.Detect(content, true)
	}
	at := firstBeyondASCII(content)
	if at <= headBytes/2 || at == len(content) {
		return text.Detect(content[:headBytes], false)
	}
	line := bytes.LastIndexByte(content[:at], '\n') + 1
	from := max(line, at-headBytes/2)
	return text.Detect(content[from:min(len(content), from+headBytes)], false)
}

// firstBeyondASCII is the index of the first byte that is not ASCII, or the length of
// the content. It takes eight bytes a step, since every edit looks through its file.
func firstBeyondASCII(content []byte) int {
	const high = 0x8080808080808080
	at := 0
	for at+8 <= len(content) && binary.LittleEndian.Uint64(content[at:])&high == 0 {
		at += 8
	}
	for at < len(content) && content[at] < 0x80 {
		at++
	}
	return at
}

// over is the encoding of what takes the place of a content, and whether it begins
// with a byte-order mark: as before, and UTF-8 where it was no text.
func over(found text.Detected, content []byte) (enc text.Encoding, bom bool) {
	if found.Binary {
		enc, _ = text.Lookup("utf-8") // always there
		return enc, false
	}
	return found.Encoding, found.Encoding.HasBOM(content)
}

// marked says whether a new file in an encoding gets a byte-order mark: where nothing
// else tells which of two it is in.
func marked(enc text.Encoding) bool { return len(enc.BOM()) > 0 && !enc.IsUTF8() }

func encodingOr(name, otherwise string) (text.Encoding, error) {
	if name == "" {
		name = otherwise
	}
	return text.Lookup(name)
}

// refuseBinary refuses what is no text, where text would be put into it.
func refuseBinary(found text.Detected) error {
	if !found.Binary {
		return nil
	}
	return fault.New(fault.Forbidden, "the file is binary ("+found.MIME+"), and only text can be changed in part",
		"Leave it as it is, or replace all of it").With("mimeType", found.MIME)
}

// difference is what changed, as people read it: decoded, and not too long. What is
// binary or very large has none to show.
func difference(p confine.Path, found text.Detected, old, content []byte) (shown string, cut bool) {
	if found.Binary || bytes.Equal(old, content) {
		return "", false
	}
	enc := found.Encoding
	if len(old)+len(content) > 2*mostCompared {
		return "", true
	}
	name := strings.TrimLeft(text.Escape(p.String()), "/") // as git writes an absolute path
	return diff.Unified("a/"+name, "b/"+name, readable(enc, old), readable(enc, content), diffContext, diffBytes)
}

// readable is a content in UTF-8; as it is where it cannot be decoded.
func readable(enc text.Encoding, content []byte) []byte {
	if enc.IsUTF8() {
		return content
	}
	s, err := enc.Decode(content)
	if err != nil {
		return content
	}
	return []byte(s)
}
