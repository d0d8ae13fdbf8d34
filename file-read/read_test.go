package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/multiollama/mcp-server/file-read/internal/lines"
	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/mcptest"
	"github.com/multiollama/mcp-server/shared/text"
)

func TestReading(t *testing.T) {
	r, dir := readerOf(t,
		"a.txt=one\ntwo\nthree\n", "open.txt=one\ntwo", "dos.txt=one\r\ntwo\r\n", "empty.txt=",
		"bom.txt=\xef\xbb\xbfone\n", "sjis.txt=\x93\xfa\x96\x7b\x8c\xea\x82\xcc\x83\x65\x83\x4c\x83\x58\x83\x67\x82\xc5\x82\xb7\x81\x42\n",
		"utf16.txt=\xff\xfeh\x00i\x00\n\x00", "picture.png=\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "dir/", "link => a.txt",
	)
	for _, c := range []struct {
		what    string
		in      readIn
		content string
		code    fault.Code
	}{
		{"a file is read whole", readIn{Path: "a.txt"}, "one\ntwo\nthree\n", ""},
		{"by its absolute path too", readIn{Path: dir + "/a.txt"}, "one\ntwo\nthree\n", ""},
		{"by its URI too", readIn{Path: "file://" + dir + "/a.txt"}, "one\ntwo\nthree\n", ""},
		{"from a line on", readIn{Path: "a.txt", Offset: 2}, "two\nthree\n", ""},
		{"some lines", readIn{Path: "a.txt", Offset: 2, Limit: 1}, "two\n", ""},
		{"the last line", readIn{Path: "a.txt", Offset: -1}, "three\n", ""},
		{"the last line without a newline is not lost", readIn{Path: "open.txt", Offset: -1}, "two", ""},
		{"more lines from the end than there are", readIn{Path: "open.txt", Offset: -10}, "one\ntwo", ""},
		{"line ends stay as they are", readIn{Path: "dos.txt"}, "one\r\ntwo\r\n", ""},
		{"an empty file is empty", readIn{Path: "empty.txt"}, "", ""},
		{"past the end there is nothing", readIn{Path: "a.txt", Offset: 100}, "", ""},
		{"a byte-order mark is not content", readIn{Path: "bom.txt"}, "one\n", ""},
		{"Shift_JIS is decoded", readIn{Path: "sjis.txt"}, "日本語のテキストです。\n", ""},
		{"UTF-16 is decoded", readIn{Path: "utf16.txt"}, "hi\n", ""},
		{"an encoding can be given", readIn{Path: "sjis.txt", Encoding: "shift_jis"}, "日本語のテキストです。\n", ""},
		{"an unknown encoding is refused", readIn{Path: "a.txt", Encoding: "ebcdic-x"}, "", fault.ParamInvalid},
		{"a binary is refused", readIn{Path: "picture.png"}, "", fault.Forbidden},
		{"a directory is no file", readIn{Path: "dir"}, "", fault.ParamInvalid},
		{"what is not there", readIn{Path: "b.txt"}, "", fault.NotFound},
		{"a link is refused even when its target is inside", readIn{Path: "link"}, "", fault.Forbidden},
		{"outside", readIn{Path: "../secret"}, "", fault.OutsideAllowed},
		{"outside, by an absolute path", readIn{Path: "/etc/passwd"}, "", fault.OutsideAllowed},
	} {
		out, err := r.read(context.Background(), c.in)
		is(t, c.what, err, c.code)
		if c.code == "" && out.Content != c.content {
			t.Errorf("%s: %q, want %q", c.what, out.Content, c.content)
		}
	}
}

func TestWhatIsToldOfAFile(t *testing.T) {
	content := "one\r\ntwo\r\n"
	r, _ := readerOf(t, "dos.txt="+content)
	out, err := r.read(context.Background(), readIn{Path: "dos.txt"})
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(content))
	lines := int64(2)
	want := readOut{
		Content: content, StartLine: 1, LineCount: 2, TotalLines: &lines, Size: 10, MIMEType: "text/plain",
		Encoding: "utf-8", LineEnding: "crlf", SHA256: hex.EncodeToString(sum[:]),
	}
	if d := cmp.Diff(want, out, cmp.AllowUnexported(readOut{})); d != "" {
		t.Error(d)
	}
}

func TestTheWholeOfATextIsTheWindowOfAllItsLines(t *testing.T) {
	enc, err := text.Lookup("utf-8")
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", lines.DefaultMaxLine)
	had := 0
	for _, raw := range []string{
		"a", "a\n", "a\nb", "\n", "\n\n", "a\r\nb\r\n", "\xef\xbb\xbfa\n", "\xef\xbb\xbf", "", "\xff\n", long, long + "\n", long + "x", long + "\r\n",
		"a\n" + long + "\nb", "a\n" + long + "x\nb", strings.Repeat("line\n", 100_000), long + "\n" + long + "x",
	} {
		want, content := lines.Want{MaxBytes: 1 << 20}, []byte(raw)
		got, err := windowOf(t.Context(), content, enc, want)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(got.Text); n > 0 && &got.Text[n-1] == &content[len(content)-1] {
			had++
		}
		whole, err := readWindow(t.Context(), strings.NewReader(raw), int64(len(raw)), enc, want)
		if diff := cmp.Diff(whole, got); diff != "" || err != nil {
			t.Errorf("%.20q: %v\n%s", raw, err, diff)
		}
	}
	if had != 12 {
		t.Errorf("%d texts are windows as they are", had)
	}
}

