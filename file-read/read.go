package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/multiollama/mcp-server/file-read/internal/lines"
	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/text"
	"github.com/multiollama/mcp-server/shared/toolkit"
)

// file_read of document 000, with line ranges.
type readIn struct {
	Path     string `json:"path" path:"read" doc:"File: absolute, or relative to an allowed directory."`
	Offset   int64  `json:"offset,omitempty" doc:"First line, 1-based; negative counts from the end (-20: the last 20 lines)."`
	Limit    int    `json:"limit,omitempty" min:"1" doc:"Lines to read."`
	Encoding string `json:"encoding,omitempty" doc:"Only if detection is wrong, e.g. shift_jis."`

	budget int // bytes of content; 0 is what one answer may contain
}

type readOut struct {
	Content    string `json:"content"`
	StartLine  int64  `json:"startLine,omitempty"`
	LineCount  int    `json:"lineCount,omitempty"`
	TotalLines *int64 `json:"totalLines,omitempty" doc:"Where known."`
	Truncated  bool   `json:"truncated,omitempty"`
	NextOffset int64  `json:"nextOffset,omitempty"`
	Size       int64  `json:"size,omitempty" doc:"Bytes of the file."`
	MIMEType   string `json:"mimeType,omitempty"`
	Encoding   string `json:"encoding,omitempty"`
	LineEnding string `json:"lineEnding,omitempty"`
	SHA256     string `json:"sha256,omitempty" doc:"Of the whole file, where it was read whole."`

	media []toolkit.Content // instead of content, for an allowed binary
	past  bool              // the offset is past the end
}

func (r *reader) read(ctx context.Context, in readIn) (readOut, error) {
	p, err := r.scope.Parse(ctx, in.Path)
	if err != nil {
		return readOut{}, err
	}
	f := new(confine.Reader)
	if err := p.OpenReader(f); err != nil {
		return readOut{}, err
	}
	defer f.Close() //nolint:errcheck // only read from
	size := f.Size()
	budget := cmp.Or(in.budget, r.maxBytes)

	// A file that fits into the answer is read whole. Of a larger one the head is read first.
	head, whole, err := readHead(f, size, max(budget, headBytes-1))
	if err != nil {
		return readOut{}, err
	}
	found, err := in.detect(head, whole)
	if err != nil {
		return readOut{}, err
	}
	if found.Binary {
		return r.readMedia(p, f, size, found.MIME)
	}
	if size > wholeFileMax && in.Offset == 0 && in.Limit == 0 {
		return readOut{}, fault.New(fault.LimitReached,
			fmt.Sprintf("this file has %d bytes; without a line range at most %d are read", size, wholeFileMax),
			"Give offset and limit (offset=-100 for its end), or search it").
			With("limit", wholeFileMax).With("size", size)
	}

	want := lines.Want{Offset: in.Offset, Limit: in.Limit, MaxBytes: budget}
	var w lines.Window
	if whole {
		w, err = windowOf(ctx, head, found.Encoding, want)
	} else {
		w, err = r.openWindow(ctx, p, f, found.Encoding, want)
	}
	if err != nil {
		return readOut{}, err
	}
	out := readOut{
		StartLine: w.Start, LineCount: w.Count, Truncated: w.Truncated, NextOffset: w.Next,
		Size: size, MIMEType: found.MIME, Encoding: found.Encoding.Name(), LineEnding: string(text.LineEndingOf(w.Text)),
		past: w.Count == 0 && in.Offset > 1,
	}
	if utf8.Valid(w.Text) {
		out.Content = toolkit.Text(w.Text)
	} else { // every run of bytes that are no character is one U+FFFD
		out.Content = strings.ToValidUTF8(string(w.Text), "\uFFFD")
	}
	if w.Total >= 0 {
		out.TotalLines = &w.Total
	}
	if whole && w.Start <= 1 && !w.Truncated && w.Cut == 0 && in.Limit == 0 {
		sum := sha256.Sum256(head)
		out.SHA256 = hex.EncodeToString(sum[:])
	}
	return out, nil
}

// detect tells the kind of a file by its head, or as the call says what its encoding is.
func (in readIn) detect(head []byte, whole bool) (text.Detected, error) {
	found := text.Detect(head[:min(len(head), headBytes)], whole && len(head) <= headBytes)
	if in.Encoding == "" {
		return found, nil
	}
	var err error
	found.Encoding, err = text.Lookup(in.Encoding)
	found.Binary = false
	return found, err
}

// windowOf cuts the lines wanted out of a file that is in memory. All of a text in UTF-8 is
// returned as it is, unless one of its lines has to be cut.
func windowOf(ctx context.Context, raw []byte, enc text.Encoding, want lines.Want) (lines.Window, error) {
	content := bytes.TrimPrefix(raw, enc.BOM())
	all := enc.IsUTF8() && want.Offset == 0 && want.Limit == 0 && len(raw) <= want.MaxBytes && len(content) > 0
	for rest := content; all && len(rest) > lines.DefaultMaxLine; {
		end := bytes.LastIndexByte(rest[:lines.DefaultMaxLine+1], '\n')
		all, rest = end >= 0, rest[end+1:]
	}
	if !all {
		return readWindow(ctx, bytes.NewReader(raw), int64(len(raw)), enc, want)
	}
	count := bytes.Count(content, []byte{'\n'})
	if content[len(content)-1] != '\n' {
		count++
	}
	return lines.Window{Text: content, Start: 1, Count: count, Total: int64(count)}, nil
}

