// Package procfs reads what Linux reports of processes under /proc.
//
// It refuses to mistake a name for more: the name of a process may hold anything,
// parentheses and spaces too. What a number means is only known with Stat.Start: numbers
// are given out again. It signals nobody.
package procfs
