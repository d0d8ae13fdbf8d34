package procfs

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// TicksPerSecond is USER_HZ, the same on every processor that Go runs on.
const TicksPerSecond = 100

const tick = time.Second / TicksPerSecond

var pageSize = int64(unix.Getpagesize())

// Stat is what is in the file stat of a process.
type Stat struct {
	PID      int
	Name     string // at most 15 bytes, which may be any
	State    byte
	Parent   int
	Group    int
	Session  int
	Own      time.Duration // of the processor
	Children time.Duration // likewise, of children that have ended and were asked for
	Start    int64         // ticks after the start of the machine
	Resident int64         // bytes
}

// Ended says that only its status is left, which nobody has asked for yet.
func (s Stat) Ended() bool { return s.State == 'Z' || s.State == 'X' || s.State == 'x' }

// Read looks at a process; false where there is none.
func Read(pid int) (Stat, bool) {
	var buf [1024]byte // a line of stat has some 400 bytes
	line, err := Beginning("/proc/"+strconv.Itoa(pid)+"/stat", buf[:])
	if err != nil {
		return Stat{}, false
	}
	return Parse(line)
}

// Beginning is the beginning of a file of /proc, which is there at once.
func Beginning(name string, buf []byte) ([]byte, error) {
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	n, err := unix.Read(fd, buf)
	_ = unix.Close(fd)
	return buf[:max(0, n)], err
}

// Parse reads a line of stat. Fields are numbered as in proc_pid_stat(5).
func Parse(line []byte) (Stat, bool) {
	open, end := bytes.IndexByte(line, '('), bytes.LastIndexByte(line, ')')
	if open < 0 || end < open {
		return Stat{}, false
	}
	var field [25]int64
	state, rest := byte(0), line[end+1:]
	for i := 3; i < len(field); i++ {
		rest = bytes.TrimLeft(rest, " ")
		word, after, _ := bytes.Cut(rest, []byte(" "))
		if len(word) == 0 {
			return Stat{}, false
		}
		if i == 3 {
			state = word[0]
		} else {
			field[i], _ = strconv.ParseInt(string(word), 10, 64) // some are beyond int64; none that is used
		}
		rest = after
	}
	pid, _ := strconv.Atoi(string(bytes.TrimSpace(line[:open])))
	return Stat{
		PID: pid, Name: string(line[open+1 : end]), State: state,
		Parent: int(field[4]), Group: int(field[5]), Session: int(field[6]),
		Own: time.Duration(field[14]+field[15]) * tick, Children: time.Duration(field[16]+field[17]) * tick,
		Start: field[22], Resident: field[24] * pageSize,
	}, true
}

// PIDs are the numbers of all processes.
func PIDs() ([]int, error) {
	d, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	var all []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			all = append(all, pid)
		}
	}
	return all, err
}
