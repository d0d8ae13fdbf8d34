package sandbox

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// rootKeeps are what is left of root's capabilities: those over files, which
// rules bind anyway, and over its own processes. With the others it would look
// into every process (CAP_PERFMON opens /proc/PID/environ without asking
// Landlock), raise its limits, make devices.
const rootKeeps = 1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FOWNER | 1<<unix.CAP_FSETID |
	1<<unix.CAP_KILL | 1<<unix.CAP_SETGID | 1<<unix.CAP_SETUID | 1<<unix.CAP_NET_BIND_SERVICE

// dropCapabilities takes capabilities but those in keep from the calling thread
// and all that it starts, for good.
func dropCapabilities(keep uint64) error {
	for c := range uint64(64) {
		if keep&(1<<c) != 0 {
			continue
		}
		// Who may not drop it from the bounding set does not get it from there either:
		// only root's programs do, and root may.
		err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(c), 0, 0, 0)
		if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EPERM) {
			break // there are no more of them, or none may be dropped
		}
		if err != nil {
			return fmt.Errorf("capability %d: %w", c, err)
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("ambient capabilities: %w", err)
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if _, _, e := unix.RawSyscall(unix.SYS_CAPGET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&data[0])), 0); e != 0 {
		return fmt.Errorf("capabilities: %w", e)
	}
	for i := range data {
		half := uint32(keep >> (32 * i))
		data[i].Effective &= half
		data[i].Permitted &= half
		data[i].Inheritable = 0
	}
	if _, _, e := unix.RawSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&data[0])), 0); e != 0 {
		return fmt.Errorf("capabilities: %w", e)
	}
	return nil
}
