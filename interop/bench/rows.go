package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
)

// groups are all rows, in the order of the table.
var groups = []struct {
	name string
	rows func(*workplace) ([]row, error)
}{
	{"search", searching},
	{"find", finding},
	{"read", reading},
	{"write", writing},
	{"run", running},
	{"start", starting},
	{"memory", remembering},
}

// searching counts lines with the index off, then again with what the first search left in it, beside ripgrep.
func searching(w *workplace) ([]row, error) {
	noIndex := []string{"--search-index", "0"}
	var all []row
	for _, place := range []struct {
		name     string
		root     func(*workplace) (string, error)
		flags    []string
		ignore   bool
		patterns []string
	}{
		{"small tree", (*workplace).smallTree, noIndex, false, []string{"errgroup", "(?i)context canceled", `\w{5}\s+\w{5}\s+\w{5}`}},
		{"big tree", (*workplace).bigTree, noIndex, true, []string{"errgroup", "(?i)context canceled", `\bfunc\s+\w+Handler\b`}},
		{"big tree, again", (*workplace).bigTree, nil, true, []string{"errgroup", "(?i)context canceled"}},
		{"log", (*workplace).logFile, nil, false, []string{"ZZQ_RARE", `\d{2}:59:59\.\d{3}Z`}},
	} {
		root, err := place.root(w)
		if err != nil {
			return nil, err
		}
		allowed := root
		if strings.HasSuffix(root, ".txt") {
			allowed = filepath.Dir(root)
		}
		c, err := w.server(w.ours("file-read", allowed, place.flags...))
		if err != nil {
			return nil, err
		}
		for _, pattern := range place.patterns {
			args := map[string]any{
				"search_path": root, "regex_pattern": pattern, "recursive": true, "output": "count", "use_gitignore": place.ignore,
			}
			r := row{name: fmt.Sprintf("search %s: `%s`", place.name, strings.ReplaceAll(pattern, "|", `\|`)), unit: "ms", times: 9}
			r.sides = append(r.sides, side{"file-read", func(int) (float64, string, error) {
				answer, took, err := c.call("search_content_in_files", args)
				_, lines, _ := bytes.Cut(answer, []byte(`"matchedLines":`))
				end := bytes.IndexFunc(lines, func(r rune) bool { return r < '0' || r > '9' })
				return ms(took), string(lines[:max(end, 0)]), err
			}})
			for _, rg := range w.ripgreps() {
				r.sides = append(r.sides, side{rg.name, func(int) (float64, string, error) {
					out, took, err := timed(rg.command(root, place.ignore, "--count", "--no-filename", "--regexp="+forRipgrep(pattern)))
					total := 0
					for line := range strings.Lines(string(out)) {
						n, _ := strconv.Atoi(strings.TrimSpace(line))
						total += n
					}
					return took, strconv.Itoa(total), err
				}})
			}
			all = append(all, r)
		}
	}
	return all, nil
}

// ripgrep is one that is installed.
type ripgrep struct{ name, path string }

// ripgreps are the one in PATH and the newest, from npm.
func (w *workplace) ripgreps() (all []ripgrep) {
	platform := runtime.GOOS + "-" + strings.Replace(runtime.GOARCH, "amd64", "x64", 1)
	newest, _ := filepath.Abs("interop/bench/peers/node_modules/@vscode/ripgrep-" + platform + "/bin/rg")
	for _, path := range []string{w.program("rg"), newest} {
		if f := strings.Fields(printed(path, "--version")); len(f) > 1 && f[0] == "ripgrep" {
			all = append(all, ripgrep{"ripgrep " + f[1], path})
		}
	}
	return all
}

// command searches as we do: hidden files too, no configuration, and of all ignore files only .gitignore, or none.
func (r ripgrep) command(root string, ignore bool, args ...string) *exec.Cmd {
	line := []string{"--no-config", "--no-messages", "--hidden"}
	if ignore {
		line = append(line, "--no-require-git", "--no-ignore-global", "--no-ignore-parent", "--no-ignore-dot")
	} else {
		line = append(line, "--no-ignore")
	}
	cmd := exec.Command(r.path, append(append(line, args...), "./")...)
	cmd.Dir = root
	if info, err := os.Stat(root); err == nil && !info.IsDir() {
		cmd.Dir, cmd.Args[len(cmd.Args)-1] = filepath.Split(root)
	}
	return cmd
}

