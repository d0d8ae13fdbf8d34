//go:build !unix

package process

import "context"

// LoginPath is for systems that have login shells.
func LoginPath(context.Context, []string) (string, error) { return "", unavailable() }
