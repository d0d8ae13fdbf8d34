package main

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/text"
)

type infoIn struct {
	Path string `json:"path" path:"read" doc:"File or directory."`
}

type infoOut struct {
	Path       string `json:"path"`
	Type       string `json:"type"`
	Size       int64  `json:"size"`
	Mode       string `json:"mode" doc:"Octal, e.g. 0644."`
	Modified   string `json:"modified,omitempty"`
	Accessed   string `json:"accessed,omitempty"`
	Changed    string `json:"changed,omitempty"`
	Created    string `json:"created,omitempty"`
	Links      uint64 `json:"links,omitempty"`
	MIMEType   string `json:"mimeType,omitempty"`
	Encoding   string `json:"encoding,omitempty"`
	LineEnding string `json:"lineEnding,omitempty"`
	Lines      *int64 `json:"lines,omitempty"`
}

func (r *reader) info(ctx context.Context, in infoIn) (infoOut, error) {
	p, err := r.scope.Parse(ctx, in.Path)
	if err != nil {
		return infoOut{}, err
	}
	i, err := p.Stat()
	if err != nil {
		return infoOut{}, err
	}
	out := infoOut{
		Path: p.String(), Type: i.Type.String(), Size: i.Size, Mode: fmt.Sprintf("%04o", i.Mode.Perm()),
		Modified: stamp(i.Modified), Accessed: stamp(i.Accessed), Changed: stamp(i.Changed), Created: stamp(i.Created),
		Links: i.Links,
	}
	if i.Type == confine.File {
		out.describeContent(ctx, p)
	}
	return out, nil
}

// describeContent adds what only the content shows. A file that may be described
// but not read is described all the same.
func (o *infoOut) describeContent(ctx context.Context, p confine.Path) {
	f, info, err := p.Open()
	if err != nil {
		return
	}
	defer f.Close()
	head, whole, err := readHead(f, info.Size, 0)
	if err != nil {
		return
	}
	found := text.Detect(head, whole)
	o.MIMEType = found.MIME
	if found.Binary {
		return
	}
	o.Encoding, o.LineEnding = found.Encoding.Name(), string(text.LineEndingOf(head))
	if info.Size > cheapBytes {
		return
	}

	// Count the lines, a last one without a newline too; not if they cannot be read.
	r := found.Encoding.NewReader(io.NewSectionReader(f, 0, cheapBytes))
	var n int64
	last := byte('\n')
	buf := make([]byte, headBytes)
	for ctx.Err() == nil {
		k, err := r.Read(buf)
		n += int64(bytes.Count(buf[:k], []byte{'\n'}))
		if k > 0 {
			last = buf[k-1]
		}
		if err == io.EOF {
			if last != '\n' {
				n++
			}
			o.Lines = &n
		}
		if err != nil {
			return
		}
	}
}

// Text is a line for each thing known.
func (o infoOut) Text() string {
	s := ""
	add := func(name, value string) {
		if value != "" {
			s += name + ": " + value + "\n"
		}
	}
	add("path", text.Escape(o.Path))
	add("type", o.Type)
	add("size", fmt.Sprint(o.Size))
	add("mode", o.Mode)
	add("modified", o.Modified)
	add("accessed", o.Accessed)
	add("changed", o.Changed)
	add("created", o.Created)
	add("MIME type", o.MIMEType)
	add("encoding", o.Encoding)
	add("line ends", o.LineEnding)
	if o.Lines != nil {
		add("lines", fmt.Sprint(*o.Lines))
	}
	return s
}