// openWindow reads the lines wanted from the file. If it is large, a place near the first
// line is looked up.
func (r *reader) openWindow(
	ctx context.Context, p confine.Path, f *confine.Reader, enc text.Encoding, want lines.Want,
) (lines.Window, error) {
	if r.places != nil && want.Offset > 1 && f.Size() > lines.MinIndexed && enc.IsUTF8() {
		again := func() (confine.Stamp, error) {
			now, err := p.Stat()
			return now.Stamp, err
		}
		var err error
		want.From, err = r.places.Before(ctx, lines.File{ReaderAt: f, Stamp: f.Stamp(), Again: again}, want.Offset)
		if err != nil {
			return lines.Window{}, err
		}
	}
	return readWindow(ctx, f, f.Size(), enc, want)
}

// readWindow reads UTF-8 where it is and any other encoding through its decoder, in
// constant memory.
func readWindow(ctx context.Context, f file, size int64, enc text.Encoding, want lines.Want) (lines.Window, error) {
	if !enc.IsUTF8() {
		return lines.ReadStream(ctx, enc.NewReader(f), want)
	}
	skip := int64(0)
	mark := make([]byte, len(enc.BOM()))
	if n, _ := f.ReadAt(mark, 0); n > 0 && bytes.Equal(mark, enc.BOM()) {
		skip = int64(n)
	}
	want.From.At = max(want.From.At-skip, 0)
	return lines.Read(ctx, io.NewSectionReader(f, skip, max(size-skip, 0)), size-skip, want)
}

// readMedia reads a binary that the operator allowed, as an image, as audio or
// as an embedded resource.
func (r *reader) readMedia(p confine.Path, f file, size int64, mime string) (readOut, error) {
	base, _, _ := strings.Cut(mime, ";")
	kind, _, _ := strings.Cut(base, "/")
	if !slices.Contains(r.media, base) && !slices.Contains(r.media, kind+"/*") && !slices.Contains(r.media, "*/*") {
		return readOut{}, fault.New(fault.Forbidden, fmt.Sprintf("this file is not text but %s", mime),
			"Read text files only, or ask the person who runs this server to allow this type with --allow-mime").
			With("mimeType", mime).With("size", size)
	}
	if size > mediaMax {
		return readOut{}, fault.New(fault.LimitReached, fmt.Sprintf("this file has %d bytes; a binary may have %d", size, mediaMax),
			"Use a smaller file").With("limit", mediaMax).With("size", size)
	}
	data, err := io.ReadAll(io.NewSectionReader(f, 0, mediaMax))
	if err != nil {
		return readOut{}, err
	}
	block := toolkit.BlobBlock(p.URI(), base, data)
	switch kind {
	case "image":
		block = toolkit.ImageBlock(base, data)
	case "audio":
		block = toolkit.AudioBlock(base, data)
	}
	return readOut{Size: size, MIMEType: mime, media: []toolkit.Content{block}}, nil
}

// Contents is the text itself, unchanged, and a second block with what there is
// to say about it: not every host shows a model both texts and structure.
func (o readOut) Contents() []toolkit.Content {
	if o.media != nil {
		return o.media
	}
	blocks := []toolkit.Content{toolkit.TextBlock(o.Content)}
	if note := o.note(); note != "" {
		blocks = append(blocks, toolkit.TextBlock(note))
	}
	return blocks
}

func (o readOut) note() string {
	total := ""
	if o.TotalLines != nil {
		total = fmt.Sprintf(" of %d", *o.TotalLines)
	}
	switch {
	case o.past:
		return fmt.Sprintf("[the file has%s lines; there is nothing at this offset]", strings.TrimPrefix(total, " of"))
	case o.Truncated:
		return fmt.Sprintf("[lines %d-%d%s; go on with offset=%d]", o.StartLine, o.StartLine+int64(o.LineCount)-1, total, o.NextOffset)
	case o.NextOffset > 0:
		return fmt.Sprintf("[lines %d-%d%s; the next is at offset=%d]", o.StartLine, o.StartLine+int64(o.LineCount)-1, total, o.NextOffset)
	}
	return ""
}

// oneText is content and note in one string, for vocabularies that have no other
// place to say that there is more.
func (o readOut) oneText() string {
	if note := o.note(); note != "" {
		return o.Content + "\n" + note
	}
	return o.Content
}

// Bytes is what the audit log records as read.
func (o readOut) Bytes() int64 {
	if o.media != nil {
		return o.Size
	}
	return int64(len(o.Content))
}
