package confine

import (
	"path/filepath"
	"strings"
)

// separators may not stand in the name of one component; a colon would name a
// stream or a drive.
const separators = `/\:`

// hostSpelling is text with slashes. It refuses device paths (\\?\, \\.\), paths
// relative to a drive (C:x) or to the current drive (\x), alternate streams,
// reserved names (NUL, COM1), trailing dots and spaces, and short names (GIT~1):
// all of them second names of something a rule may speak of.
func hostSpelling(text string) (string, error) {
	text = filepath.ToSlash(text)
	if strings.HasPrefix(text, "//?/") || strings.HasPrefix(text, "//./") || strings.HasPrefix(text, "/??/") {
		return "", malformed("the path "+shown(text)+" is a device path", `Use a path such as C:\directory\file`)
	}
	rest := text
	if filepath.IsAbs(text) {
		rest = strings.TrimPrefix(text[len(filepath.VolumeName(text)):], "/")
	} else if strings.HasPrefix(text, "/") {
		return "", malformed("the path "+shown(text)+" has no drive", `Use a path such as C:\directory\file, or a relative one`)
	}
	for _, c := range strings.Split(rest, "/") {
		if c == "" || c == "." || c == ".." {
			continue
		}
		if err := checkComponent(c); err != nil {
			return "", err
		}
	}
	return text, nil
}

func checkComponent(c string) error {
	if filepath.IsLocal(c) && !strings.ContainsAny(c, `:*?"<>|`) && strings.TrimRight(c, ". ") == c && !isShortName(c) {
		return nil
	}
	return malformed("the name "+shown(c)+" is not a plain file name on Windows", "Use the file's long name")
}

// isShortName finds the ~1 of an 8.3 name.
func isShortName(c string) bool {
	_, after, found := strings.Cut(c, "~")
	return found && len(c) <= len("ABCDEF~1.TXT") && after != "" && '0' <= after[0] && after[0] <= '9'
}

// denySpelling is a deny pattern in slash form: a backslash separates on Windows.
func denySpelling(text string) string { return filepath.ToSlash(text) }

func isAbsolute(text string) bool { return filepath.IsAbs(filepath.FromSlash(text)) }

// dropDriveSlash makes C:/x of the /C:/x that a file: URI holds.
func dropDriveSlash(text string) string {
	if len(text) > 2 && text[0] == '/' && text[2] == ':' {
		return text[1:]
	}
	return text
}

// sameHostName compares as NTFS does by default.
func sameHostName(a, b string) bool { return strings.EqualFold(a, b) }
