package seccomp

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_AARCH64

var kernelCallsArch, attributeCallsArch []uintptr

var acceptCalls = []uintptr{unix.SYS_ACCEPT, unix.SYS_ACCEPT4}
