package terminal

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// members are the living processes of a group.
func members(group int) []member {
	all, err := unix.SysctlKinfoProcSlice("kern.proc.pgrp", group)
	if err != nil {
		return nil
	}
	var found []member
	const zombie = 5
	for _, p := range all {
		if p.Proc.P_stat != zombie {
			found = append(found, member{pid: int(p.Proc.P_pid), name: unix.ByteSliceToString(p.Proc.P_comm[:])})
		}
	}
	return found
}

// program is the file of a process; "" where we may not know.
func program(pid int) string {
	file, _ := started(pid)
	return file
}

func arguments(pid int) []string {
	_, args := started(pid)
	return args
}

// started is what the system keeps of the start of a process: how many arguments, the file, the arguments.
func started(pid int) (file string, args []string) {
	raw, err := unix.SysctlRaw("kern.procargs2", pid)
	if err != nil || len(raw) < 4 {
		return "", nil
	}
	count := int(binary.NativeEndian.Uint32(raw))
	words := bytes.Split(raw[4:], []byte{0})
	file = string(words[0])
	words = words[1:]
	for len(words) > 0 && len(words[0]) == 0 { // up to the next word of the machine
		words = words[1:]
	}
	for _, w := range words[:min(max(count, 0), len(words))] {
		args = append(args, string(w))
	}
	return file, args
}

// startedFrom says whether the process was started from the file that name leads to.
func startedFrom(pid int, name string) bool {
	file := program(pid)
	if file == "" || file == filepath.Clean(name) {
		return file != ""
	}
	theirs, err := os.Stat(file)
	if err != nil {
		return false
	}
	wanted, err := os.Stat(name)
	return err == nil && os.SameFile(theirs, wanted)
}

// directory is unknown: the system reports it to programs in C alone.
func directory(int) string { return "" }

// ignoresInterrupt says whether ^C means nothing to a process.
func ignoresInterrupt(pid int) bool {
	p, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	return err != nil || p.Proc.P_sigignore&(1<<(unix.SIGINT-1)) != 0
}

// listens cannot be seen here: that something was said after ^C has to do.
func listens(int) bool { return true }