// forRipgrep is a pattern in which \w and the like mean ASCII, as they do in RE2; it is faster that way too.
func forRipgrep(pattern string) string {
	for _, class := range []string{`\w`, `\s`, `\b`, `\d`} {
		if strings.Contains(pattern, class) {
			return "(?-u)" + pattern
		}
	}
	return pattern
}

// timed runs a command. Exit code 1, which means that it found nothing, is not an error.
func timed(cmd *exec.Cmd) (out []byte, took float64, err error) {
	began := time.Now()
	out, err = cmd.Output()
	took = ms(time.Since(began))
	if cmd.ProcessState != nil && cmd.ProcessState.ExitCode() == 1 {
		err = nil
	}
	return out, took, err
}

// finding finds files by name beside fd. An answer of ours holds 10,000 names, so that more are read page by page.
func finding(w *workplace) ([]row, error) {
	root, err := w.bigTree()
	if err != nil {
		return nil, err
	}
	c, err := w.server(w.ours("file-read", root, "--search-index", "0"))
	if err != nil {
		return nil, err
	}
	const glob = "*_test.go"
	r := row{name: "find `" + glob + "` in the big tree", unit: "ms", times: 9}
	r.sides = []side{{"file-read", func(int) (float64, string, error) {
		found, total := 0, 0.0
		args := map[string]any{"base_dir": root, "pattern": glob, "recursive": true, "use_gitignore": true, "max_results": 10_000}
		for {
			answer, took, err := c.call("find_files_by_pattern", args)
			var a struct {
				Result struct {
					StructuredContent struct {
						Paths      []string
						NextCursor string
					}
				}
			}
			if err == nil {
				err = json.Unmarshal(answer, &a)
			}
			found, total = found+len(a.Result.StructuredContent.Paths), total+ms(took)
			if args["cursor"] = a.Result.StructuredContent.NextCursor; err != nil || args["cursor"] == "" {
				return total, strconv.Itoa(found), err
			}
		}
	}}}
	if fd := w.program("fdfind", "fd"); fd != "" {
		r.sides = append(r.sides, side{strings.Replace(printed(fd, "--version"), "fdfind", "fd", 1), func(int) (float64, string, error) {
			cmd := exec.Command(fd, "--hidden", "--no-ignore-parent", "--no-global-ignore-file", "--glob", glob)
			cmd.Dir = root
			out, took, err := timed(cmd)
			return took, strconv.Itoa(bytes.Count(out, []byte("\n"))), err
		}})
	}
	return []row{r}, nil
}

// reading reads small and large files beside other servers.
func reading(w *workplace) ([]row, error) {
	var all []row
	for _, f := range []struct {
		name        string
		size, times int
	}{{"1 KB", 1 << 10, 2000}, {"1 MB", 1 << 20, 100}} {
		path := filepath.Join(w.dir, f.name+".txt")
		if err := os.WriteFile(path, []byte(prose(f.size)), 0o644); err != nil {
			return nil, err
		}
		r := row{name: "read a file of " + f.name, unit: "ms", times: f.times}
		for _, s := range []struct {
			name, tool string
			argv       []string
		}{
			{"file-read", "file_read", w.ours("file-read", w.dir, "--max-read-bytes", "2MiB")},
			{loop, "file_read", w.peer(loop)}, {reference, "read_text_file", w.peer(reference)},
		} {
			if s.argv == nil {
				continue
			}
			c, err := w.server(s.argv)
			if err != nil {
				return nil, err
			}
			r.sides = append(r.sides, side{s.name, func(int) (float64, string, error) {
				answer, took, err := c.call(s.tool, map[string]any{"path": path})
				if err == nil && len(answer) < f.size {
					err = fmt.Errorf("only %d bytes were returned", len(answer))
				}
				return ms(took), "", err
			}})
		}
		all = append(all, r)
	}
	return all, nil
}

