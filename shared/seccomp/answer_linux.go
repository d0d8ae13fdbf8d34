package seccomp

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/sys/unix"
)

// Call is a system call as a filter sees it. Arch 0 is the processor's own.
type Call struct {
	Arch   uint32
	Number uint32
	Args   [6]uint64
}

// Answer runs the program as the kernel does, on one call: for tests, which
// could not survive all of the answers.
func (p Program) Answer(c Call) (action uint32, err error) {
	data := c.bytes()
	var a uint32
	for pc := 0; pc < len(p); pc++ {
		in := p[pc]
		yes := false
		switch in.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			a = binary.LittleEndian.Uint32(data[in.K:])
			continue
		case unix.BPF_ALU | unix.BPF_AND | unix.BPF_K:
			a &= in.K
			continue
		case unix.BPF_RET | unix.BPF_K:
			return in.K, nil
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K:
			yes = a == in.K
		case unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K:
			yes = a >= in.K
		case unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K:
			yes = a&in.K != 0
		default:
			return 0, fmt.Errorf("step %d: unknown code %#x", pc, in.Code)
		}
		if yes {
			pc += int(in.Jt)
		} else {
			pc += int(in.Jf)
		}
	}
	return 0, fmt.Errorf("the filter has no end")
}

// bytes is struct seccomp_data.
func (c Call) bytes() [64]byte {
	var data [64]byte
	if c.Arch == 0 {
		c.Arch = auditArch
	}
	binary.LittleEndian.PutUint32(data[offNumber:], c.Number)
	binary.LittleEndian.PutUint32(data[offArch:], c.Arch)
	for i, arg := range c.Args {
		binary.LittleEndian.PutUint64(data[offArgs+8*i:], arg)
	}
	return data
}
