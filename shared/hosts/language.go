package hosts

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"github.com/multiollama/mcp-server/shared/fault"
)

// language is one in which hosts keep their configuration. put and take trust
// that the text parses; the text between and around stays as it is.
type language struct {
	print  func(tree) string
	decode func([]byte) (any, error)
	put    func(text []byte, p pointer, value any) ([]byte, error)
	take   func(text []byte, p pointer) ([]byte, error)
}

// language is that of the file's name, or else of the host.
func (h Host) language(file string) language {
	names := []string{file}
	if len(h.where) > 0 {
		names = append(names, h.where[0].path)
	}
	for _, name := range names {
		switch strings.ToLower(path.Ext(strings.ReplaceAll(name, `\`, "/"))) {
		case ".json", ".jsonc":
			return language{asJSON, decodeJSON, putJSON, takeJSON}
		case ".toml":
			return language{asTOML, decodeTOML, putTOML, takeTOML}
		case ".yaml", ".yml":
			return language{asYAML, decodeYAML, putYAML, takeYAML}
		}
	}
	return language{asJSON, decodeJSON, putJSON, takeJSON}
}

// broken refuses a text that does not parse; what says where, on one line and
// without the name of the parser.
func broken(what string, cause error) error {
	for _, name := range []string{"hujson: ", "toml: ", "yaml: "} {
		what = strings.ReplaceAll(what, name, "")
	}
	what = strings.Join(strings.Fields(what), " ")
	return fault.New(fault.Misconfigured, "the file does not parse: "+what, "Put that right, then try again").Because(cause)
}

// notContainer refuses to put an entry into what holds none.
func notContainer(key string) error {
	return fault.New(fault.Misconfigured, "what stands at "+key+" in the file cannot hold servers", "Put that right, then try again")
}

// lineEnd is how the first line ends.
func lineEnd(text []byte) string {
	if i := bytes.IndexByte(text, '\n'); i > 0 && text[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// endOfLine is the offset of the line's end, or of the text's.
func endOfLine(text []byte, from int) int {
	n := bytes.IndexByte(text[from:], '\n')
	if n < 0 {
		return len(text)
	}
	return from + len(bytes.TrimSuffix(text[from:from+n], []byte("\r")))
}

// quoteEnd is the offset behind the string that begins at from.
func quoteEnd(text []byte, from int) int {
	quote := text[from]
	for i := from + 1; i < len(text); i++ {
		switch {
		case quote == '"' && text[i] == '\\':
			i++
		case text[i] != quote:
		case quote == '\'' && i+1 < len(text) && text[i+1] == '\'':
			i++
		default:
			return i + 1
		}
	}
	return len(text)
}

// withLineEnd is text with line ends of that kind.
func withLineEnd(text, end string) string { return strings.ReplaceAll(text, "\n", end) }

// splice is text with another text in the place of from to to.
func splice(text []byte, from, to int, with string) []byte {
	return slices.Concat(text[:from], []byte(with), text[to:])
}

// margin is the white space that the line around offset begins with.
func margin(text []byte, offset int) string {
	start := bytes.LastIndexByte(text[:offset], '\n') + 1
	end := start
	for end < offset && isBlank(text[end]) {
		end++
	}
	return string(text[start:end])
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

func isSpace(c byte) bool { return isBlank(c) || c == '\n' || c == '\r' }
