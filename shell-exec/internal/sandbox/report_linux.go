package sandbox

import "fmt"

const (
	needLandlock = "Use Linux 5.13 or newer with Landlock enabled (lsm=landlock,… on the kernel's command line)"
	needTruncate = "Use Linux 6.2 or newer (Landlock ABI 3)"
	needScope    = "Use Linux 6.12 or newer (Landlock ABI 6, with the fix of its erratum 2)"
	needSeccomp  = "Use a kernel with CONFIG_SECCOMP_FILTER, on amd64 or arm64"
	needUserNS   = "Allow user namespaces: sysctl user.max_user_namespaces=1000, and on Ubuntu an AppArmor profile for this program with `userns,` " +
		"(or kernel.apparmor_restrict_unprivileged_userns=0); in a container, one that may make them"
	wantUserNS = "Use --sandbox-level 2"
	tellUs     = "Do not rely on it; report this with the kernel's version"
)

// promise is one line of the report: what enforces it here.
type promise struct {
	name     string
	enforced bool
	by       string
	fix      string
}

func (s *Sandbox) promises() []promise {
	m := s.machine
	by, truncate, signals := fmt.Sprintf("Landlock (ABI %d)", m.landlock), needTruncate, s.confineSignals()
	if m.landlock == 0 {
		truncate, signals = needLandlock, needLandlock
	}
	return []promise{
		{"read", m.landlock > 0, by, needLandlock},
		{"write", m.landlock >= 3 || m.landlock > 0 && m.seccomp, by, truncate},
		{"network", m.seccomp, "a system-call filter", needSeccomp},
		{"sockets", m.seccomp, "a supervisor of system calls, or a filter,", needSeccomp},
		{"processes", m.landlock > 0, by, signals},
		{"kernel", m.seccomp, "a system-call filter", needSeccomp},
	}
}

// confineSignals is what confines signals where Landlock does not, for the operator.
func (s *Sandbox) confineSignals() string {
	switch {
	case s.level == 2:
		return needScope
	case s.why != nil:
		return needScope + ", or level 2 of the sandbox. " + needUserNS
	}
	return needScope + ", or --sandbox-level 2"
}

// promised says of every promise what was seen. err is why nothing could be tried.
func (s *Sandbox) promised(tried map[string]outcome, err error) Report {
	var out Report
	for _, p := range s.promises() {
		out = append(out, p.part(tried[p.name], err))
	}
	return out
}

func (p promise) part(saw outcome, err error) Part {
	part := Part{Name: p.name}
	switch {
	case err != nil:
		part.Why, part.Fix = "it could not be tried: "+cause(err), p.fix
	case !p.enforced:
		part.Why, part.Fix = "this kernel cannot forbid it", p.fix
	case saw.escaped != "":
		part.Why, part.Fix = p.by+" does not forbid "+saw.escaped, p.fix
	case saw.refused == 0:
		part.Why, part.Fix = p.by+" is in force, but there was nothing to try it on", "Run the server where something exists that a command may not touch"
	default:
		part.Holds, part.Why = true, fmt.Sprintf("%s forbids it: all %d attempts were refused", p.by, saw.refused)
	}
	return part
}

func (s *Sandbox) killPart(err error) Part {
	by := s.machine.means(s.level == 2)
	switch {
	case err != nil:
		return Part{Name: "kill", Why: by.String() + " did not end a command: " + cause(err), Fix: tellUs}
	case by == byLineage:
		return Part{Name: "kill", Why: "only a walk through /proc finds what a command started, and that can be outrun", Fix: s.confineSignals()}
	}
	return Part{Name: "kill", Holds: true, Why: by.String() + " ended a command with everything it had started, and nothing else"}
}

func (s *Sandbox) limitsPart(err error) Part {
	if err != nil {
		return Part{Name: "limits", Why: "they could not be tried: " + cause(err), Fix: tellUs}
	}
	why := "each process is bound by the kernel (RLIMIT_DATA, _FSIZE, _CPU), their sum is watched"
	if s.machine.counted {
		why += "; a control group counts all memory and threads"
	}
	return Part{Name: "limits", Holds: true, Why: why}
}

// namespacesPart is level 2, which closes what level 1 leaves open.
func (s *Sandbox) namespacesPart(err error, saw outcome) Part {
	const open = "commands can change modes and times of files outside that the user may change, see that they exist, " +
		"be told by the kernel what happens to them, and see the command lines of other processes"
	switch {
	case s.level == 2 && saw.escaped == "" && saw.refused > 0:
		return Part{Name: "namespaces", Holds: true, Why: fmt.Sprintf("level 2 forbids what level 1 leaves open: all %d attempts were refused", saw.refused)}
	case s.level == 2 && s.keeper.noProc != "":
		return Part{Name: "namespaces", Why: "commands see other processes: a /proc of their own cannot be mounted here: " + s.keeper.noProc, Fix: "In a container, do not cover parts of /proc"}
	case s.level == 2:
		return Part{Name: "namespaces", Why: "level 2 does not forbid " + saw.escaped, Fix: tellUs}
	case err != nil:
		return Part{Name: "namespaces", Why: open + "; level 2 forbids that, but cannot be had: " + cause(err), Fix: needUserNS}
	}
	return Part{Name: "namespaces", Why: open, Fix: wantUserNS}
}

// switchedOff is the report of a sandbox that is none.
func switchedOff() Report {
	var out Report
	for _, name := range []string{"read", "write", "network", "sockets", "processes", "kernel", "kill", "limits", "namespaces"} {
		out = append(out, Part{Name: name, Why: "the sandbox is off", Fix: "Use --sandbox auto or required"})
	}
	return out
}
