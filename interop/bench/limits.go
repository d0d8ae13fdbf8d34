package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// limit is the peak of our server's memory over work that is large.
type limit struct {
	name string
	peak float64 // MB
}

// measureLimits has our server do what would fill a careless one's memory.
func measureLimits(c contender, w world) ([]limit, error) {
	giant := filepath.Join(w.dir, "5GB.log")
	if err := sparseLog(giant, 5<<30); err != nil {
		return nil, err
	}
	crowd := filepath.Join(w.dir, "crowd")
	if err := emptyFiles(crowd, 200_000, ""); err != nil {
		return nil, err
	}
	wide := filepath.Join(w.dir, "wide")
	for i := range 100 {
		if err := emptyFiles(filepath.Join(wide, fmt.Sprint(i)), 1000, "one line\nof two\n"); err != nil {
			return nil, err
		}
	}
	var out []limit
	for _, l := range []struct {
		name, tool string
		args       map[string]any
	}{
		{"the last 100 lines of a 5 GB file", "file_read", map[string]any{"path": giant, "offset": -100}},
		{"10 lines behind 5 GB of others", "file_read", map[string]any{"path": giant, "offset": 9000, "limit": 10}},
		{"a page of 5000 of 200,000 entries", "list_directory", map[string]any{"dir_path": crowd, "limit": 5000}},
		{"a search of 100,000 files", "search_content_in_files", map[string]any{"search_path": wide, "regex_pattern": "of two", "recursive": true, "output": "count"}},
	} {
		err := each([]contender{c}, func(_ int, _ contender, cl *client) error {
			if err := cl.tool(l.tool, l.args); err != nil {
				return err
			}
			out = append(out, limit{l.name, mb(cl.memory("VmHWM"))})
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// sparseLog is a file of the given size with text lines at its beginning and end
// and one line of zeros between them: it takes no room on the disk, yet must be
// read to count its lines.
func sparseLog(name string, size int64) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer f.Close()
	head := make([]byte, 0, 128<<10)
	for len(head) < 128<<10 {
		head = append(head, "a line of text\n"...)
	}
	if _, err := f.Write(head); err != nil {
		return err
	}
	_, err = f.WriteAt(head, size-int64(len(head)))
	return err
}

func emptyFiles(dir string, n int, content string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for i := range n {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%06d.txt", i)), []byte(content), 0o644); err != nil {
			return err
		}
	}
	return nil
}