// prose is text in lines, of a size.
func prose(size int) string {
	const line = "the quick brown fox jumps over the lazy dog, and so on, 123\n"
	return strings.Repeat(line, size/len(line)+1)[:size]
}

// writing changes files beside the reference server and plain system calls.
func writing(w *workplace) ([]row, error) {
	page, big := prose(4<<10), prose(9<<20) // the reference server ends at a message of 10 MB
	type change func(path, was, is string) (time.Duration, error)
	server := func(argv []string, call func(path, was, is string) (string, map[string]any)) (change, error) {
		c, err := w.server(argv)
		return func(path, was, is string) (time.Duration, error) {
			tool, args := call(path, was, is)
			_, took, err := c.call(tool, args)
			return took, err
		}, err
	}
	create := row{name: "create a file of 4 KB", unit: "ms", times: 200}
	edit := row{name: "edit a line of a file of 9 MB", unit: "ms", times: 9}
	add := func(r *row, name string, do change, path func(n int) string, was, is func(n int) string) {
		r.sides = append(r.sides, side{name, func(n int) (float64, string, error) {
			took, err := do(path(n), was(n), is(n))
			return ms(took), "", err
		}})
	}
	for _, s := range []struct {
		name, write, edit string
		argv              []string
		direct            func(path, content string) error
	}{
		{name: "file-write", write: "file_write", edit: "edit_file", argv: w.ours("file-write", w.dir)},
		{name: "temp, fsync, rename", direct: durably},
		{name: reference + " (not synced)", write: "write_file", edit: "edit_file", argv: w.peer(reference)},
	} {
		dir := filepath.Join(w.dir, s.name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			return nil, err
		}
		changed := filepath.Join(dir, "big.txt")
		if err := os.WriteFile(changed, []byte("line 0\n"+big), 0o644); err != nil {
			return nil, err
		}
		ours := s.name == "file-write"
		var writes, edits change
		switch {
		case s.direct != nil:
			writes = func(path, _, content string) (time.Duration, error) {
				began := time.Now()
				err := s.direct(path, content)
				return time.Since(began), err
			}
			edits = func(path, was, is string) (time.Duration, error) {
				began := time.Now()
				text, err := os.ReadFile(path)
				if err == nil {
					err = s.direct(path, strings.Replace(string(text), was, is, 1))
				}
				return time.Since(began), err
			}
		case s.argv == nil:
			continue
		default:
			var err error
			if writes, err = server(s.argv, func(path, _, content string) (string, map[string]any) {
				return s.write, map[string]any{"path": path, "content": content}
			}); err != nil {
				return nil, err
			}
			if edits, err = server(s.argv, func(path, was, is string) (string, map[string]any) {
				if ours {
					return s.edit, map[string]any{"path": path, "old_string": was, "new_string": is}
				}
				return s.edit, map[string]any{"path": path, "edits": []map[string]any{{"oldText": was, "newText": is}}}
			}); err != nil {
				return nil, err
			}
		}
		add(&create, s.name, writes, func(n int) string { return filepath.Join(dir, fmt.Sprintf("new-%d.txt", n)) },
			func(int) string { return "" }, func(int) string { return page })
		add(&edit, s.name, edits, func(int) string { return changed },
			func(n int) string { return fmt.Sprintf("line %d\n", n) }, func(n int) string { return fmt.Sprintf("line %d\n", n+1) })
	}
	return []row{create, edit}, nil
}

// durably is what a careful program does without a server.
func durably(path, content string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".bench-")
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.WriteString(content); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

