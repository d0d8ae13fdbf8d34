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

// writers are the contenders of the writing jobs, in the order of the columns. The
// first is the yardstick: what the file system itself takes for a change that is on
// the disk when it is told.
func writers(w world, ours, node, peer string) []writer {
	state := func(name string) string { return filepath.Join(w.state, name) }
	own := func(name, history string) writer {
		return writer{
			name: name,
			argv: []string{ours, "--allow-path", w.dir, "--audit-log", state("audit.jsonl"), "--history", history},
			write: func(path, content string) (string, map[string]any) {
				return "file_write", map[string]any{"path": path, "content": content, "overwrite": true}
			},
			edit: func(path, old, new string) (string, map[string]any) {
				return "edit_file", map[string]any{"path": path, "old_string": old, "new_string": new}
			},
		}
	}
	all := []writer{
		{name: "temp, fsync, rename, fsync", direct: durably},
		{name: "os.WriteFile (not synced)", direct: func(path, content string) error { return os.WriteFile(path, []byte(content), 0o644) }},
		own("file-write", state("history")),
		own("file-write --history off", "off"),
	}
	if _, err := os.Stat(peer); err != nil {
		return all
	}
	return append(all, writer{
		name: "server-filesystem (not synced)", argv: []string{node, peer, w.dir},
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

func (w work) put(path, content string) error {
	if w.direct != nil {
		return w.direct(path, content)
	}
	tool, args := w.write(path, content)
	return w.client.tool(tool, args)
}

// change replaces a line; without a server, the file is read and written.
func (w work) change(path, old, new string) error {
	if w.direct == nil {
		tool, args := w.edit(path, old, new)
		return w.client.tool(tool, args)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return w.direct(path, string(bytes.Replace(b, []byte(old), []byte(new), 1)))
}

func measureWriting(w world, ours, node, peer string, calls int) ([]writer, []row, error) {
	all := writers(w, ours, node, peer)
	ready := make([]work, len(all))
	for i, one := range all {
		ready[i] = work{writer: one, dir: filepath.Join(w.dir, fmt.Sprint("writer-", i))}
		if err := os.Mkdir(ready[i].dir, 0o755); err != nil {
			return nil, nil, err
		}
		if one.argv == nil {
			continue
		}
		cl, err := start(one.argv)
		if err != nil {
			return nil, nil, err
		}
		defer cl.stop()
		ready[i].client = cl
	}
	var rows []row
	for _, job := range writingJobs(calls) {
		fmt.Fprintln(os.Stderr, "bench:", job.name)
		r, err := job.measure(ready)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", job.name, err)
		}
		rows = append(rows, r)
	}
	return all, rows, nil
}

type writingJob struct {
	name  string
	times int
	do    func(w work, n int) error
}

// measure lets the writers take turns.
func (j writingJob) measure(ready []work) (row, error) {
	samples := make([][]float64, len(ready))
	for n := range j.times {
		for i, w := range ready {
			t := time.Now()
			if err := j.do(w, n); err != nil {
				return row{}, fmt.Errorf("%s: %w", w.name, err)
			}
			samples[i] = append(samples[i], ms(time.Since(t)))
		}
	}
	return row{j.name, "ms", medians(samples)}, nil
}

// bigLines make a message of less than the 10 MB at which the reference server ends.
const bigLines = 160_000

func writingJobs(calls int) []writingJob {
	page := strings.Repeat("a line of a small file, as long as this one\n", 4096/44)
	big := strings.Repeat("a line of a large file, which is about as long as this\n", bigLines)
	return []writingJob{
		{"create a file of 4 KB", calls, func(w work, n int) error {
			return w.put(filepath.Join(w.dir, fmt.Sprintf("new-%d.txt", n)), page)
		}},
		{"overwrite a file of 4 KB", calls, func(w work, n int) error {
			return w.put(filepath.Join(w.dir, "again.txt"), fmt.Sprintf("%06d\n%s", n, page))
		}},
		{"create or overwrite a file of 9 MB", 9, func(w work, n int) error {
			return w.put(filepath.Join(w.dir, "big.txt"), "line 0\n"+big)
		}},
		{"edit a line of it", 9, func(w work, n int) error {
			return w.change(filepath.Join(w.dir, "big.txt"), fmt.Sprintf("line %d\n", n), fmt.Sprintf("line %d\n", n+1))
		}},
	}
}
