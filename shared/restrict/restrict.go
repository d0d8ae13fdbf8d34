// Package restrict makes the process give up what it does not need, and then
// proves that it has.
//
// What is given up is gone for good, for every thread and every child: the
// kernel enforces it, so a fault in the rest of the program cannot bring it back.
// On Linux that is a Landlock domain for files and a seccomp filter for
// everything else (Linux documentation, userspace-api/landlock and
// seccomp_filter).
//
// What the kernel leaves open stays open: whoever knows a path can still learn
// that it exists, and its size and times (stat), and what a link points to.
//
// It refuses to call anything enforced that it has not seen fail: after applying
// the rules it tries what they forbid, on several threads, and reports what
// happened. It refuses to weaken a rule silently: what this machine cannot
// enforce is in the report. And it refuses to decide whether that is good
// enough; that is for whoever reads the report.
package restrict

import (
	"os"
	"path/filepath"

	"github.com/multiollama/mcp-server/shared/fault"
)

// Rules are what the process keeps. The zero value keeps nothing: no file may be
// opened, no program started, no socket made. Files that are open already stay
// usable.
type Rules struct {
	Read       []string // files, and directories with all in them, that may be read
	Write      []string // the same, that may be read and changed; no devices are made in them
	Exec       bool     // programs may be started, those that Read or Write let it read
	Network    bool     // sockets may be made, local ones included
	Accept     bool     // connections may be taken from sockets that listen already; none may be made
	Connect    []uint16 // without Network: the TCP ports that may be connected to, of any machine; nothing else that a socket can do
	Sockets    []string // directories of local sockets that datagrams may be sent to, by a socket that is open already
	Attributes bool     // modes, owners, times and extended attributes may be changed; the kernel can say that for all files or for none
}

// Part is one promise and whether it is kept.
type Part struct {
	Name  string // "read", "write", "run", "network", "attributes", "kernel"
	Holds bool
	Why   string // what was seen, in a plain sentence
	Fix   string // what would make it hold; "" where it does or nothing would
}

// Report is every promise, always in the same order.
type Report []Part

// Holds reports whether every promise is kept. An empty report promises nothing
// and does not hold.
func (r Report) Holds() bool {
	for _, part := range r {
		if !part.Holds {
			return false
		}
	}
	return len(r) > 0
}

// Probe is what this machine offers for rules that keep nothing.
func Probe() Report { return Rules{}.Probe() }

// absolute is rules with absolute paths, all of which exist.
func (r Rules) absolute() (Rules, error) {
	for _, paths := range []*[]string{&r.Read, &r.Write, &r.Sockets} {
		var out []string
		for _, path := range *paths {
			abs, err := filepath.Abs(path)
			if err == nil {
				_, err = os.Stat(abs)
			}
			if path == "" || err != nil {
				return r, fault.New(fault.Misconfigured, "a path that the process should keep cannot be used: "+path,
					"Create it, or take it out of the configuration").With("path", path).Because(err)
			}
			out = append(out, abs)
		}
		*paths = out
	}
	return r, nil
}
