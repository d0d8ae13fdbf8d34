//go:build !windows

package confine

import "strings"

// separators may not stand in the name of one component.
const separators = "/"

// hostSpelling refuses what is a path only on Windows: C:\x, C:/x, \\server\share,
// \\?\ and \\.\. Here C:\x would be one strange file name, and a model that writes
// it does not mean that.
func hostSpelling(text string) (string, error) {
	drive := len(text) > 2 && text[1] == ':' && (text[2] == '\\' || text[2] == '/') && isScheme("x"+text[:1])
	if drive || strings.HasPrefix(text, `\\`) {
		return "", malformed("the path "+shown(text)+" is a Windows path, and this is not Windows", "Use a path with forward slashes")
	}
	return text, nil
}

// checkComponent finds nothing more to refuse in a name without slashes.
func checkComponent(string) error { return nil }

// denySpelling is a deny pattern in slash form.
func denySpelling(text string) string { return text }

func isAbsolute(text string) bool { return strings.HasPrefix(text, "/") }

func dropDriveSlash(text string) string { return text }

// sameHostName compares byte by byte even where the file system does not tell
// upper from lower case: another spelling of an allowed directory is refused, which
// is safe.
func sameHostName(a, b string) bool { return a == b }