func TestALargeFileComesInPartsThatLoseNothing(t *testing.T) {
	var whole strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&whole, "line %d of a log that is longer than one answer\n", i)
	}
	r, _ := readerOf(t, "log.txt="+whole.String())
	var got strings.Builder
	parts := 0
	for offset := int64(1); offset != 0; parts++ {
		out, err := r.read(context.Background(), readIn{Path: "log.txt", Offset: offset})
		if err != nil {
			t.Fatal(err)
		}
		if len(out.Content) > r.maxBytes {
			t.Fatalf("an answer of %d bytes", len(out.Content))
		}
		if out.Truncated != (out.NextOffset != 0) {
			t.Fatalf("truncated is %t, next is %d", out.Truncated, out.NextOffset)
		}
		got.WriteString(out.Content)
		offset = out.NextOffset
	}
	if parts < 5 {
		t.Errorf("%d parts: nothing was cut", parts)
	}
	if got.String() != whole.String() {
		t.Error("the parts are not the whole")
	}
}

func TestAHugeFileIsReadByLinesOnly(t *testing.T) {
	r, dir := readerOf(t, "huge.log="+strings.Repeat("a line\n", headBytes))
	if err := os.Truncate(filepath.Join(dir, "huge.log"), wholeFileMax+1); err != nil {
		t.Fatal(err)
	}
	_, err := r.read(context.Background(), readIn{Path: "huge.log"})
	is(t, "without a range", err, fault.LimitReached)
	out, err := r.read(context.Background(), readIn{Path: "huge.log", Offset: 1, Limit: 1})
	is(t, "with a range", err, "")
	if out.Content != "a line\n" {
		t.Errorf("content is %q", out.Content)
	}
}

func TestAnAllowedBinaryIsContentOfItsKind(t *testing.T) {
	const png, zip = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "PK\x03\x04\x14\x00\x00\x00\x08\x00"
	r, _ := readerOf(t, "a.png="+png, "a.zip="+zip)
	r.media = []string{"image/*"}
	out, err := r.read(context.Background(), readIn{Path: "a.png"})
	is(t, "an image that is allowed", err, "")
	if len(out.Contents()) != 1 || out.Contents()[0].MIME != "image/png" || string(out.Contents()[0].Data) != png {
		t.Errorf("contents are %+v", out.Contents())
	}
	_, err = r.read(context.Background(), readIn{Path: "a.zip"})
	is(t, "an archive that is not", err, fault.Forbidden)
	r.media = []string{"*/*"}
	out, err = r.read(context.Background(), readIn{Path: "a.zip"})
	is(t, "when all are", err, "")
	if len(out.Contents()) != 1 || !strings.HasPrefix(out.Contents()[0].URI, "file:///") {
		t.Errorf("contents are %+v", out.Contents())
	}
}

func TestOneBadFileDoesNotFailTheOthers(t *testing.T) {
	r, _ := readerOf(t, "a.txt=one\n", "b.bin=\x00\x01\x02\x03", "c.txt=three\n", "link => a.txt")
	out, err := r.readMany(context.Background(), readManyIn{Paths: []string{"a.txt", "b.bin", "missing", "link", "../x", "c.txt"}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range out.Files {
		if f.Error != nil {
			got = append(got, f.Path+" "+string(f.Error.Code))
		} else {
			got = append(got, f.Path+" "+*f.Content)
		}
	}
	want := []string{"a.txt one\n", "b.bin SECURITY_003", "missing RESOURCE_003", "link SECURITY_003", "../x SECURITY_002", "c.txt three\n"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestManyFilesShareOneAnswer(t *testing.T) {
	line := strings.Repeat("x", 99) + "\n"
	r, _ := readerOf(t, "a.txt="+strings.Repeat(line, 10), "b.txt="+strings.Repeat(line, 10), "c.txt=c\n")
	r.maxBytes = 1500
	out, err := r.readMany(context.Background(), readManyIn{Paths: []string{"a.txt", "b.txt", "c.txt"}})
	if err != nil {
		t.Fatal(err)
	}
	if n := out.Bytes(); n > 1500 {
		t.Errorf("%d bytes of content", n)
	}
	if b := out.Files[1]; !b.Truncated || b.NextOffset != 6 {
		t.Errorf("the file at the border: truncated %t, next %d", b.Truncated, b.NextOffset)
	}
	if c := out.Files[2]; c.Error == nil || c.Error.Code != fault.LimitReached {
		t.Errorf("the file for which nothing was left: %+v", c)
	}
}

func TestDeniedFilesAreAsIfTheyWereElsewhere(t *testing.T) {
	dir := mcptest.Tree(t, ".env=KEY=1\n", "a.txt=a\n", "keys/id_rsa=secret\n")
	r := readerOn(t, dir, confine.Options{DenySecrets: true})
	for _, name := range []string{".env", "keys/id_rsa", dir + "/.ENV"} {
		_, err := r.read(context.Background(), readIn{Path: name})
		is(t, name, err, fault.OutsideAllowed)
	}
	listed, err := r.list(context.Background(), listIn{Dir: ".", Hidden: true, Sort: "name", Limit: 100})
	is(t, "listing", err, "")
	if listed.Denied != 1 || listed.Total != 2 {
		t.Errorf("listed %d, denied %d", listed.Total, listed.Denied)
	}
	found, err := r.search(context.Background(), searchIn{Path: ".", Regex: "KEY|secret", Recursive: true, MaxResults: 10, Output: "lines"})
	is(t, "searching", err, "")
	if len(found.Matches) != 0 || found.Skipped["denied"] != 2 {
		t.Errorf("found %v, skipped %v", found.Matches, found.Skipped)
	}
}
