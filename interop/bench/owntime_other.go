//go:build !unix

package main

import "time"

// ownTime is not known; nor is how busy the machine is.
func ownTime() time.Duration { return 0 }
