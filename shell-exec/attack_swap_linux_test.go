package main

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// swapped is something that commands may use, whose name they lead elsewhere.
type swapped struct {
	name  string
	flags []string
	env   []string
	path  string // the name that is led elsewhere
	to    string // where to; "" is $OUT
	bind  string // to which the client binds its commands
	late  bool   // the name is led elsewhere after that
	again bool   // it shows at the next start of the server
	race  bool   // the name leads here and there, and here again
}

var swaps = []swapped{
	{name: "what the client bound itself to", path: "$WS/sub", bind: "$WS/sub"},
	{name: "the same later", path: "$WS/sub", bind: "$WS/sub", late: true},
	{name: "a part of what the client bound itself to", path: "$WS/sub", bind: "$WS/sub/deep", late: true},
	{name: "a directory in an allowed one", flags: []string{"--allow-path", "$WS/sub"}, path: "$WS/sub"},
	{name: "the directory above it", flags: []string{"--allow-path", "$WS/sub/deep"}, path: "$WS/sub"},
	{name: "a directory to read", flags: []string{"--read-path", "$WS/sub"}, path: "$WS/sub"},
	{name: "a file to read", flags: []string{"--read-path", "$WS/sub/file"}, path: "$WS/sub"},
	{name: "the allowed directory", flags: []string{"--allow-path", "$HOME"}, path: "$WS"},
	{name: "where commands start", flags: []string{"--workdir", "$WS/sub"}, path: "$WS/sub"},
	{name: "the directory for temporary files", env: []string{"TMPDIR=$WS/sub"}, path: "$WS/sub", to: "$OUT/twin"},
	{name: "a folder of a tool", flags: []string{"--allow-path", "$HOME"}, path: "$HOME/.g"},
	{name: "a folder above one of a tool", flags: []string{"--allow-path", "$HOME"}, path: "$HOME/.cargo"},
	{name: "the configuration of a tool", flags: []string{"--allow-path", "$HOME"}, path: "$HOME/.gitconfig", to: "$OUT/file"},
	{name: "a folder of a tool at the next start", flags: []string{"--allow-path", "$HOME"}, path: "$HOME/.g", again: true},
	{name: "a folder that a variable names", env: []string{"GOPATH=$WS/sub"}, path: "$WS/sub/bin", again: true},
	{name: "a folder that another variable names", env: []string{"NVM_DIR=$WS/sub"}, path: "$WS/sub", again: true},
	{name: "a race for what the client bound itself to", path: "$WS/sub", bind: "$WS/sub", race: true},
	{name: "a race for a directory in an allowed one", flags: []string{"--allow-path", "$WS/sub"}, path: "$WS/sub", race: true},
	{name: "a race for the directory above it", flags: []string{"--allow-path", "$WS/sub/deep"}, path: "$WS/sub", race: true},
	{name: "a race for a directory to read", flags: []string{"--read-path", "$WS/sub"}, path: "$WS/sub", race: true},
	{name: "a race for where commands start", flags: []string{"--workdir", "$WS/sub"}, path: "$WS/sub", race: true},
}

// lenient is a policy that lets pass what the sandbox has to stop.
const lenient = `version = 1
default = "allow"
[effects]
"read.secret" = "allow"
"write.outside" = "allow"
"write.startup" = "allow"
"write.unknown" = "allow"
"run.unknown" = "allow"
"run.unknown-code" = "allow"
`

// theft is what is tried once the name leads elsewhere: all that lies there, by its own name.
const theft = "cat $OUT/file $OUT/dir/secret $OUT/deep/secret $OUT/bin/secret $OUT/twin/*/secret; " +
	"echo x >$OUT/new; echo x >$OUT/file; echo x >$OUT/deep/new; echo tried theft"

func (s *siege) expandAll(words []string) (out []string) {
	for _, w := range words {
		out = append(out, strings.ReplaceAll(s.expand(w), "$WS", s.ws))
	}
	return out
}

func TestAttacksBySwappedNamesReachNothing(t *testing.T) {
	for _, level := range []string{"1", "2"} {
		for _, w := range swaps {
			t.Run("level "+level+", "+w.name, func(t *testing.T) {
				t.Parallel()
				s := newSiege(t)
				w.prepare(s)
				w.against(s, level)
			})
		}
	}
	t.Run("without a sandbox", func(t *testing.T) {
		t.Parallel()
		s := newSiege(t)
		swaps[0].prepare(s)
		g := s.garrison(stance{flags: []string{"--sandbox", "off", "--policy", s.policy()}})
		s.watch()
		s.proves([]string{"read: a file outside", "read: a file in a directory", "file "}, g.run(s.expand(theft)))
	})
}

func (s *siege) policy() string { return filepath.Dir(s.home) + "/policy.toml" }

