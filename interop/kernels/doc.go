// Package kernels tests the servers on the kernels that users have: Debian's, booted in
// qemu, and that of this machine. scripts/kernels runs it.
//
// On each kernel, as root and as an ordinary user, a guest asks doctor what is enforced,
// attacks from inside the sandbox, uses every server once, and runs the test binaries of
// the packages that depend on the kernel. What doctor calls enforced must withstand the
// attacks; what it does not is written into docs/security-model.md.
//
// There is only one program: the test binary is also the first process of a guest (its
// number is 1) and, by its first argument, the attacker.
package kernels
