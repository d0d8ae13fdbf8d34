package command

import (
	"strings"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
)

// CheckUserID refuses what cannot be a part of a folder's name.
func CheckUserID(id string) error {
	if isWord(id, 64, "_-") {
		return nil
	}
	return fault.New(fault.Misconfigured, "the user id cannot be part of a folder's name",
		"Use letters, digits, - and _, at most 64 of them").With("user-id", id)
}

// UserFolder is the folder of the files that are made for a user on a day, under the first
// allowed directory and with slashes (document 004).
func UserFolder(day time.Time, user string) string {
	return "output/" + day.Format(time.DateOnly) + "/user_" + user
}

// isWord reports whether s has between one and limit bytes, all of them ASCII letters,
// digits or some of others.
func isWord(s string, limit int, others string) bool {
	return 0 < len(s) && len(s) <= limit && !strings.ContainsFunc(s, func(c rune) bool {
		return !isLetter(c) && (c < '0' || c > '9') && !strings.ContainsRune(others, c)
	})
}

func isLetter(c rune) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }
