//go:build !linux && !darwin && !windows

package confine

import (
	"os"

	"github.com/multiollama/mcp-server/shared/fault"
)

// On other platforms nothing is known that opens a path without following links in
// one step, so that no directory can be allowed: Open fails, and nothing below it
// is ever reached.

type descriptor = int

// wanted is how something is opened, in the terms of the system.
type wanted = int

const (
	wantFile = iota
	wantDirectory
)

var errPlatform = fault.New(fault.Unavailable, "this platform cannot confine paths", "Run the server on Linux, macOS or Windows")

func openRoot(string) (descriptor, error)                                { return -1, errPlatform }
func openBeneath(descriptor, string, int, mechanism) (descriptor, error) { return -1, errPlatform }
func openEntry(descriptor, string, uint32) (descriptor, error)           { return -1, errPlatform }
func infoBeneath(descriptor, string, mechanism) (Info, error)            { return Info{}, errPlatform }
func infoOf(descriptor) (Info, error)                                    { return Info{}, errPlatform }
func infoOfEntry(descriptor, string) (Info, error)                       { return Info{}, errPlatform }
func linkOf(descriptor, string) (string, error)                          { return "", errPlatform }
func asFile(descriptor, string) (*os.File, error)                        { return nil, errPlatform }
func release(descriptor) error                                           { return errPlatform }
func bestMechanism(descriptor) mechanism                                 { return byWalk }
func survey(descriptor, string, string) obstacle                         { return obstacle{} }

func problemOf(err error) problem {
	if err == nil {
		return none
	}
	return failed
}

type listing struct{}

func (*listing) append(into []Entry, _ descriptor, _ place, _ []byte) ([]Entry, error) {
	return into, errPlatform
}

func (*listing) close() error { return nil }
