package restrict

import (
	"fmt"
	"slices"
	"strings"
	"time"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/seccomp"
)

// Self restricts the process to r, for good, and tries what is now forbidden.
//
// What this machine cannot enforce stands in the report and is no error. An
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
		return nil, fault.New(fault.Unavailable, "the process could not be restricted", "Run the server without restriction (--restrict off), or on another kernel").Because(err)
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

func inspect() machine {
	return machine{landlock: landlockABI(), seccomp: seccomp.Available()}
}

// apply makes both before it enters either, and the filter goes first: it brings
// no_new_privs to every thread by one call of the kernel, where Landlock needs all
// threads stopped and woken for each of its steps (before ABI 8).
func (m machine) apply(r Rules) error {
	if m.landlock == 0 {
		return m.filter(r)
	}
	d, err := newDomain(m.landlock, r)
	if err != nil {
		return fmt.Errorf("landlock: %w", err)
	}
	defer d.close()
	if err := m.filter(r); err != nil {
		return err
	}
	if err := d.enter(m.landlock); err != nil {
		return fmt.Errorf("landlock: %w", err)
	}
	return nil
}

// filter brings no_new_privs to every thread, and where there are filters the filter.
func (m machine) filter(r Rules) error {
	if !m.seccomp {
		return ll.AllThreadsPrctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	}
	if err := program(r, m.landlock).AllThreads(); err != nil {
		return fmt.Errorf("seccomp: %w", err)
	}
	return nil
}

const (
	needLandlock = "Use Linux 5.13 or newer with Landlock enabled (lsm=landlock,… on the kernel's command line)"
	needSeccomp  = "Use a kernel with CONFIG_SECCOMP_FILTER, on amd64 or arm64"
	needPorts    = "Use Linux 6.7 or newer with Landlock enabled, and system-call filters, or leave --otlp-endpoint out"
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
	byLandlock := fmt.Sprintf("Landlock (ABI %d)", m.landlock)
	return []promise{
		{"read", m.landlock > 0, byLandlock, needLandlock, when(contains(slices.Concat(r.Read, r.Write), "/"), "every file may be read, as configured"), ""},
		{"write", m.landlock >= 3 || m.landlock > 0 && m.seccomp, byLandlock, needLandlock, when(contains(r.Write, "/"), "every file may be written, as configured"), ""},
		{"run", m.seccomp, byFilter, needSeccomp, when(r.Exec, "programs may be started, as configured"), ""},
		m.network(r, byLandlock),
		{"attributes", m.seccomp, byFilter, needSeccomp, when(r.Attributes, "modes, owners and times may be changed, as configured"), ""},
		{"kernel", m.seccomp, byFilter, needSeccomp, "", ""},
	}
}

const byFilter = "a system-call filter"

// network takes both: a filter sees sockets, and only Landlock sees ports.
func (m machine) network(r Rules, byLandlock string) promise {
	if r.Network || len(r.Connect) == 0 {
		return promise{"network", m.seccomp, byFilter, needSeccomp, when(r.Network, "sockets may be made, as configured"), when(r.Accept, "connections that come in")}
	}
	ports := strings.Trim(fmt.Sprint(r.Connect), "[]")
	return promise{"network", m.seccomp && m.landlock >= tcpPorts, byFilter + " with " + byLandlock, needPorts, "", "connections to TCP port " + strings.ReplaceAll(ports, " ", " or ") + when(r.Accept, ", and those that come in")}
}

// tcpPorts is the first ABI that knows ports.
const tcpPorts = 4

func when(is bool, text string) string {
	if is {
		return text
	}
	return ""
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
	switch {
	case p.permitted != "":
		part.Holds, part.Why = true, p.permitted
	case !p.enforced:
		part.Why, part.Fix = "this kernel cannot forbid "+p.it(), p.fix
	case tried == nil:
		part.Holds, part.Why = true, p.by+" can forbid "+p.it()
	case saw.escaped != "":
		part.Why, part.Fix = p.by+" should forbid it, yet "+saw.escaped+" worked", "Do not rely on it; report this with the kernel's version"
	case saw.refused == 0 && saw.already > 0:
		part.Holds, part.Why = true, "it was forbidden before, and still is"
	case saw.refused == 0:
		part.Why, part.Fix = p.by+" is in force, but there was nothing to try it on", "Run the server where something exists that it may not touch"
	default:
		part.Holds, part.Why = true, fmt.Sprintf("%s forbids %s: all %d attempts were refused", p.by, p.it(), saw.refused)
	}
	return part
}

// it is what is forbidden.
func (p promise) it() string {
	if p.except == "" {
		return "it"
	}
	return "all but " + p.except
}
