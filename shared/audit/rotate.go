package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// rotated is a file that was full: name.000001.jsonl, name.000002.jsonl, …
type rotated struct {
	path   string
	number int
}

func headPath(path string) string { return path + ".head" }

// rotatedPath names the rotated file of a number.
func rotatedPath(path string, number int) string {
	ext := filepath.Ext(path)
	return fmt.Sprintf("%s.%06d%s", strings.TrimSuffix(path, ext), number, ext)
}

// rotatedFiles lists what was rotated from path, oldest first.
func rotatedFiles(path string) ([]rotated, error) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	ext := filepath.Ext(path)
	stem := strings.TrimSuffix(filepath.Base(path), ext) + "."
	var found []rotated
	for _, e := range entries {
		digits := strings.TrimSuffix(strings.TrimPrefix(e.Name(), stem), ext)
		n, err := strconv.Atoi(digits)
		full := filepath.Join(filepath.Dir(path), e.Name())
		if err == nil && n > 0 && full == rotatedPath(path, n) {
			found = append(found, rotated{full, n})
		}
	}
	slices.SortFunc(found, func(a, b rotated) int { return a.number - b.number })
	return found, nil
}

// rotate puts the full file aside and starts an empty one; the chain continues in
// it. The number is above every number there is, so nothing is overwritten. After
// a crash behind the rename, settle finishes it. The caller holds the lock.
func (l *Log) rotate() error {
	old, err := rotatedFiles(l.path)
	if err != nil {
		return err
	}
	next := l.state
	next.Size = 0
	next.Rotated = max(next.Rotated, newest(old)) + 1
	if err := os.Rename(l.path, rotatedPath(l.path, next.Rotated)); err != nil {
		return err
	}
	if err := l.save(next); err != nil {
		return err
	}
	if err := errors.Join(l.data.close(), l.data.open(l.path, openLog)); err != nil {
		return err
	}

	// Remove the oldest files above Keep. The head record says first from which event on the
	// log is whole, so that a crash in between leaves a file too many and not a gap.
	old, err = rotatedFiles(l.path)
	if err != nil || l.keep <= 0 || len(old) <= l.keep {
		return err
	}
	gone := old[:len(old)-l.keep]
	next.From = 0
	if _, err := scan(old[len(gone)].path, func(k link) bool { next.From = k.Seq; return false }); err != nil {
		return err
	}
	if next.From == 0 {
		return errors.New("a rotated audit file holds no event")
	}
	if err := l.save(next); err != nil {
		return err
	}
	for _, r := range gone {
		if err := os.Remove(r.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func newest(old []rotated) int {
	if len(old) == 0 {
		return 0
	}
	return old[len(old)-1].number
}
