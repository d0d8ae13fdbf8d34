package restrict

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/fault"
)

// Private keeps other processes of this user out of this one: its memory, its open
// files and its environment in /proc are then root's alone, and it leaves no core
// dump. A child is like that until it becomes another program, so a user namespace
// is made before. Where the kernel refuses, everything is as it was.
func Private() { _ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }

// Self restricts the process to r, for good, and tries what is now forbidden.
//
// What this machine cannot enforce is in the report and is no error. An
// error means that the rules are impossible (Misconfigured) or that the kernel
// refused what it offers (Unavailable); then the process may be restricted in
// part and should end.
func Self(r Rules) (Report, error) {
	r, err := r.absolute()
	if err != nil {
		return nil, err
	}
	_, _ = time.Now().Zone() // the time zone is read at its first use, which could be too late
	m := inspect()
	trials := newTrials(r)
	if err := m.apply(r); err != nil {
		return nil, fault.New(fault.Unavailable, "the process could not be restricted",
			"Run the server without restriction (--restrict off), or on another kernel").Because(err)
	}
	return m.report(r, trials.run()), nil
}

// Probe is what this machine offers for these rules. It changes nothing, so it can only
// say what would be tried: Self proves it.
func (r Rules) Probe() Report { return inspect().report(r, nil) }

// machine is what the kernel can do.
type machine struct {
	landlock int  // the ABI; 0 without Landlock
	seccomp  bool // system-call filters, on a processor that this package has numbers for
}

func inspect() machine { return machine{landlock: LandlockABI(), seccomp: HasFilters()} }

// LandlockABI is the version of Landlock to be used: 0 where there is none. 6
// and 7 without the fix of erratum 2 count as 5: there a thread in a domain can
// no longer signal the other threads of its process, which the Go runtime does
// all the time.
func LandlockABI() int {
	abi, err := ll.LandlockGetABIVersion()
	if err != nil {
		return 0
	}
	if errata, err := ll.LandlockGetErrata(); abi >= 6 && (err != nil || errata&2 == 0) {
		return 5
	}
	return abi
}

// tsync is the first ABI whose kernel restricts all threads by itself.
const tsync = 8

// apply makes both before it enters either, and the filter goes first: it brings
// no_new_privs to every thread by one call of the kernel, where Landlock needs all
// threads stopped and woken for each of its steps (before ABI 8).
func (m machine) apply(r Rules) error {
	var domain int
	var flags uint32
	if m.landlock > 0 {
		c := handled(m.landlock, r)
		rules := landlockRules(c, r)
		if m.landlock < tsync {
			rules = ofThreads(rules)
		}
		var err error
		if domain, flags, err = c.NewRulesetFD(rules...); err != nil {
			return fmt.Errorf("landlock: %w", err)
		}
		defer unix.Close(domain)
	}

	if m.seccomp {
		if err := program(r, m.landlock).AllThreads(); err != nil {
			return fmt.Errorf("seccomp: %w", err)
		}
	} else if err := ll.AllThreadsPrctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}

	var err error
	switch {
	case m.landlock >= tsync:
		err = ll.LandlockRestrictSelf(domain, flags|ll.FlagRestrictSelfTSync)
	case m.landlock > 0:
		err = ll.AllThreadsLandlockRestrictSelf(domain, flags)
	}
	if err != nil {
		return fmt.Errorf("landlock: %w", err)
	}
	return nil
}

