package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// writer is somebody who can do the writing jobs: a server, or plain system calls.
type writer struct {
	name   string
	argv   []string // of a server
	write  func(path, content string) (tool string, args map[string]any)
	edit   func(path, old, new string) (tool string, args map[string]any)
	direct func(path, content string) error // without a server
}

const (
	durable  = "temp, fsync, rename, fsync"
	unsynced = referenceName + " (not synced)"
)

// writers are ours, the file system itself for a change that is on the disk when it
// is told, and those that do not sync.
func (w *world) writers() []writer {
	own := func(name string, flags ...string) writer {
		return writer{
			name: name,
			argv: w.fileWrite(flags...),
			write: func(path, content string) (string, map[string]any) {
				return "file_write", map[string]any{"path": path, "content": content, "overwrite": true}
			},
			edit: func(path, old, new string) (string, map[string]any) {
				return "edit_file", map[string]any{"path": path, "old_string": old, "new_string": new}
			},
		}
	}
	all := []writer{
		own("file-write"),
		own("file-write --history off", "--history", "off"),
		{name: durable, direct: durably},
		{name: "os.WriteFile (not synced)", direct: func(path, content string) error { return os.WriteFile(path, []byte(content), 0o644) }},
	}
	argv := w.reference()
	if argv == nil {
		return all
	}
	return append(all, writer{
		name: unsynced, argv: argv,
		write: func(path, content string) (string, map[string]any) {
			return "write_file", map[string]any{"path": path, "content": content}
		},
		edit: func(path, old, new string) (string, map[string]any) {
			return "edit_file", map[string]any{"path": path, "edits": []map[string]any{{"oldText": old, "newText": new}}}
		},
	})
}

// durably is what a careful program does by hand.
func durably(path, content string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".bench-")
	if err != nil {
		return err
	}
	if _, err = f.WriteString(content); err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

// work is a writer that is ready.
type work struct {
	writer
	client *client
	dir    string
}

func (w work) put(path, content string) (time.Duration, error) {
	if w.direct != nil {
		began := time.Now()
		err := w.direct(path, content)
		return time.Since(began), err
	}
	_, took, err := w.client.call(toolCall(w.write(path, content)))
	return took, err
}

// change replaces a line; without a server, the file is read and written.
func (w work) change(path, old, new string) (time.Duration, error) {
	if w.direct == nil {
		_, took, err := w.client.call(toolCall(w.edit(path, old, new)))
		return took, err
	}
	began := time.Now()
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	err = w.direct(path, string(bytes.Replace(b, []byte(old), []byte(new), 1)))
	return time.Since(began), err
}

// writing lets all do the same changes.
func writing(w *world) ([]measurement, error) {
	var ready []work
	for i, one := range w.writers() {
		do := work{writer: one, dir: filepath.Join(w.dir, fmt.Sprint("writer-", i))}
		if err := os.Mkdir(do.dir, 0o755); err != nil {
			return nil, err
		}
		if one.argv != nil {
			c, err := w.serve(one.argv...)
			if err != nil {
				return nil, err
			}
			do.client = c
		}
		ready = append(ready, do)
	}
	var all []measurement
	for _, job := range writingJobs(max(w.calls/10, 3), w.samples) {
		m := measurement{name: job.name, unit: "ms", samples: job.times, goals: []goal{
			{word: "that by hand", of: []string{durable}}, {word: referenceName, of: []string{unsynced}},
		}}
		for _, one := range ready {
			m.sides = append(m.sides, side{one.name, func(round int) (sample, error) {
				took, err := job.do(one, round)
				return sample{value: ms(took)}, err
			}})
		}
		all = append(all, m)
	}
	return all, nil
}

type writingJob struct {
	name  string
	times int
	do    func(w work, n int) (time.Duration, error)
}

// bigLines make a message of less than the 10 MB at which the reference server ends.
const bigLines = 160_000

func writingJobs(calls, samples int) []writingJob {
	page := strings.Repeat("a line of a small file, as long as this one\n", 4096/44)
	big := strings.Repeat("a line of a large file, which is about as long as this\n", bigLines)
	return []writingJob{
		{"create a file of 4 KB", calls, func(w work, n int) (time.Duration, error) {
			return w.put(filepath.Join(w.dir, fmt.Sprintf("new-%d.txt", n)), page)
		}},
		{"overwrite a file of 4 KB", calls, func(w work, n int) (time.Duration, error) {
			return w.put(filepath.Join(w.dir, "again.txt"), fmt.Sprintf("%06d\n%s", n, page))
		}},
		{"create or overwrite a file of 9 MB", samples, func(w work, n int) (time.Duration, error) {
			return w.put(filepath.Join(w.dir, "big.txt"), "line 0\n"+big)
		}},
		{"edit a line of it", samples, func(w work, n int) (time.Duration, error) {
			return w.change(filepath.Join(w.dir, "big.txt"), fmt.Sprintf("line %d\n", n), fmt.Sprintf("line %d\n", n+1))
		}},
	}
}
