package confine

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/fault"
)

// hold opens what has no links left in its name.
func hold(name, real string) (*Grant, error) {
	fd, err := openReal(real, wantInfo)
	if err != nil {
		return nil, err
	}
	return newGrant(name, real, fd)
}

func newGrant(name, real string, fd int) (*Grant, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		unix.Close(fd)
		return nil, err
	}
	if st.Mode&unix.S_IFMT == unix.S_IFLNK {
		unix.Close(fd)
		return nil, unix.ELOOP
	}
	return &Grant{name: name, real: real, id: [2]uint64{st.Dev, st.Ino}, held: os.NewFile(uintptr(fd), real)}, nil
}

func (one *root) grant(by mechanism) (*Grant, error) {
	return use(one.kept, func(d descriptor) (*Grant, error) {
		fd, err := openBeneath(d, one.prefix, wantInfo|unix.O_DIRECTORY, by)
		if err != nil {
			return nil, err
		}
		return newGrant(one.name, one.real, fd)
	})
}

// Check refuses a grant whose name leads to something else by now: the thing was
// moved, removed or replaced.
func (g *Grant) Check() error {
	if g == nil || g.held == nil {
		return fault.New(fault.Internal, "a grant was never opened", "")
	}
	moved := fault.New(fault.OutsideAllowed, shown(g.name)+" was moved, removed or replaced since it was allowed",
		"Put it back, or ask the person who runs this server to restart it").With("path", g.name)
	fd, err := openReal(g.real, wantInfo)
	if err != nil {
		return moved.Because(err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || g.id != [2]uint64{st.Dev, st.Ino} {
		return moved.Because(err)
	}
	return nil
}

// Lend runs use with the descriptor, which stays open meanwhile and is not for
// keeping.
func (g *Grant) Lend(use func(fd uintptr) error) error {
	raw, err := g.held.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	if err := raw.Control(func(fd uintptr) { failed = use(fd) }); err != nil {
		return err
	}
	return failed
}
