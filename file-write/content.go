package main

import (
	"bytes"

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

// head is what [text.Detect] wants to see of a content: its beginning, or where that
// is ASCII only, the place where it stops being that.
func head(content []byte) (part []byte, whole bool) {
	if len(content) <= headBytes {
		return content, true
	}
	if at := bytes.IndexFunc(content, func(r rune) bool { return r >= 0x80 }); at > headBytes/2 {
		line := bytes.LastIndexByte(content[:at], '\n') + 1
		from := max(line, at-headBytes/2)
		return content[from:min(len(content), from+headBytes)], false
	}
	return content[:headBytes], false
}

// encodingOf is the encoding of a file, and whether it begins with a byte-order mark.
// What is binary or empty is taken for UTF-8, which is what would be put in its place.
func encodingOf(content []byte) (enc text.Encoding, bom bool) {
	found := text.Detect(head(content))
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
func refuseBinary(content []byte) error {
	found := text.Detect(head(content))
	if !found.Binary {
		return nil
	}
	return fault.New(fault.Forbidden, "the file is binary ("+found.MIME+"), and only text can be changed in part",
		"Leave it as it is, or replace all of it").With("mimeType", found.MIME)
}

// difference is what changed, as people read it: decoded, and not too long. What is
// binary or very large has none to show.
func difference(p confine.Path, enc text.Encoding, old, content []byte) (shown string, cut bool) {
	if bytes.Equal(old, content) || text.Detect(head(old)).Binary {
		return "", false
	}
	if len(old)+len(content) > 2*mostCompared {
		return "", true
	}
	name := text.Escape(p.String())
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
