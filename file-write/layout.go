package main

import (
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/multiollama/mcp-server/shared/command"
)

// layout says where the names of a client begin. The zero layout: where the allowed
// directories do.
type layout struct {
	dated bool
	user  string
	clock func() time.Time
}

var datedFolder = regexp.MustCompile(`^output/\d{4}-\d{2}-\d{2}/user_([A-Za-z0-9_-]+)(/|$)`)

func newLayout(name, user string, clock func() time.Time) (layout, error) {
	if name != "dated" {
		return layout{}, nil
	}
	return layout{dated: true, user: user, clock: clock}, command.CheckUserID(user)
}

// place is the name of what a client calls given (document 004): beneath today's
// folder of this user. A name that begins with one of the user's folders, as answers
// tell it, is left as it is, so that yesterday's file can still be edited.
func (l layout) place(given string) string {
	if !l.dated || given == "" {
		return given
	}
	given = strings.TrimPrefix(given, "./")
	if m := datedFolder.FindStringSubmatch(given); m != nil && m[1] == l.user {
		return given
	}
	if path.IsAbs(given) || strings.HasPrefix(given, "~") || strings.HasPrefix(given, "file:") {
		return given // refused by its form, in the client's own words
	}
	return command.UserFolder(l.clock(), l.user) + "/" + given
}
