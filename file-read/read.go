package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/multiollama/mcp-server/file-read/internal/lines"
	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/text"
	"github.com/multiollama/mcp-server/shared/toolkit"
)

// file_read of document 000, with line ranges.
var readSpec = toolkit.Spec{
	Name:    "file_read",
	Title:   "Read a file",
	Doc:     "Read a text file, whole or by lines. Any common encoding is decoded. Large files come in parts: go on at nextOffset.",
	Toolset: "read",
	Effect:  toolkit.Reads,
}

type readIn struct {
	Path     string `json:"path" path:"read" doc:"File: absolute, or relative to an allowed directory."`
	Offset   int64  `json:"offset,omitempty" doc:"First line, 1-based; negative counts from the end (-20: the last 20 lines)."`
	Limit    int    `json:"limit,omitempty" min:"1" doc:"Lines to read."`
	Encoding string `json:"encoding,omitempty" doc:"Only if detection is wrong, e.g. shift_jis."`
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
	past  bool              // the offset lies past the end
}

func (r *reader) read(ctx context.Context, in readIn) (readOut, error) {
	p, err := r.scope.Parse(ctx, in.Path)
	if err != nil {
		return readOut{}, err
	}
	return r.readPath(ctx, p, in, r.maxBytes)
}

// readPath reads at most budget bytes of content of p.
func (r *reader) readPath(ctx context.Context, p confine.Path, in readIn, budget int) (readOut, error) {
	f := new(confine.Reader)
	if err := p.OpenReader(f); err != nil {
		return readOut{}, err
	}
	defer f.Close() //nolint:errcheck // only read from
	head, whole, err := readAll(ctx, f, max(budget, headBytes-1))
	if err == nil && !whole {
		head, whole, err = readHead(f, f.Size())
	}
	if err != nil {
		return readOut{}, err
	}
	found := text.Detect(head[:min(len(head), headBytes)], whole && len(head) <= headBytes)
	if in.Encoding != "" {
		if found.Encoding, err = text.Lookup(in.Encoding); err != nil {
			return readOut{}, err
		}
		found.Binary = false
	}
	if found.Binary {
		return r.readMedia(p, f, f.Size(), found.MIME)
	}
	if f.Size() > wholeFileMax && in.Offset == 0 && in.Limit == 0 {
		return readOut{}, tooLargeToReadWhole(f.Size())
	}
	want := lines.Want{Offset: in.Offset, Limit: in.Limit, MaxBytes: budget}
	var out readOut
	if whole {
		out, err = readBytes(ctx, head, found.Encoding, want)
	} else if want.From, err = r.placeBefore(ctx, p, f, found.Encoding, want.Offset); err == nil {
		out, err = readLines(ctx, f, f.Size(), found.Encoding, want)
	}
	out.Size, out.MIMEType, out.Encoding = f.Size(), found.MIME, found.Encoding.Name()
	return out, err
}

// file is what reading needs of an open file.
type file interface {
	io.Reader
	io.ReaderAt
}

// readLines reads a file that does not fit into one answer, in constant memory.
func readLines(ctx context.Context, f file, size int64, enc text.Encoding, want lines.Want) (readOut, error) {
	w, err := readWindow(ctx, f, size, enc, want)
	if err != nil {
		return readOut{}, err
	}
	return windowOut(w, want), nil
}

// readBytes reads the whole of a file, so that its hash can be told.
func readBytes(ctx context.Context, raw []byte, enc text.Encoding, want lines.Want) (readOut, error) {
	w, ok := wholeWindow(raw, enc, want)
	if !ok {
		var err error
		if w, err = readWindow(ctx, bytes.NewReader(raw), int64(len(raw)), enc, want); err != nil {
			return readOut{}, err
		}
	}
	out := windowOut(w, want)
	if w.Start <= 1 && !w.Truncated && w.Cut == 0 && want.Limit == 0 {
		sum := sha256.Sum256(raw)
		out.SHA256 = hex.EncodeToString(sum[:])
	}
	return out, nil
}

