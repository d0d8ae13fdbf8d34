// Package seccomp makes and applies system-call filters (Linux documentation,
// userspace-api/seccomp_filter).
//
// A filter allows by default and takes calls away. It refuses to be walked
// around: a call of another processor mode (32-bit, x32), whose numbers mean
// something else, ends the process or is not there. It refuses to guess: on a
// processor that it has no numbers for there is no filter.
package seccomp
