package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// world is the files that are read.
type world struct {
	dir   string // allowed
	state string // for the audit log
}

func newWorld() (world, error) {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return world{}, err
	}
	state, err := os.MkdirTemp("", "bench-state")
	if err != nil {
		return world{}, err
	}
	w := world{dir, state}
	line := strings.Repeat("the quick brown fox ", 3) + "\n"
	for name, size := range map[string]int{"1k.txt": 1 << 10, "100k.txt": 100 << 10} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(strings.Repeat(line, size/len(line))), 0o644); err != nil {
			return w, err
		}
	}
	many := filepath.Join(dir, "many")
	if err := os.Mkdir(many, 0o755); err != nil {
		return w, err
	}
	for i := range 500 {
		if err := os.WriteFile(filepath.Join(many, fmt.Sprintf("file-%03d.txt", i)), nil, 0o644); err != nil {
			return w, err
		}
	}
	return w, nil
}

// row is one line of the table: a value for each contender.
type row struct {
	name, unit string
	values     []float64
}

// job measures one thing for every contender, alternating.
type job struct {
	name    string
	measure func([]contender) (row, error)
}

func jobs(w world, runs, calls int) []job {
	read := func(file string) func(contender) (string, map[string]any) {
		return func(c contender) (string, map[string]any) {
			return c.readTool, map[string]any{"path": filepath.Join(w.dir, file)}
		}
	}
	list := func(c contender) (string, map[string]any) {
		return c.listTool, map[string]any{c.listArg: filepath.Join(w.dir, "many")}
	}
	return []job{
		starting(runs),
		idle(),
		latency("read 1 KB, one call after the other (median)", calls, read("1k.txt")),
		latency("read 100 KB, one call after the other (median)", calls/10, read("100k.txt")),
		latency("list 500 entries with their sizes (median)", calls/10, list),
		loaded(calls*5, read("1k.txt")),
	}
}

func starting(runs int) job {
	return job{"start to the answer of initialize (median)", func(cs []contender) (row, error) {
		samples := make([][]float64, len(cs))
		for range runs {
			for i, c := range cs {
				t := time.Now()
				cl, err := start(c.argv)
				if err != nil {
					return row{}, err
				}
				samples[i] = append(samples[i], ms(time.Since(t)))
				if err := cl.stop(); err != nil {
					return row{}, err
				}
			}
		}
		return row{"start to the answer of initialize (median)", "ms", medians(samples)}, nil
	}}
}

func idle() job {
	return job{"resident memory after the start", func(cs []contender) (row, error) {
		r := row{"resident memory after the start", "MB", nil}
		err := each(cs, func(_ int, _ contender, cl *client) error {
			if _, err := cl.call("tools/list", map[string]any{}); err != nil {
				return err
			}
			time.Sleep(200 * time.Millisecond)
			r.values = append(r.values, mb(cl.memory("VmRSS")))
			return nil
		})
		return r, err
	}}
}

// latency starts all contenders, then calls them in turn.
func latency(name string, calls int, what func(contender) (string, map[string]any)) job {
	return job{name, func(cs []contender) (row, error) {
		clients := make([]*client, len(cs))
		for i, c := range cs {
			cl, err := start(c.argv)
			if err != nil {
				return row{}, err
			}
			defer cl.stop()
			clients[i] = cl
		}
		samples := make([][]float64, len(cs))
		for n := range calls + 50 {
			for i, c := range cs {
				tool, args := what(c)
				t := time.Now()
				if err := clients[i].tool(tool, args); err != nil {
					return row{}, err
				}
				if n >= 50 { // warm
					samples[i] = append(samples[i], ms(time.Since(t)))
				}
			}
		}
		return row{name, "ms", medians(samples)}, nil
	}}
}

// loaded tells the memory after many calls, 16 at once.
func loaded(calls int, what func(contender) (string, map[string]any)) job {
	name := fmt.Sprintf("resident memory after %d reads of 1 KB, 16 at once", calls)
	return job{name, func(cs []contender) (row, error) {
		r := row{name, "MB", nil}
		err := each(cs, func(_ int, c contender, cl *client) error {
			if err := hammer(cl, c, calls, what); err != nil {
				return err
			}
			r.values = append(r.values, mb(cl.memory("VmRSS")))
			return nil
		})
		return r, err
	}}
}

func hammer(cl *client, c contender, calls int, what func(contender) (string, map[string]any)) error {
	cl.concurrent()
	var wg sync.WaitGroup
	errs := make(chan error, 16)
	for range 16 {
		wg.Go(func() {
			for range calls / 16 {
				tool, args := what(c)
				if err := cl.tool(tool, args); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wg.Wait()
	close(errs)
	return <-errs
}

func each(cs []contender, do func(int, contender, *client) error) error {
	for i, c := range cs {
		cl, err := start(c.argv)
		if err != nil {
			return err
		}
		err = do(i, c, cl)
		cl.stop()
		if err != nil {
			return err
		}
	}
	return nil
}

func ms(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }
func mb(n int64) float64         { return float64(n) / 1e6 }

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	if len(v) == 0 {
		return 0
	}
	return v[len(v)/2]
}

func medians(samples [][]float64) []float64 {
	out := make([]float64, len(samples))
	for i, s := range samples {
		out[i] = median(s)
	}
	return out
}
