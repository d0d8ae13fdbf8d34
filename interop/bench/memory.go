package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"
)

// remembering measures memory: at rest, after many calls, and at its peak over work
// that is large. Each is one sample; other processes do not change it.
func remembering(w *world) ([]measurement, error) {
	path, err := w.file("1 KB.txt", prose(1<<10))
	if err != nil {
		return nil, err
	}
	rest := measurement{name: "file-read after its start", unit: "MB", samples: 1}
	busy := measurement{name: fmt.Sprintf("file-read after %d reads of 1 KB, 16 at once", w.calls*5), unit: "MB", samples: 1, goals: []goal{{most: 40}}}
	for i, r := range w.readers() {
		name := r.name
		if i == 0 {
			name = "ours"
		}
		rest.sides = append(rest.sides, side{name, w.resident(r.argv, nil)})
		call := toolCall(r.tool, map[string]any{"path": path})
		busy.sides = append(busy.sides, side{name, w.resident(r.argv, func(c *client) error {
			c.concurrent()
			return atOnce(16, w.calls*5, func() error {
				_, _, err := c.call(slices.Clone(call))
				return err
			})
		})})
	}
	var n atomic.Int64
	content := string(prose(1 << 10))
	writes := side{"ours", w.resident(w.fileWrite("--history", "off"), func(c *client) error {
		c.concurrent()
		return atOnce(16, w.calls*5, func() error {
			name := filepath.Join(w.dir, fmt.Sprintf("written-%d.txt", n.Add(1)%160))
			_, _, err := c.call(toolCall("file_write", map[string]any{"path": name, "content": content, "overwrite": true}))
			return err
		})
	})}
	shells := measurement{name: "shell-exec after its start", unit: "MB", samples: 1, goals: []goal{{most: 25}}, sides: []side{{"ours", w.resident(w.shellExec(), nil)}}}
	for _, p := range w.runPeers() {
		shells.sides = append(shells.sides, side{p.name, w.resident(p.argv, nil)})
	}
	all := []measurement{rest, busy,
		{name: fmt.Sprintf("file-write after %d writes of 1 KB, 16 at once", w.calls*5), unit: "MB", samples: 1, goals: []goal{{most: 40}}, sides: []side{writes}},
		shells, w.flooded()}
	large, err := w.large()
	return append(all, large...), err
}

// resident is the memory that a new server keeps after it did something.
func (w *world) resident(argv []string, do func(*client) error) func(int) (sample, error) {
	return func(int) (sample, error) {
		c, err := w.start(argv...)
		if err != nil {
			return sample{}, err
		}
		defer w.end(c)
		if do == nil {
			do = func(c *client) error {
				_, _, err := c.ask(newRequest("tools/list", map[string]any{}))
				time.Sleep(200 * time.Millisecond)
				return err
			}
		}
		err = do(c)
		return sample{value: c.memory("VmRSS")}, err
	}
}

// large is what would fill a careless server's memory.
func (w *world) large() ([]measurement, error) {
	giant, crowd, wide := filepath.Join(w.dir, "5GB.log"), filepath.Join(w.dir, "crowd"), filepath.Join(w.dir, "wide")
	if err := sparseLog(giant, 5<<30); err != nil {
		return nil, err
	}
	if err := manyFiles(crowd, 200_000, ""); err != nil {
		return nil, err
	}
	for i := range 100 {
		if err := manyFiles(filepath.Join(wide, fmt.Sprint(i)), 1000, "one line\nof two\n"); err != nil {
			return nil, err
		}
	}
	var all []measurement
	for _, l := range []struct {
		name, tool string
		args       map[string]any
	}{
		{"peak: the last 100 lines of a 5 GB file", "file_read", map[string]any{"path": giant, "offset": -100}},
		{"peak: 10 lines behind 5 GB of others", "file_read", map[string]any{"path": giant, "offset": 9000, "limit": 10}},
		{"peak: a page of 5000 of 200,000 entries", "list_directory", map[string]any{"dir_path": crowd, "limit": 5000}},
		{"peak: a search of 100,000 files", "search_content_in_files", map[string]any{"search_path": wide, "regex_pattern": "of two", "recursive": true, "output": "count"}},
	} {
		all = append(all, measurement{name: l.name, unit: "MB", samples: 1, sides: []side{{"ours", func(int) (sample, error) {
			c, err := w.start(w.fileRead(w.dir)...)
			if err != nil {
				return sample{}, err
			}
			defer w.end(c)
			_, _, err = c.call(toolCall(l.tool, l.args))
			return sample{value: c.memory("VmHWM")}, err
		}}}})
	}
	return all, nil
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

func manyFiles(dir string, n int, content string) error {
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
