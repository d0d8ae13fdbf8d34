package restrict

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// landlockABI is the version of Landlock to be used: 0 where there is none. 6
// and 7 without the fix of erratum 2 count as 5: there a process that restricts
// its threads one by one can no longer send signals from one to another, which
// the Go runtime does all the time.
func landlockABI() int {
	abi, err := ll.LandlockGetABIVersion()
	if err != nil {
		return 0
	}
	if errata, err := ll.LandlockGetErrata(); abi >= 6 && (err != nil || errata&2 == 0) {
		return 5
	}
	return abi
}

const (
	readRights  = ll.AccessFSReadFile | ll.AccessFSReadDir
	writeRights = readRights | ll.AccessFSWriteFile | ll.AccessFSTruncate | ll.AccessFSRefer |
		ll.AccessFSRemoveDir | ll.AccessFSRemoveFile |
		ll.AccessFSMakeDir | ll.AccessFSMakeReg | ll.AccessFSMakeSym | ll.AccessFSMakeSock | ll.AccessFSMakeFifo
	fileRights = ll.AccessFSReadFile | ll.AccessFSWriteFile | ll.AccessFSTruncate | ll.AccessFSExecute
)

// handled is what the domain forbids unless a rule allows it: all that the ABI
// knows. go-landlock's best-effort mode would do this too, but takes missing
// support, and rules for it, for success.
func handled(abi int, r Rules) landlock.Config {
	c := []landlock.Config{{}, landlock.V1, landlock.V2, landlock.V3, landlock.V4, landlock.V5, landlock.V6, landlock.V7, landlock.V8, landlock.V9, landlock.V10, landlock.V11}[min(abi, 11)]
	if r.Network {
		c.HandledAccessNet = 0
		c.Scoped &^= ll.ScopeAbstractUnixSocket
		c.HandledAccessFS &^= ll.AccessFSResolveUnix
	}
	if r.Exec {
		// A program that was started earlier must still be reachable.
		c.Scoped &^= ll.ScopeSignal
	}
	return c
}

// tsync is the first ABI whose kernel restricts all threads by itself.
const tsync = 8

// domain is what Landlock shall enforce, in the kernel's hands and not yet in force.
type domain struct {
	fd    int
	flags uint32
}

func newDomain(abi int, r Rules) (domain, error) {
	c := handled(abi, r)
	rules := landlockRules(c, r)
	if abi < tsync {
		rules = ofThreads(rules)
	}
	fd, flags, err := c.NewRulesetFD(rules...)
	return domain{fd, flags}, err
}

// enter puts every thread into the domain; all of them have no_new_privs.
func (d domain) enter(abi int) error {
	if abi >= tsync {
		return ll.LandlockRestrictSelf(d.fd, d.flags|ll.FlagRestrictSelfTSync)
	}
	return ll.AllThreadsLandlockRestrictSelf(d.fd, d.flags)
}

func (d domain) close() { unix.Close(d.fd) }

func landlockRules(c landlock.Config, r Rules) []landlock.Rule {
	var rules []landlock.Rule
	for _, path := range r.Read {
		rules = append(rules, rule(path, readRights, c, r.Exec))
	}
	for _, path := range r.Write {
		rules = append(rules, rule(path, writeRights, c, r.Exec))
	}
	if c.HandledAccessNet != 0 {
		for _, port := range r.Connect {
			rules = append(rules, landlock.ConnectTCP(port))
		}
	}
	if resolve := ll.AccessFSResolveUnix & c.HandledAccessFS; resolve != 0 {
		rules = append(rules, landlock.PathAccess(resolve, r.Sockets...))
	}
	return rules
}

// rule allows rights beneath path, as far as they mean something there.
func rule(path string, rights landlock.AccessFSSet, c landlock.Config, exec bool) landlock.Rule {
	if exec {
		rights |= ll.AccessFSExecute
	}
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		rights &= fileRights
	}
	return landlock.PathAccess(rights&c.HandledAccessFS, path)
}

// contains reports whether one of dirs is path or above it.
func contains(dirs []string, path string) bool {
	for _, dir := range dirs {
		rel, err := filepath.Rel(dir, path)
		if err == nil && rel != ".." && !strings.HasPrefix(rel, "../") {
			return true
		}
	}
	return false
}
