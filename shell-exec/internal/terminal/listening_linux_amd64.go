package terminal

import "golang.org/x/sys/unix"

// listening are the system calls in which programs wait for what is typed.
func listening() []int {
	return []int{unix.SYS_READ, unix.SYS_SELECT, unix.SYS_PSELECT6, unix.SYS_POLL, unix.SYS_PPOLL, unix.SYS_EPOLL_WAIT, unix.SYS_EPOLL_PWAIT}
}
