package monitor

import (
	"bytes"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

const ticks = 100 // USER_HZ: the same on every processor that Go runs on

// systemEyes sees through /proc.
func systemEyes() eyes { return eyes{look: look, clock: boottime, sockets: sockets} }

// boottime is the clock in which /proc says when processes began, in its ticks.
func boottime() int64 {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) != nil {
		return 0 // then no process is proven, and none is counted
	}
	return now.Nano() / int64(time.Second/ticks)
}

var pageSize = int64(unix.Getpagesize())

// look reads what /proc says of a process.
func look(pid int, m Metrics) (reading, bool) {
	dir := "/proc/" + strconv.Itoa(pid)
	var buf [1024]byte // a line of stat has some 400 bytes
	text, err := readInto(dir+"/stat", buf[:])
	if err != nil {
		return reading{}, false
	}
	r, ok := parseStat(text)
	if ok && m.Has(IO) {
		if text, err = readInto(dir+"/io", buf[:]); err == nil && len(text) > 0 {
			r.moved = parseIO(text)
			r.told |= IO
		}
	}
	return r, ok
}

// readInto reads the beginning of a file of /proc, which is there at once.
func readInto(name string, buf []byte) ([]byte, error) {
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	n, err := unix.Read(fd, buf)
	_ = unix.Close(fd)
	return buf[:max(0, n)], err
}

// parseStat reads a line of /proc/PID/stat. Fields are numbered as in proc_pid_stat(5).
func parseStat(line []byte) (reading, bool) {
	end := bytes.LastIndexByte(line, ')') // the name may hold anything, parentheses too
	if end < 0 {
		return reading{}, false
	}
	var field [25]int64
	state, rest := byte(0), line[end+1:]
	for i := 3; i < len(field); i++ {
		rest = bytes.TrimLeft(rest, " ")
		word, after, _ := bytes.Cut(rest, []byte(" "))
		if len(word) == 0 {
			return reading{}, false
		}
		if i == 3 {
			state = word[0]
		} else {
			field[i], _ = strconv.ParseInt(string(word), 10, 64) // some are beyond int64; none that is used
		}
		rest = after
	}
	return reading{
		start: field[22], parent: int(field[4]), ended: state == 'Z' || state == 'X',
		own:      time.Duration(field[14]+field[15]) * (time.Second / ticks),
		children: time.Duration(field[16]+field[17]) * (time.Second / ticks),
		memory:   field[24] * pageSize,
		told:     CPU | Memory,
	}, true
}

// parseIO reads /proc/PID/io.
func parseIO(text []byte) (m moved) {
	for line := range bytes.Lines(text) {
		key, value, _ := bytes.Cut(bytes.TrimSpace(line), []byte(": "))
		n, _ := strconv.ParseInt(string(value), 10, 64)
		switch string(key) {
		case "rchar":
			m.read = n
		case "wchar":
			m.written = n
		case "read_bytes":
			m.storageRead = n
		case "write_bytes":
			m.storageWritten = n
		}
	}
	return m
}
