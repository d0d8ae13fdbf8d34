package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"strconv"
	"time"
)

// finding compares finding files by a glob with fd, which tells all there are; ours
// tells them by pages.
func finding(w *world) ([]measurement, error) {
	place, err := w.bigTree()
	if err != nil {
		return nil, err
	}
	c, err := w.serve(w.fileRead(place, w.indexOff()...)...)
	if err != nil {
		return nil, err
	}
	fd := w.program("fd", "fdfind", "fd")
	var all []measurement
	for _, glob := range []string{"*_linux_test.go", "*_test.go"} {
		for _, ignore := range []bool{true, false} {
			m := measurement{name: fmt.Sprintf("`%s`, with ignore rules", glob), unit: "ms", warm: 1, sides: []side{finder(c, place, glob, ignore)}}
			g := goal{word: "fd", of: []string{"fd"}, most: 0.6}
			if !ignore {
				m.name, g.most = fmt.Sprintf("`%s`, all files", glob), 0
			}
			if fd != "" {
				m.sides = append(m.sides, fdSide(fd, place, glob, ignore))
			}
			m.goals = []goal{g}
			all = append(all, m)
		}
	}
	return all, nil
}

func finder(c *client, root, glob string, ignore bool) side {
	return side{"file-read", func(int) (sample, error) {
		found, total := 0, time.Duration(0)
		for cursor := ""; ; {
			args := map[string]any{"base_dir": root, "pattern": glob, "recursive": true, "use_gitignore": ignore, "max_results": 10_000}
			if cursor != "" {
				args["cursor"] = cursor
			}
			answer, took, err := c.call(toolCall("find_files_by_pattern", args))
			if err != nil {
				return sample{}, err
			}
			total += took
			n, next := pathsIn(answer)
			found, cursor = found+n, next
			if next == "" {
				return sample{ms(total), strconv.Itoa(found)}, nil
			}
		}
	}}
}

// pathsIn counts the paths of an answer, structured or in words, and finds its cursor.
func pathsIn(answer []byte) (n int, cursor string) {
	var a struct {
		Result struct {
			Content           []struct{ Text string }
			StructuredContent *struct {
				Paths      []string
				NextCursor string
			}
		}
	}
	if json.Unmarshal(answer, &a) != nil {
		return 0, ""
	}
	if s := a.Result.StructuredContent; s != nil {
		return len(s.Paths), s.NextCursor
	}
	for _, c := range a.Result.Content {
		for line := range bytes.Lines([]byte(c.Text)) {
			if line[0] != '[' {
				n++
			} else if _, rest, ok := bytes.Cut(line, []byte("cursor=")); ok {
				cursor = string(bytes.TrimRight(rest, "]\n"))
			}
		}
	}
	return n, cursor
}

func fdSide(fd, root, glob string, ignore bool) side {
	args := []string{"--hidden", "--no-ignore-parent", "--no-global-ignore-file", "--glob", glob}
	if !ignore {
		args = append([]string{"--no-ignore"}, args...)
	}
	return side{"fd", func(int) (sample, error) {
		cmd := exec.Command(fd, args...)
		cmd.Dir = root
		out, took, err := timed(cmd)
		return sample{took, strconv.Itoa(bytes.Count(out, []byte("\n")))}, err
	}}
}
