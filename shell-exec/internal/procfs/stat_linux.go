package procfs

import (
	"bytes"
	"os"
	"slices"
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
	Threads  int           // that live, the first among them
	Start    int64         // ticks after the start of the machine
	Resident int64         // bytes
	Via      int           // the number under which /proc shows its memory and files: PID, or that of a thread
}

// Ended says that only its status is left, which nobody has asked for yet.
func (s Stat) Ended() bool { return s.State == 'Z' || s.State == 'X' || s.State == 'x' }

// Read looks at a process; false where there is none. A process whose first thread has
// ended looks dead and without memory under its own number: Read then asks for another thread.
func Read(pid int) (Stat, bool) {
	s, ok := read(pid)
	if !ok || !s.Ended() || s.Threads < 2 {
		return s, ok
	}
	threads, _ := Numbers("/proc/" + strconv.Itoa(pid) + "/task")
	for _, tid := range threads {
		if t, ok := read(tid); ok && !t.Ended() {
			t.PID, t.Start = pid, s.Start
			return t, true
		}
	}
	return s, true
}

func read(number int) (Stat, bool) {
	var buf [1024]byte // a line of stat has some 400 bytes
	line, err := Beginning("/proc/"+strconv.Itoa(number)+"/stat", buf[:])
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
		Threads: int(field[20]), Start: field[22], Resident: field[24] * pageSize, Via: pid,
	}, true
}

// PIDs are the numbers of all processes.
func PIDs() ([]int, error) { return Numbers("/proc") }

// Numbers are the names in a directory of /proc that are numbers.
func Numbers(dir string) ([]int, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	var all []int
	for _, name := range names {
		if n, err := strconv.Atoi(name); err == nil {
			all = append(all, n)
		}
	}
	return all, err
}

// Sizes reads lines such as "Shmem:  8856 kB" or "oom_kill 1" and returns the bytes (or the plain number) of each
// key, 0 for a key that is missing. The file has at most 8 KiB, as those of /proc have.
func Sizes(name string, keys ...string) ([]int64, error) {
	var buf [8 << 10]byte
	text, err := Beginning(name, buf[:])
	if err != nil {
		return nil, err
	}
	out := make([]int64, len(keys))
	for line := range bytes.Lines(text) {
		f := bytes.Fields(line)
		if len(f) < 2 {
			continue
		}
		i := slices.Index(keys, string(bytes.TrimSuffix(f[0], []byte(":"))))
		if i < 0 {
			continue
		}
		out[i], _ = strconv.ParseInt(string(f[1]), 10, 64)
		if len(f) > 2 && string(f[2]) == "kB" {
			out[i] <<= 10
		}
	}
	return out, nil
}