// program is the filter for r. It allows by default: it is there to take away
// what a server of files never does, not to list what the Go runtime may do.
func program(r Rules, landlock int) Program {
	f := NewFilter()
	f.Deny(unix.EPERM, KernelCalls()...)
	f.DenyNamespaces()
	if !r.Exec {
		f.Deny(unix.EPERM, unix.SYS_EXECVE, unix.SYS_EXECVEAT)
	}
	if !r.Network {
		// Connecting by sending (TCP Fast Open), which a socket can do that listened and was shut
		// down, is not seen by Landlock.
		f.DenyBits(unix.EPERM, unix.SYS_SENDTO, 3, unix.MSG_FASTOPEN)
		f.DenyBits(unix.EPERM, unix.SYS_SENDMSG, 2, unix.MSG_FASTOPEN)
		f.DenyBits(unix.EPERM, unix.SYS_SENDMMSG, 3, unix.MSG_FASTOPEN)
		if !r.Accept {
			f.Deny(unix.EPERM, acceptCalls...)
		}
		if len(r.Connect) > 0 {
			// Connections by TCP are left, whose ports Landlock limits. It does not see the other
			// protocols of streams (MPTCP is one), nor listening.
			f.Deny(unix.EPERM, unix.SYS_SOCKETPAIR, unix.SYS_BIND, unix.SYS_LISTEN)
			f.AllowOnly(unix.EPERM, unix.SYS_SOCKET, 0, ^uint32(0), unix.AF_INET, unix.AF_INET6)
			f.AllowOnly(unix.EPERM, unix.SYS_SOCKET, 1, 0xf, unix.SOCK_STREAM)
			f.AllowOnly(unix.EPERM, unix.SYS_SOCKET, 2, ^uint32(0), unix.IPPROTO_IP, unix.IPPROTO_TCP)
		} else {
			f.Deny(unix.EPERM, socketCalls...)
		}
	}
	if !r.Attributes {
		f.Deny(unix.EPERM, attributeCalls...)
	}
	if landlock < 3 {
		f.DenyTruncation() // Landlock cannot, before ABI 3
	}
	return f.Program()
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
	c := []landlock.Config{
		{}, landlock.V1, landlock.V2, landlock.V3, landlock.V4, landlock.V5, landlock.V6,
		landlock.V7, landlock.V8, landlock.V9, landlock.V10, landlock.V11,
	}[min(abi, 11)]
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

// landlockRules allow what r keeps, as far as it means something for a file or a directory.
func landlockRules(c landlock.Config, r Rules) []landlock.Rule {
	var rules []landlock.Rule
	allow := func(rights landlock.AccessFSSet, paths []string) {
		for _, path := range paths {
			rights := rights
			if r.Exec {
				rights |= ll.AccessFSExecute
			}
			if info, err := os.Stat(path); err == nil && !info.IsDir() {
				rights &= fileRights
			}
			rules = append(rules, landlock.PathAccess(rights&c.HandledAccessFS, path))
		}
	}
	allow(readRights, r.Read)
	allow(writeRights, r.Write)
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

// contains reports whether one of dirs is path or above it.
func contains(dirs []string, path string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool {
		rel, err := filepath.Rel(dir, path)
		return err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
	})
}

const (
	needLandlock = "Use Linux 5.13 or newer with Landlock enabled (lsm=landlock,… on the kernel's command line)"
	needSeccomp  = "Use a kernel with CONFIG_SECCOMP_FILTER, on amd64 or arm64"
	needPorts    = "Use Linux 6.7 or newer with Landlock enabled, and system-call filters, or leave --otlp-endpoint out"
	byFilter     = "a system-call filter"
)

// promise is one line of the report: what enforces it, and what the rules
// leave of it.
type promise struct {
	name      string
	enforced  bool   // this machine can
	by        string // what enforces it
	fix       string
	permitted string // why the rules do not forbid it; "" where they do
	except    string // what of it the rules leave; "" for nothing
}

func (m machine) promises(r Rules) []promise {
	when := func(is bool, text string) string {
		if is {
			return text
		}
		return ""
	}
	byLandlock := fmt.Sprintf("Landlock (ABI %d)", m.landlock)
	network := promise{"network", m.seccomp, byFilter, needSeccomp,
		when(r.Network, "sockets may be made, as configured"), when(r.Accept, "connections that come in")}
	if !r.Network && len(r.Connect) > 0 {
		// That takes both: a filter sees sockets, and only Landlock sees ports.
		const tcpPorts = 4 // the first ABI that knows them
		ports := strings.ReplaceAll(strings.Trim(fmt.Sprint(r.Connect), "[]"), " ", " or ")
		network = promise{"network", m.seccomp && m.landlock >= tcpPorts, byFilter + " with " + byLandlock, needPorts,
			"", "connections to TCP port " + ports + when(r.Accept, ", and those that come in")}
	}
	return []promise{
		{"read", m.landlock > 0, byLandlock, needLandlock,
			when(contains(slices.Concat(r.Read, r.Write), "/"), "every file may be read, as configured"), ""},
		{"write", m.landlock >= 3 || m.landlock > 0 && m.seccomp, byLandlock, needLandlock,
			when(contains(r.Write, "/"), "every file may be written, as configured"), ""},
		{"run", m.seccomp, byFilter, needSeccomp, when(r.Exec, "programs may be started, as configured"), ""},
		network,
		{"attributes", m.seccomp, byFilter, needSeccomp,
			when(r.Attributes, "modes, owners and times may be changed, as configured"), ""},
		{"kernel", m.seccomp, byFilter, needSeccomp, "", ""},
	}
}

func (m machine) report(r Rules, tried map[string]outcome) Report {
	var report Report
	for _, p := range m.promises(r) {
		report = append(report, p.part(tried))
	}
	return report
}

// part is the promise as seen: kept only where the attempt to break it failed.
// Without attempts it is what the machine offers.
func (p promise) part(tried map[string]outcome) Part {
	part := Part{Name: p.name}
	saw := tried[p.name]
	forbidden := "it"
	if p.except != "" {
		forbidden = "all but " + p.except
	}
	switch {
	case p.permitted != "":
		part.Holds, part.Why = true, p.permitted
	case !p.enforced:
		part.Why, part.Fix = "this kernel cannot forbid "+forbidden, p.fix
	case tried == nil:
		part.Holds, part.Why = true, p.by+" can forbid "+forbidden
	case saw.escaped != "":
		part.Why = p.by + " should forbid it, yet " + saw.escaped + " worked"
		part.Fix = "Do not rely on it; report this with the kernel's version"
	case saw.refused == 0 && saw.already > 0:
		part.Holds, part.Why = true, "it was forbidden before, and still is"
	case saw.refused == 0:
		part.Why = p.by + " is in force, but there was nothing to try it on"
		part.Fix = "Run the server where something exists that it may not touch"
	default:
		part.Holds, part.Why = true, fmt.Sprintf("%s forbids %s: all %d attempts were refused", p.by, forbidden, saw.refused)
	}
	return part
}
