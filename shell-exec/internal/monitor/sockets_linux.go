package monitor

import (
	"bytes"
	"io"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// sockets says which sockets the processes hold, and what their network has moved. The
// network is that of the lowest number: a tree may have several, seldom does.
func sockets(pids []int) (Sockets, bool) {
	slices.Sort(pids)
	inodes := map[uint64]bool{}
	var s Sockets
	for _, pid := range pids {
		if !socketsOf(pid, inodes) {
			s.Hidden++
		}
	}
	if s.Hidden == len(pids) {
		return Sockets{}, false
	}
	for _, pid := range pids {
		dir := "/proc/" + strconv.Itoa(pid)
		space, err := os.Readlink(dir + "/ns/net")
		if err != nil {
			continue // it hides, or is gone
		}
		ours, _ := os.Readlink("/proc/self/ns/net")
		s.Own = space != ours
		return s.sorted(dir+"/net/", inodes)
	}
	return Sockets{}, false
}

// socketsOf adds the sockets that a process holds; false where it does not let them be seen.
func socketsOf(pid int, inodes map[uint64]bool) bool {
	name := "/proc/" + strconv.Itoa(pid) + "/fd"
	dir, err := os.Open(name)
	if err != nil {
		return false
	}
	defer dir.Close()
	var buf [64]byte
	for {
		names, err := dir.Readdirnames(512)
		for _, fd := range names {
			n, err := unix.Readlinkat(int(dir.Fd()), fd, buf[:])
			if err != nil {
				continue // closed meanwhile
			}
			rest, ok := bytes.CutPrefix(buf[:n], []byte("socket:["))
			if inode, err := strconv.ParseUint(string(bytes.TrimSuffix(rest, []byte("]"))), 10, 64); ok && err == nil {
				inodes[inode] = true
			}
		}
		if err != nil {
			return err == io.EOF
		}
	}
}

// table is a file of /proc/PID/net: which field of a line has the inode, and what the socket is.
type table struct {
	name  string
	inode int
	add   func(*Sockets, [][]byte)
}

func tcp(s *Sockets, line [][]byte) {
	if string(line[3]) == "0A" { // TCP_LISTEN
		s.Listening++
	} else {
		s.TCP++
	}
}

func udp(s *Sockets, _ [][]byte) { s.UDP++ }

// sorted says of each socket what it is, and adds the traffic.
func (s Sockets) sorted(net string, inodes map[uint64]bool) (Sockets, bool) {
	local := func(s *Sockets, _ [][]byte) { s.Unix++ }
	for _, t := range []table{{"tcp", 9, tcp}, {"tcp6", 9, tcp}, {"udp", 9, udp}, {"udp6", 9, udp}, {"unix", 6, local}} {
		if len(inodes) == 0 {
			break
		}
		text, _ := os.ReadFile(net + t.name) // without IPv6 there is no tcp6
		for line := range bytes.Lines(text) {
			f := bytes.Fields(line)
			if len(f) <= t.inode {
				continue
			}
			inode, err := strconv.ParseUint(string(f[t.inode]), 10, 64)
			if err == nil && inodes[inode] {
				t.add(&s, f)
				delete(inodes, inode)
			}
		}
	}
	s.Other = len(inodes)
	text, err := os.ReadFile(net + "dev")
	for line := range bytes.Lines(text) {
		name, figures, ok := bytes.Cut(line, []byte(":"))
		f := bytes.Fields(figures)
		if !ok || len(f) < 9 || string(bytes.TrimSpace(name)) == "lo" {
			continue
		}
		in, _ := strconv.ParseInt(string(f[0]), 10, 64)
		out, _ := strconv.ParseInt(string(f[8]), 10, 64)
		s.Received, s.Sent = s.Received+in, s.Sent+out
	}
	return s, err == nil
}
