package page

import (
	"bytes"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"

	"github.com/multiollama/mcp-server/shared/text"
)

// decode is a page in UTF-8. What the page or its server declares counts, as a browser
// has it (byte-order mark, then header, then meta), unless the bytes contradict it: then,
// and where nothing is declared, the encoding is told by the bytes. Not ok: these are no
// text.
func decode(body []byte, kind, declared string) (content string, ok bool) {
	if declared == "" && strings.Contains(kind, "xml") {
		declared = declaredInXML(body)
	}
	label := ""
	if declared != "" {
		label = "text/html; charset=" + declared
	}
	codec, name, certain := charset.DetermineEncoding(body, label)
	isUTF8 := utf8.Valid(body)
	beyond := bytes.ContainsFunc(body, func(r rune) bool { return r >= utf8.RuneSelf })
	switch {
	case name == "utf-8", name == "windows-1252" && !certain: // which is also what is answered where nothing is known
	case !certain && isUTF8 && beyond:
	default:
		out, err := codec.NewDecoder().Bytes(body)
		return string(out), err == nil && !bytes.Contains(start(out), []byte{0})
	}
	if isUTF8 && !bytes.Contains(start(body), []byte{0}) {
		return strings.TrimPrefix(string(body), "\uFEFF"), true
	}
	found, ok := text.EncodingOf(start(body), len(body) <= headBytes)
	if !ok {
		return "", false
	}
	out, err := io.ReadAll(found.NewReader(bytes.NewReader(body)))
	return string(out), err == nil
}

var xmlEncoding = regexp.MustCompile(`^\s*<\?xml[^>]*\sencoding\s*=\s*["']([A-Za-z0-9._-]+)["']`)

func declaredInXML(body []byte) string {
	if m := xmlEncoding.FindSubmatch(body[:min(len(body), 256)]); m != nil {
		return string(m[1])
	}
	return ""
}
