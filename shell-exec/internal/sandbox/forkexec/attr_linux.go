// Package forkexec starts a program as os.StartProcess does, and lets the child
// restrict itself between fork and exec: the calling thread never is where the
// program will be. Go has no call for that; the day it does, this package goes.
//
// The child shares the memory of this process until exec (vfork). It makes
// system calls and nothing else.
package forkexec

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Attr is what the child does before it becomes the program, in this order. It
// always begins a session, and keeps no privileges. The calling thread has
// no_new_privs.
type Attr struct {
	Namespaces   []Namespace
	Capabilities uint64         // those that root keeps; nobody else has any
	Pdeathsig    syscall.Signal // at the end of the calling thread; 0 for none
	Files        []*os.File     // become the descriptors 0, 1, 2, …; nothing else is inherited
	Terminal     bool           // the first of them becomes the controlling terminal
	Dir          string
	Ruleset      *os.File          // a Landlock layer to enter; nil for none
	Filter       []unix.SockFilter // a system-call filter, on top of that of the thread; nil for none
	Listener     *os.File          // a socket that the filter's listener is sent through, to the process that answers; nil for none
	Patient      bool              // signals wait until a call was answered (Linux 5.19; before that it returns EINTR, or begins again)
	Limits       []Limit
	Env          []string
}

// Namespace is one to enter (setns).
type Namespace struct {
	File *os.File
	Kind int // CLONE_NEWNS, …
}

// Limit is one resource limit.
type Limit struct {
	Resource int
	unix.Rlimit
}
