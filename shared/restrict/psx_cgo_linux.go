//go:build cgo

package restrict

import (
	"fmt"
	"os"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// ofThreads lets libpsx, which makes a system call on all threads where there is C,
// list them again afterwards: it ends the process if it cannot.
func ofThreads(rules []landlock.Rule) []landlock.Rule {
	return append(rules, landlock.PathAccess(ll.AccessFSReadDir, fmt.Sprintf("/proc/%d/task", os.Getpid())))
}
