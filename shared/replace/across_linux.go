package replace

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
)

// across moves a file to another file system: a copy takes its place there, and is
// removed again where the file is not the version any more that was copied.
func (m *moving) across(ctx context.Context, src, old *original) error {
	err := m.acrossOnce(ctx, src, old)
	if errors.Is(err, errUnnameable) {
		m.to.lacks.unnamed = true
		err = m.acrossOnce(ctx, src, old)
	}
	return err
}

func (m *moving) acrossOnce(ctx context.Context, src, old *original) error {
	d, err := m.to.begin(nil)
	if err != nil {
		return err
	}
	err = d.copy(ctx, src)
	if err == nil {
		err = m.publish(d, old)
	}
	if err == nil {
		err = m.leave(d, src, old)
	}
	return errors.Join(err, d.discard())
}

// copy makes the draft what src is.
func (d *draft) copy(ctx context.Context, src *original) error {
	from := io.NewSectionReader(src.file, 0, 1<<63-1)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := io.CopyN(d.file, from, chunk); err == io.EOF {
			break
		} else if err != nil {
			return err
		}
	}
	if now, err := versionOfFile(src.file); err != nil || now != src.version {
		return errors.Join(err, copiedWhileWritten(d.at.path))
	}
	if err := d.dressAs(src); err != nil {
		return err
	}
	return d.file.Sync()
}

// dressAs gives the draft what src has beside its content. Only the owner may be
// another, where giving files away is not allowed.
func (d *draft) dressAs(src *original) error {
	fd := int(d.file.Fd())
	var st unix.Stat_t
	if err := unix.Fstat(int(src.file.Fd()), &st); err != nil {
		return err
	}
	_ = unix.Fchown(fd, int(src.uid), int(src.gid)) // where possible
	if err := d.takeAttributes(src); err != nil {
		return err
	}
	if err := unix.Fchmod(fd, src.mode&0o777); err != nil {
		return err
	}
	times := []unix.Timespec{st.Atim, st.Mtim}
	err := unix.UtimesNanoAt(fd, "", times, unix.AT_EMPTY_PATH)
	if err != nil { // before Linux 5.8
		err = unix.Futimes(fd, []unix.Timeval{unix.NsecToTimeval(st.Atim.Nano()), unix.NsecToTimeval(st.Mtim.Nano())})
	}
	return err
}

// takeAttributes copies the extended attributes of src. Those of users and access
// control lists must be kept; labels of the system are the business of where it goes.
func (d *draft) takeAttributes(src *original) error {
	names, err := attributes(int(src.file.Fd()))
	if err != nil {
		return cannotKeep(d.at.path, "extended attributes", err)
	}
	for _, name := range names {
		err := d.keepAttribute(src, name)
		if err != nil && (name == accessList || strings.HasPrefix(name, "user.")) {
			return cannotKeep(d.at.path, "extended attributes", err)
		}
	}
	if slices.Contains(names, accessList) {
		return nil
	}
	err = unix.Fremovexattr(int(d.file.Fd()), accessList) // inherited
	if err != nil && err != unix.ENODATA && !unoffered(err) {
		return cannotKeep(d.at.path, "access control list", err)
	}
	return nil
}

// publish puts the complete copy in place. The file that it replaces is under the
// draft's name then.
func (m *moving) publish(d *draft, old *original) error {
	if old == nil {
		err := d.becomeNew()
		return m.refusal(err)
	}
	if err := d.named(); err != nil {
		return err
	}
	err := d.exchange()
	switch {
	case unoffered(err):
		return cannotMove(m.from.path, err)
	case err == unix.ENOENT:
		return errOutrun
	case err != nil:
		return err
	}
	if out, err := d.at.held(d.name); err != nil || !old.version.sameState(out) {
		return errors.Join(errOutrun, err, d.putBack(d.id))
	}
	return nil
}

// leave removes the file from where it was, once the copy is on the disk.
func (m *moving) leave(d *draft, src, old *original) error {
	err := m.to.gone(nil)
	var draft string
	if err == nil {
		m.from.reached(afterSwap)
		draft, err = m.from.takeOut(src.version.sameState)
	}
	if err == nil {
		return unix.Unlinkat(m.from.at, draft, 0)
	}
	if errors.Is(err, errOutrun) {
		err = copiedWhileWritten(m.from.path)
	}
	if old == nil {
		return errors.Join(err, m.to.discard(d.id))
	}
	return errors.Join(err, d.putBack(d.id))
}

func copiedWhileWritten(p confine.Path) error {
	return fault.New(fault.Unavailable, shown(p)+" was changed while it was copied to another file system; it is where it was", "Try again later").
		With("path", p.String())
}
