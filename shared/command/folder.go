package command

import (
	"regexp"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
)

var userID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// CheckUserID refuses what cannot be a part of a folder's name.
func CheckUserID(id string) error {
	if userID.MatchString(id) {
		return nil
	}
	return fault.New(fault.Misconfigured, "the user id cannot be part of a folder's name", "Use letters, digits, - and _, at most 64 of them").With("user-id", id)
}

// UserFolder is where what is made for a user on a day lies, beneath the first allowed
// directory and with slashes (document 004).
func UserFolder(day time.Time, user string) string {
	return "output/" + day.Format(time.DateOnly) + "/user_" + user
}