// running runs commands beside other servers and beside starting the shell ourselves.
func running(w *workplace) ([]row, error) {
	var all []row
	for _, job := range []struct {
		command       string
		atOnce, times int
	}{{"echo hi", 1, 200}, {"seq 100000", 1, 50}, {"sleep 0.2; echo hi", 50, 9}} {
		r := row{name: "run `" + job.command + "`", unit: "ms", times: job.times}
		if job.atOnce > 1 {
			r.name += fmt.Sprintf(", %d at once", job.atOnce)
		}
		for _, s := range []struct {
			name, tool string
			argv       []string
		}{
			{"shell-exec", "shell_exec", w.ours("shell-exec", w.dir)}, {"fork and exec", "", nil},
			{commands, "run_command", w.peer(commands)}, {"mcp-shell-server", "shell_execute", w.peer("mcp-shell-server")},
		} {
			do := func() error {
				_, err := exec.Command("bash", "--noprofile", "--norc", "-c", job.command).Output()
				return err
			}
			if s.tool != "" {
				if s.argv == nil {
					continue
				}
				c, err := w.server(s.argv)
				if err != nil {
					return nil, err
				}
				if job.atOnce > 1 {
					c.concurrent()
				}
				do = func() error {
					_, _, err := c.call(s.tool, map[string]any{"command": job.command})
					return err
				}
			}
			r.sides = append(r.sides, side{s.name, func(int) (float64, string, error) {
				began := time.Now()
				err := atOnce(job.atOnce, do)
				return ms(time.Since(began)), "", err
			}})
		}
		all = append(all, r)
	}
	return all, nil
}

// atOnce does something in many goroutines and waits for all of them.
func atOnce(times int, do func() error) error {
	errs := make([]error, times)
	var all sync.WaitGroup
	for i := range times {
		all.Go(func() { errs[i] = do() })
	}
	all.Wait()
	return errors.Join(errs...)
}

// starting starts servers until they have answered initialize.
func starting(w *workplace) ([]row, error) {
	var all []row
	for _, r := range []struct {
		name   string
		others []string
	}{
		{"file-read", []string{loop, reference}},
		{"file-write", []string{loop, reference}},
		{"shell-exec", []string{loop, commands, "mcp-shell-server"}},
	} {
		one := row{name: "start " + r.name, unit: "ms", times: 15}
		for _, name := range append([]string{r.name}, r.others...) {
			argv := w.ours(name, w.dir)
			if name != r.name {
				argv = w.peer(name)
			}
			if argv == nil {
				continue
			}
			one.sides = append(one.sides, side{name, func(int) (float64, string, error) {
				began := time.Now()
				c, err := start(w.dir, argv)
				took := ms(time.Since(began))
				if err == nil {
					c.stop()
				}
				return took, "", err
			}})
		}
		all = append(all, one)
	}
	return all, nil
}

// remembering measures memory: after the start, and at the peak of work that is large.
func remembering(w *workplace) ([]row, error) {
	memory := func(key string, argv []string, tool string, args map[string]any) func(int) (float64, string, error) {
		return func(int) (float64, string, error) {
			c, err := start(w.dir, argv)
			if err != nil {
				return 0, "", err
			}
			defer c.stop()
			if tool == "" {
				_, _, err = c.request("tools/list", map[string]any{})
			} else {
				_, _, err = c.call(tool, args)
			}
			return c.memory(key), "", err
		}
	}
	tree, err := w.bigTree()
	if err != nil {
		return nil, err
	}
	flood := map[string]any{"command": `head -c 1G /dev/zero | tr '\0' a`}
	count := map[string]any{"search_path": tree, "regex_pattern": "errgroup", "recursive": true, "output": "count"}
	all := []row{
		{name: "memory of file-read after its start", sides: []side{
			{"file-read", memory("VmRSS", w.ours("file-read", w.dir), "", nil)},
		}},
		{name: "peak memory while a command prints 1 GB", sides: []side{
			{"shell-exec", memory("VmHWM", w.ours("shell-exec", w.dir), "shell_exec", flood)},
		}},
		{name: "peak memory of a search of the big tree", sides: []side{
			{"file-read", memory("VmHWM", w.ours("file-read", tree), "search_content_in_files", count)},
		}},
	}
	if argv := w.peer(reference); argv != nil {
		all[0].sides = append(all[0].sides, side{reference, memory("VmRSS", argv, "", nil)})
	}
	if argv := w.peer(commands); argv != nil {
		all[1].sides = append(all[1].sides, side{commands, memory("VmHWM", argv, "run_command", flood)})
	}
	for i := range all {
		all[i].unit, all[i].times = "MB", 1
	}
	return all, nil
}
