package main

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/multiollama/mcp-server/shared/fault"
)

// projectOf names what servers of the same allowed directories share: outputs, jobs and caches.
// Neither order, repetition nor another spelling of a directory makes another project.
func projectOf(dirs []string) string {
	real := slices.Clone(dirs)
	for i, dir := range dirs {
		real[i] = filepath.Clean(dir)
		if found, err := filepath.EvalSymlinks(dir); err == nil {
			real[i] = found
		}
	}
	slices.Sort(real)
	sum := sha256.Sum256([]byte(strings.Join(slices.Compact(real), "\x00")))
	return hex.EncodeToString(sum[:16])
}

// stateApart is an error where commands would be granted what the servers keep for themselves:
// with the state they could forge jobs and the audit log, with the settings loosen the next start.
func (s *shell) stateApart() error {
	if s.settings.Text("sandbox") == "off" {
		return nil // commands can reach everything
	}
	if file, dir := s.own.Exposed(s.dirs, s.settings.Text("policy")); dir != "" {
		return fault.New(fault.Misconfigured, "the file "+file+", which this server is configured by or keeps, lies in "+dir+
			", where commands can change it", "Keep it in a directory that commands are not allowed to write").With("file", file)
	}
	granted := slices.Concat(s.dirs, readable(s.settings))
	if dir := s.own.Within(granted); dir != "" {
		return stateReached(dir, dir+" is a part of the servers' own state, and cannot be allowed", "Allow another directory")
	}
	dir := s.own.Holding(granted)
	if dir == "" || runtime.GOOS != "linux" || s.settings.Count("sandbox-level") >= 2 { // there it is covered
		return nil
	}
	return stateReached(dir, "the servers' state, "+s.own.State+", lies inside an allowed directory, "+dir+
		", and level 1 of the sandbox cannot keep it from commands",
		"Set XDG_STATE_HOME to a directory that commands are not allowed to read, or write --sandbox-level 2")
}

func stateReached(dir, msg, do string) error {
	return fault.New(fault.Misconfigured, msg, do).With("directory", dir)
}
