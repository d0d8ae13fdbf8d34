package mcptest

import (
	"bytes"
	"io"
	"os/exec"
	"sync"
)

// program is a running program, whose input and output its client has.
type program struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout io.Reader
	stderr *Buffer
}

// spawn starts a program.
func spawn(cmd *exec.Cmd) (p program, err error) {
	p = program{cmd: cmd, stderr: &Buffer{}}
	cmd.Stderr = p.stderr
	if p.stdin, err = cmd.StdinPipe(); err != nil {
		return p, err
	}
	if p.stdout, err = cmd.StdoutPipe(); err != nil {
		return p, err
	}
	return p, cmd.Start()
}

// Buffer is a bytes.Buffer that may be read while it is written.
type Buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write appends to what was written.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

// String is all that was written so far.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
