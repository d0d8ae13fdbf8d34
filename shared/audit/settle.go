package audit

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// settle makes head record, log file and this process agree before a write.
// Nearly always they do, and one stat and one read of 512 bytes say so. They
// differ after another process wrote or rotated, after a crash, and after
// tampering. The caller holds the lock.
func (l *Log) settle() error {
	if err := l.readState(); err != nil {
		return err
	}

	// The file called path is to be the one held. One that is missing is created: either the
	// crash of a rotation took it, or somebody did, which its lost events will tell.
	info, err := os.Lstat(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		var old []rotated
		old, err = rotatedFiles(l.path)
		if err == nil && newest(old) > l.state.Rotated { // the head does not know the file that was renamed
			next := l.state
			next.Rotated, next.Size = newest(old), 0
			err = l.save(next)
		}
	}
	if err != nil {
		return err
	}
	if info == nil || l.data.file == nil || !os.SameFile(info, l.data.info) {
		if err := errors.Join(l.data.close(), l.data.open(l.path, openLog)); err != nil {
			return err
		}
		info = l.data.info
	}

	switch size := info.Size(); {
	case size > l.state.Size:
		return l.adopt(size)
	case size < l.state.Size:
		return l.shrunk(size)
	}
	return nil
}

// adopt takes in the lines after the recorded end. A crash between line and
// head leaves a whole line that continues the chain; a crash within the write
// leaves a piece of one, whose event was never reported as stored, and which is
// cut off. Anything else stays for Verify to find.
func (l *Log) adopt(size int64) error {
	next := l.state
	for line, err := range lines(io.NewSectionReader(l.data.file, next.Size, size-next.Size)) {
		if err != nil {
			return err
		}
		if !line.whole {
			if err := l.data.file.Truncate(next.Size); err != nil {
				return err
			}
			break
		}
		next.Size += line.size
		if k, err := linkOf(line.text); err == nil && k.true && k.Seq == next.Seq+1 && k.Prev == next.Hash {
			next.Seq, next.Hash = k.Seq, k.hash
		}
	}
	return l.save(next)
}

// shrunk continues after somebody cut the log: seq and hash stay those of the head
// record, so that Verify misses the events. What is left of a line is closed by
// a newline, so that the next event does not become part of it.
func (l *Log) shrunk(size int64) error {
	next := l.state
	next.Size = size
	if size > 0 {
		var last [1]byte
		if _, err := l.data.file.ReadAt(last[:], size-1); err != nil {
			return err
		}
		if last[0] != '\n' {
			if err := appendAt(l.data.file, []byte{'\n'}, size); err != nil {
				return err
			}
			next.Size++
		}
	}
	return l.save(next)
}

// rebuilt is a head record made from the files alone. Events cut from the end
// before it was made cannot be missed any more, so it says since when.
func rebuilt(path string) (head, error) {
	old, err := rotatedFiles(path)
	if err != nil {
		return head{}, err
	}
	h := head{From: 1}
	if len(old) > 0 {
		h.Rotated = old[len(old)-1].number
	}
	first := true
	for _, r := range append(old, rotated{path: path}) {
		end, err := scan(r.path, func(k link) bool {
			if first {
				h.From, first = k.Seq, false
			}
			h.Seq, h.Hash, h.Rebuilt = k.Seq, k.hash, k.Seq
			return true
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return head{}, err
		}
		h.Size = end
	}
	return h, nil
}

// scan calls each for the well-formed lines of a file until it returns false, and returns the end of the
// last whole line.
func scan(path string, each func(link) bool) (end int64, err error) {
	f, err := openShared(path)
	if err != nil {
		return 0, err
	}
	defer f.Close() //nolint:errcheck // only read from
	for line, err := range lines(f) {
		if err != nil {
			return end, err
		}
		if !line.whole {
			break
		}
		end += line.size
		if k, err := linkOf(line.text); err == nil && !each(k) {
			break
		}
	}
	return end, nil
}
