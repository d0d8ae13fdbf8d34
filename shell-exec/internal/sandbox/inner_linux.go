package sandbox

import (
	"fmt"
	"os"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"

	"github.com/multiollama/mcp-server/shell-exec/internal/sandbox/forkexec"
)

// newInner is the second layer, which every command enters between fork and exec,
// alone. It forbids nothing more than the first one does; but Landlock lets nobody
// look into or signal what is not in the same layers, or deeper. So a thread of
// this process reaches its command, and the command neither the thread, by which
// it would have all of this process, nor its will. nil where that cannot be had.
func (m machine) newInner() (*os.File, error) {
	if m.landlock == 0 || !forkexec.Available {
		return nil, nil
	}
	// Every layer denies moving files between directories until it is allowed: so that
	// is allowed everywhere. ABI 1 cannot, and has a right here that no command has.
	attr := ll.RulesetAttr{HandledAccessFS: ll.AccessFSRefer, Scoped: handled(m.landlock, true).Scoped}
	if m.landlock < 2 {
		attr.HandledAccessFS = ll.AccessFSMakeBlock
	}
	fd, err := ll.LandlockCreateRuleset(&attr, 0)
	if err != nil {
		return nil, fmt.Errorf("landlock_create_ruleset: %w", err)
	}
	set := os.NewFile(uintptr(fd), "landlock")
	if m.landlock < 2 {
		return set, nil
	}
	if _, err := (grant{path: "/", rights: ll.AccessFSRefer}).add(fd, ll.AccessFSRefer); err != nil {
		set.Close()
		return nil, err
	}
	return set, nil
}
