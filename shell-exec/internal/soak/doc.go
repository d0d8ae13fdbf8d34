// Package soak is an hour's work of shell-exec compressed into minutes: thousands of
// commands in every mode, hundreds of terminals, floods, kills and cancels, all at once,
// over a server as it is released. At the end nothing may be left of it: no process, no
// descriptor, no goroutine, no temporary file, no memory, and the audit log verifies.
//
// It is nothing but a test. SOAK is how long it takes; scripts/soak takes ten minutes.
package soak
