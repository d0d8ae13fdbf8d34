package restrict

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_X86_64

var kernelCallsArch = []uintptr{unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT}

var attributeCallsArch = []uintptr{
	unix.SYS_CHMOD, unix.SYS_CHOWN, unix.SYS_LCHOWN,
	unix.SYS_UTIME, unix.SYS_UTIMES, unix.SYS_FUTIMESAT,
}

var acceptCalls = []uintptr{unix.SYS_ACCEPT, unix.SYS_ACCEPT4}

// openCalls are those that open by name, and which of their arguments are the flags.
var openCalls = map[uintptr]int{unix.SYS_OPEN: 1, unix.SYS_OPENAT: 2}

// modeCalls are the others that give a file its mode, and which of their arguments that is.
var modeCalls = map[uintptr]int{
	unix.SYS_FCHMOD: 1, unix.SYS_FCHMODAT: 2, unix.SYS_FCHMODAT2: 2, unix.SYS_MKNODAT: 2,
	unix.SYS_CHMOD: 1, unix.SYS_CREAT: 1, unix.SYS_MKNOD: 1,
}

var ownerCallsArch = []Owner{{unix.SYS_CHOWN, 1}, {unix.SYS_LCHOWN, 1}}
