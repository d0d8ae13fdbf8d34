package sandbox

import (
	"fmt"
	"path/filepath"
	"strings"
)

const sandboxExec = "/usr/bin/sandbox-exec"

// profile is rules in Seatbelt's language, and the parameters it names. The last
// rule that matches decides. Paths go in as parameters, never as text, so that a
// quote in a name cannot add a rule.
func profile(r Rules, home string, getenv func(string) string) (text string, params []string) {
	var p strings.Builder
	p.WriteString(`(version 1)
(deny default)
(allow process-exec) (allow process-fork)
(allow signal (target same-sandbox))
(allow process-info* (target same-sandbox))
(allow sysctl-read)
(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo") (global-name "com.apple.system.notification_center"))
(allow ipc-posix-sem)
(allow file-read-metadata)
(allow file-read* (literal "/") (subpath "/usr") (subpath "/bin") (subpath "/sbin") (subpath "/System") (subpath "/Library") (subpath "/opt")
  (subpath "/private/etc") (subpath "/private/var/db/timezone") (subpath "/private/var/select") (literal "/dev"))
(allow file-read* file-write-data (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty") (literal "/dev/random") (literal "/dev/urandom"))
(allow file-ioctl (literal "/dev/tty"))
`)
	add := func(kind, rule string, paths []string) {
		for _, path := range paths {
			real, err := filepath.EvalSymlinks(path) // Seatbelt knows /private/tmp, not /tmp
			if err != nil {
				continue
			}
			name := fmt.Sprintf("%s%d", kind, len(params))
			params = append(params, "-D", name+"="+real)
			fmt.Fprintf(&p, "(%s (subpath (param %q)))\n", rule, name)
		}
	}
	add("R", "allow file-read*", append(toolPaths(home, getenv), r.readable()...))
	add("W", "allow file-read* file-write*", r.writable())
	add("H", "deny file-read* file-write*", paths(r.Hide)) // the last rule that matches counts
	if r.Network {
		p.WriteString("(allow network*) (allow system-socket)\n(allow mach-lookup (global-name \"com.apple.dnssd.service\") (global-name \"com.apple.SystemConfiguration.configd\"))\n")
	}
	return p.String(), params
}

// bounded is argv under the limits that a shell can set before it becomes the
// program, and under a profile unless it is free.
func bounded(c Command, home string, free bool, getenv func(string) string) []string {
	const gate = `exec "$0" "$@"`
	var limits strings.Builder
	limits.WriteString("ulimit -c 0; ")
	if c.Limits.FileSize > 0 {
		fmt.Fprintf(&limits, "ulimit -f %d; ", (c.Limits.FileSize+511)/512)
	}
	if c.Limits.CPU > 0 {
		fmt.Fprintf(&limits, "ulimit -t %d; ", int64(c.Limits.CPU.Seconds()+0.999))
	}
	argv := append([]string{"/bin/sh", "-c", limits.String() + gate, c.Path}, c.Args[1:]...)
	if free {
		return argv
	}
	text, params := profile(c.Rules, home, getenv)
	return append(append(append([]string{sandboxExec, "-p", text}, params...), "--"), argv...)
}