// prepare makes what the name leads to, and a secret wherever it may then lead.
func (w swapped) prepare(s *siege) {
	must(s.t, os.WriteFile(s.policy(), []byte(lenient), 0o600))
	must(s.t, os.MkdirAll(s.ws+"/sub/deep", 0o755))
	must(s.t, os.WriteFile(s.ws+"/sub/file", nil, 0o600))
	secret := s.secret("deep", "a file in a directory outside")
	for _, dir := range []string{"dir", "deep", "bin", "twin"} {
		must(s.t, os.MkdirAll(s.out+"/"+dir, 0o755))
		must(s.t, os.WriteFile(s.out+"/"+dir+"/secret", []byte(secret), 0o600))
	}
}

func (w swapped) against(s *siege, level string) {
	t := s.t
	how := stance{flags: append([]string{"--policy", s.policy(), "--sandbox-level", level}, s.expandAll(w.flags)...), env: s.expandAll(w.env)}
	g := s.garrison(how)
	if twins, _ := filepath.Glob(s.ws + "/sub/mcp-shell-*"); len(twins) > 0 { // its own directory for temporary files
		twin := s.out + "/twin/" + filepath.Base(twins[0])
		must(t, os.Mkdir(twin, 0o755))
		must(t, os.Rename(s.out+"/twin/secret", twin+"/secret"))
	}
	bind := func() {
		if w.bind != "" {
			g.client.Call("security_set_restrictions", map[string]any{"allowed_directories": s.expandAll([]string{w.bind})})
		}
	}
	if w.race || w.late {
		bind()
	}
	path, to := s.expandAll([]string{w.path})[0], s.out
	if w.to != "" {
		to = s.expand(w.to)
	}
	if w.race {
		w.tosses(g, path, to)
		return
	}
	s.lead(g, path, to, level == "1")
	if !w.late {
		bind()
	}
	if w.again {
		g.client.Close()
		g = s.garrison(how)
	}
	s.watch()
	harm := g.stolen()
	if strings.Contains(w.name, "tool") && !w.again { // such folders are looked at from time to time
		time.Sleep(6 * time.Second)
		harm = append(harm, g.stolen()...)
	}
	g.report(harm)
}

// lead leads a name elsewhere: a command does it, where names of its own are all that it sees.
func (s *siege) lead(g *garrison, path, to string, byCommand bool) {
	s.t.Helper()
	if byCommand {
		script := "mkdir -p " + filepath.Dir(path) + "; mv " + path + " " + path + ".old; ln -s " + to + " " + path + "; sleep 600"
		must(s.t, os.WriteFile(s.ws+"/lead.sh", []byte(script), 0o600))
		args := map[string]any{"command": "sh lead.sh", "execution_mode": "background", "working_directory": s.ws}
		if r := g.client.Call("shell_execute", args); !r.IsError {
			house{t: s.t}.until("the name leads elsewhere", func() bool { return elsewhere(s, path) })
			return
		}
	}
	must(s.t, os.MkdirAll(filepath.Dir(path), 0o755))
	_ = os.Rename(path, path+".old") // if there is one
	must(s.t, os.Symlink(to, path))
}

func elsewhere(s *siege, path string) bool {
	real, err := filepath.EvalSymlinks(path)
	return err == nil && strings.HasPrefix(real, s.out)
}

// stolen tries the theft and is the harm.
func (g *garrison) stolen() []string {
	g.t.Helper()
	heard := g.run(g.expand(theft))
	// Only an answer counts: that it was tried, or that there is no place to start it in.
	if !strings.Contains(heard, "tried theft") && (!strings.Contains(heard, `"error"`) || strings.Contains(heard, "SECURITY_001") || strings.Contains(heard, "SECURITY_003")) {
		g.t.Errorf("nothing was tried: %s", heard)
	}
	return g.harm(heard)
}

func (g *garrison) report(harm []string) {
	g.t.Helper()
	if slices.Sort(harm); len(harm) > 0 {
		g.t.Errorf("%s", strings.Join(slices.Compact(harm), "\n"))
	}
}

// tosses lets two things change places while commands start.
func (w swapped) tosses(g *garrison, path, to string) {
	must(g.t, os.Symlink(to, path+".link"))
	g.watch()
	done, tossed := make(chan struct{}), make(chan int)
	go func() {
		for n := 0; ; n++ {
			select {
			case <-done:
				tossed <- n
				return
			default:
				_ = unix.Renameat2(unix.AT_FDCWD, path, unix.AT_FDCWD, path+".link", unix.RENAME_EXCHANGE)
				time.Sleep(time.Duration(rand.IntN(300)) * time.Microsecond)
			}
		}
	}()
	var harm []string
	for range 25 {
		harm = append(harm, g.stolen()...)
	}
	close(done)
	if n := <-tossed; n < 100 {
		g.t.Errorf("the race did not run: %d", n)
	}
	g.report(harm)
}