// wholeWindow is the window of all of a text in UTF-8, where it is wanted and may be
// had as it stands.
func wholeWindow(raw []byte, enc text.Encoding, want lines.Want) (w lines.Window, ok bool) {
	if !enc.IsUTF8() || want.Offset != 0 || want.Limit != 0 || len(raw) > want.MaxBytes {
		return w, false
	}
	content := bytes.TrimPrefix(raw, enc.BOM())
	if len(content) == 0 || hasLongLine(content) {
		return w, false
	}
	count := bytes.Count(content, []byte{'\n'})
	if content[len(content)-1] != '\n' {
		count++
	}
	return lines.Window{Text: content, Start: 1, Count: count, Total: int64(count)}, true
}

// hasLongLine says that a line may have to be cut.
func hasLongLine(content []byte) bool {
	for len(content) > lines.DefaultMaxLine {
		end := bytes.LastIndexByte(content[:lines.DefaultMaxLine+1], '\n')
		if end < 0 {
			return true
		}
		content = content[end+1:]
	}
	return false
}

// readWindow reads UTF-8 where it lies and any other encoding through its decoder.
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

func windowOut(w lines.Window, want lines.Want) readOut {
	out := readOut{
		Content:    valid(w.Text),
		StartLine:  w.Start,
		LineCount:  w.Count,
		Truncated:  w.Truncated,
		NextOffset: w.Next,
		LineEnding: string(text.LineEndingOf(w.Text)),
		past:       w.Count == 0 && want.Offset > 1,
	}
	if w.Total >= 0 {
		out.TotalLines = &w.Total
	}
	return out
}

// valid is a text in which every run of bytes that are no character is one U+FFFD.
func valid(content []byte) string {
	if utf8.Valid(content) {
		return toolkit.Text(content)
	}
	return strings.ToValidUTF8(string(content), "\uFFFD")
}

// readMedia answers a binary that the operator allowed, as an image, as audio or
// as an embedded resource.
func (r *reader) readMedia(p confine.Path, f file, size int64, mime string) (readOut, error) {
	if !r.mayRead(mime) {
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
	return readOut{
		Size: size, MIMEType: mime,
		media: []toolkit.Content{mediaBlock(p, mime, data)},
	}, nil
}

func mediaBlock(p confine.Path, mime string, data []byte) toolkit.Content {
	plain, _, _ := strings.Cut(mime, ";")
	switch mediaKind(plain) {
	case "image":
		return toolkit.ImageBlock(plain, data)
	case "audio":
		return toolkit.AudioBlock(plain, data)
	}
	return toolkit.BlobBlock(p.URI(), plain, data)
}

// mediaKind is the type of the content block that MCP has for a MIME type.
func mediaKind(mime string) string {
	switch kind, _, _ := strings.Cut(mime, "/"); kind {
	case "image", "audio":
		return kind
	}
	return "resource"
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

// Bytes is what the audit log records as read.
func (o readOut) Bytes() int64 {
	if o.media != nil {
		return o.Size
	}
	return int64(len(o.Content))
}

// readAll reads a file of most bytes at most, as long as it was when it was opened: one
// that grows meanwhile is what it was. Of one of /proc the size is not known. The bytes
// are good until the answer is sent.
func readAll(ctx context.Context, f *confine.Reader, most int) (raw []byte, whole bool, err error) {
	size := f.Size()
	if size <= 0 || size > int64(most) {
		return nil, false, nil
	}
	raw = toolkit.Room(ctx, int(size))[:size]
	n, err := f.ReadAt(raw, 0)
	if err == io.EOF {
		err = nil
	}
	return raw[:n], true, err
}

// readHead reads what detection needs and leaves the file's offset at its start.
// It says whether that is the whole file, whatever size was told of it: a file of
// /proc has none.
func readHead(f io.ReaderAt, size int64) (head []byte, whole bool, err error) {
	head = make([]byte, min(max(size, 4095)+1, headBytes))
	n, err := f.ReadAt(head, 0)
	if err == io.EOF {
		return head[:n], true, nil
	}
	return head[:n], false, err
}

func tooLargeToReadWhole(size int64) error {
	return fault.New(fault.LimitReached, fmt.Sprintf("this file has %d bytes; without a line range at most %d are read", size, wholeFileMax),
		"Give offset and limit (offset=-100 for its end), or search it").
		With("limit", wholeFileMax).With("size", size)
}
