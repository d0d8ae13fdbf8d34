package restrict

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_AARCH64

var kernelCallsArch, attributeCallsArch []uintptr

var ownerCallsArch []Owner

var acceptCalls = []uintptr{unix.SYS_ACCEPT, unix.SYS_ACCEPT4}

// openCalls are those that open by name, and which of their arguments are the flags.
var openCalls = map[uintptr]int{unix.SYS_OPENAT: 2}

// modeCalls are the others that give a file its mode, and which of their arguments that is.
var modeCalls = map[uintptr]int{unix.SYS_FCHMOD: 1, unix.SYS_FCHMODAT: 2, unix.SYS_FCHMODAT2: 2, unix.SYS_MKNODAT: 2}
