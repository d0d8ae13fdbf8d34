//go:build linux && !amd64 && !arm64

package restrict

// auditArch 0 says that no filter is made here: a number that is wrong on this
// processor would forbid, or allow, another call.
const auditArch = 0

var kernelCallsArch, attributeCallsArch, acceptCalls []uintptr

var openCalls, modeCalls map[uintptr]int

var ownerCallsArch []Owner
