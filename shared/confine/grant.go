package confine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/multiollama/mcp-server/shared/fault"
)

// Grant is a directory or file that a sandbox lets commands use. It was opened
// once, without following a link that a command could have made, and stays open:
// the kernel is given the thing itself, never a name that may lead elsewhere by
// then (CWE-367). Only this package makes one; the zero value opens nothing.
type Grant struct {
	name string    // as configured, for messages
	real string    // the same, without links
	id   [2]uint64 // which file system and which entry of it; zeros where it cannot be told
	held *os.File  // where the system can hold what it does not read (O_PATH); else nil
}

// OpenGrant opens what the operator named. Links are followed as he meant them,
// except inside one of guarded (real names of directories that commands may
// change): a link there may be a command's work, and is fault.Misconfigured.
func OpenGrant(path string, guarded []string) (*Grant, error) {
	refuse := func(why string, err error) error {
		return fault.New(fault.Misconfigured, "the path "+shown(path)+" "+why, "Correct the configuration").With("path", path).Because(err)
	}
	abs, err := filepath.Abs(path)
	if err != nil || path == "" {
		return nil, refuse("has no absolute name", err)
	}
	real, err := withoutLinks(abs, guarded)
	if err != nil {
		return nil, refuse(whyUnresolved(err), err)
	}
	g, err := hold(abs, real)
	if err != nil {
		return nil, refuse("cannot be opened", err)
	}
	return g, nil
}

// Grants are the allowed directories, each opened once, under the one that the
// operator allowed. One that is not there, or is reached through a link by now, is
// refused.
func (r *Roots) Grants() ([]*Grant, error) {
	r.granting.Lock()
	defer r.granting.Unlock()
	if r.granted != nil {
		return r.granted, nil
	}
	out := make([]*Grant, 0, len(r.list))
	for _, one := range r.list {
		g, err := one.grant(r.by)
		if err != nil {
			return nil, fault.New(fault.NotFound, "the allowed directory "+shown(one.name)+" is not there any more, or has become a link",
				"Put the directory back, or restart the server with another").With("path", one.name).Because(err)
		}
		out = append(out, g)
	}
	r.granted = out
	return out, nil
}

// grantText is a grant on its way to another process of the same server: the file
// system, the entry of it, and both names.
const grantText = "%d %d %q %q"

// MarshalText names the thing and says which one it is.
func (g *Grant) MarshalText() ([]byte, error) {
	return fmt.Appendf(nil, grantText, g.id[0], g.id[1], g.name, g.real), nil
}

// UnmarshalText opens it again, and refuses another one.
func (g *Grant) UnmarshalText(text []byte) error {
	var id [2]uint64
	var name, real string
	if _, err := fmt.Sscanf(string(text), grantText, &id[0], &id[1], &name, &real); err != nil {
		return err
	}
	again, err := hold(name, real)
	if err == nil && again.id != id {
		err = os.ErrNotExist
	}
	if err != nil {
		return fault.New(fault.OutsideAllowed, shown(name)+" was moved, removed or replaced",
			"Start the command again").With("path", name).Because(err)
	}
	*g = *again
	return nil
}

// Path is the name without links. It says where the thing was when it was opened.
func (g *Grant) Path() string { return g.real }

// Name is the name as configured, absolute: there may be links in it.
func (g *Grant) Name() string { return g.name }

// withoutLinks is abs with every link in it followed, one component after the
// other. A link inside one of guarded is errGuarded: a command that may write there could
// make the next start of the server allow any directory that it points the link to.
func withoutLinks(abs string, guarded []string) (string, error) {
	if _, err := filepath.EvalSymlinks(abs); err != nil {
		return "", err // what is missing, loops or cannot be read; and the names of Windows
	}
	if filepath.VolumeName(abs) != "" || len(guarded) == 0 {
		return filepath.EvalSymlinks(abs)
	}
	at, rest := "/", strings.Split(filepath.Clean(abs), "/")
	for links := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, name)
		info, err := os.Lstat(next)
		if err != nil {
			return "", err
		}
		if info.Mode()&os.ModeSymlink == 0 {
			at = next
			continue
		}
		inside := func(dir string) bool {
			_, ok := beneath(cleanHost(dir), cleanHost(at))
			return ok
		}
		if links++; links > maxLinks || slices.ContainsFunc(guarded, inside) {
			return "", errGuarded
		}
		target, err := os.Readlink(next)
		if err != nil {
			return "", err
		}
		if filepath.IsAbs(target) {
			at = "/"
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return at, nil
}

var errGuarded = errors.New("a symbolic link inside a directory that commands may change")

func whyUnresolved(err error) string {
	if err == errGuarded {
		return "leads through a symbolic link inside an allowed directory," +
			" where a command can change it; name the target of the link instead"
	}
	return "does not exist or cannot be reached"
}
