package output

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"
)

// found is a run as its files show it.
type found struct {
	run   string
	known bool // there is a file about it
	owned bool // by a project
	bytes int64
	last  time.Time // when one of its files was written to last
}

// sweep removes what crashes left and, while there is more than the limits allow, the run that ended first. The store is
// locked.
func (s *Store) sweep() error {
	s.added.Store(0)
	s.begun.Store(0)
	all, projects, err := s.allRuns()
	if err != nil {
		return err
	}
	var total int64
	for _, r := range all {
		total += r.bytes
	}
	count := len(all)
	slices.SortFunc(all, func(a, b found) int {
		return cmp.Or(a.last.Compare(b.last), strings.Compare(a.run, b.run))
	})
	for _, r := range all {
		if r.known && r.owned && total <= s.limits.Total && count <= s.limits.Runs {
			continue
		}
		about, err := s.about(r.run)
		if err != nil { // its first line is damaged: it goes if nobody holds it
			about = record{}
		}
		if state, err := s.state(r.run, about); err == nil && state == Running {
			continue
		}
		if err := s.remove(r.run); err != nil {
			return err
		}
		total -= r.bytes
		count--
	}
	for _, p := range projects {
		_ = s.root.Remove(p) // goes only where nothing is in it
	}
	s.full.Store(total > s.limits.Total)
	return nil
}

// allRuns are the runs of all projects, and of none: an earlier version wrote them outside of every project.
func (s *Store) allRuns() (all []found, projects []string, err error) {
	entries, err := fs.ReadDir(s.root.FS(), ".")
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		if e.IsDir() && validProject(e.Name()) {
			projects = append(projects, e.Name())
		}
	}
	for _, dir := range append(projects, ".") {
		runs, err := s.runs(dir)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, runs...)
	}
	return all, projects, nil
}

// runs looks at all files of a project; none is where it has no directory. What does not look like one of ours is left alone.
func (s *Store) runs(project string) ([]found, error) {
	entries, err := fs.ReadDir(s.root.FS(), project)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []found // files of a run follow each other
	for _, e := range entries {
		run, part, _ := strings.Cut(e.Name(), ".")
		if !validRun(run) || !slices.Contains(parts(), part) {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		run = path.Join(project, run)
		if len(all) == 0 || all[len(all)-1].run != run {
			all = append(all, found{run: run, owned: project != "."})
		}
		f := &all[len(all)-1]
		f.known = f.known || part == aboutName
		f.bytes += info.Size()
		if info.ModTime().After(f.last) {
			f.last = info.ModTime()
		}
	}
	return all, nil
}

// parts are the files of a run in the order in which they are removed: nobody finds the others without the first.
func parts() []string {
	return []string{aboutName, orderName, string(Stdout), string(Stderr), string(Log)}
}

func (s *Store) remove(run string) error {
	for _, part := range parts() {
		if err := s.root.Remove(fileName(run, part)); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	return nil
}
