package restrict

import (
	"slices"

	"golang.org/x/sys/unix"
)

// Namespaces are the bits of clone that make one; a thread has none of them.
const Namespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
	unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

// Calls that x/sys does not name yet; the numbers are the same everywhere.
const (
	sysSetxattrat    = 463
	sysRemovexattrat = 466
	sysFileSetattr   = 469
	sysOpenTreeAttr  = 467
	sysMemfdSecret   = 447
)

// KernelCalls are for other processes, mounts, modules, clocks and keys,
// io_uring, whose work no filter sees, and memory that nobody else sees.
func KernelCalls() []uintptr {
	return append([]uintptr{
		unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PIDFD_GETFD, unix.SYS_KCMP, unix.SYS_PROCESS_MADVISE,
		unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, sysOpenTreeAttr,
		unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR,
		unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_OPEN_BY_HANDLE_AT,
		unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_FANOTIFY_INIT,
		unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
		sysMemfdSecret,
		unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
		unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD,
		unix.SYS_REBOOT, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD,
		unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX, unix.SYS_SETTIMEOFDAY,
		unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_SYSLOG, unix.SYS_VHANGUP,
	}, kernelCallsArch...)
}

// attributeCalls change what Landlock leaves alone: modes, owners, times,
// extended attributes.
var attributeCalls = append([]uintptr{
	unix.SYS_FCHMOD, unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWN, unix.SYS_FCHOWNAT, unix.SYS_UTIMENSAT,
	sysFileSetattr,
}, slices.Concat(ExtendedCalls(), attributeCallsArch)...)

// socketCalls make sockets, and bring those that are there to another place.
var socketCalls = []uintptr{unix.SYS_SOCKET, unix.SYS_SOCKETPAIR, unix.SYS_CONNECT, unix.SYS_BIND, unix.SYS_LISTEN}

// Owner is a call that changes the owner of a file; UID is the first of the two arguments
// that say whose it shall be.
type Owner struct {
	Call uintptr
	UID  int
}

// OwnerCalls change the owner of a file.
func OwnerCalls() []Owner {
	return append([]Owner{{unix.SYS_FCHOWN, 1}, {unix.SYS_FCHOWNAT, 2}}, ownerCallsArch...)
}

// ExtendedCalls set and remove extended attributes.
func ExtendedCalls() []uintptr {
	return []uintptr{
		unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, sysSetxattrat,
		unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR, sysRemovexattrat,
	}
}

// FlagCalls set flags of files, such as that one is not to be backed up.
func FlagCalls() []uintptr { return []uintptr{sysFileSetattr} }

// FlagRequests are those to a file (ioctl) that do the same, encrypt it, or make it one that never changes again.
func FlagRequests() []uint32 {
	const setExtended, setVersion = 0x401C5820, 0x40087602 // FS_IOC_FSSETXATTR, FS_IOC_SETVERSION
	return []uint32{unix.FS_IOC_SETFLAGS, setExtended, setVersion, unix.FS_IOC_ENABLE_VERITY, unix.FS_IOC_SET_ENCRYPTION_POLICY}
}

// SharedCalls are for System V and POSIX objects of processes that need not know each other.
func SharedCalls() []uintptr {
	return []uintptr{
		unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL,
		unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL,
		unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL,
		unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK,
	}
}
