package effect

import (
	"regexp"
	"sync"
)

// late is a regular expression that is compiled when it is first needed: most commands
// need none, and a server should not start slower for those that do.
func late(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
