//go:build !linux

package restrict

import "runtime"

// Private is for Linux.
func Private() {}

// Self checks the rules and restricts nothing: this platform cannot take rights
// from a running process. The report says so.
func Self(r Rules) (Report, error) {
	if _, err := r.absolute(); err != nil {
		return nil, err
	}
	return Probe(), nil
}

// Probe is what this machine offers for these rules: nothing.
func (Rules) Probe() Report {
	why := runtime.GOOS + " cannot take rights from a running process"
	fix := "Run the server on Linux, in a container or in a sandbox of the system"
	var report Report
	for _, name := range []string{"read", "write", "run", "network", "attributes", "kernel"} {
		report = append(report, Part{Name: name, Why: why, Fix: fix})
	}
	return report
}
