package main

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestNoAttackReachesWhatAnotherProjectWrote(t *testing.T) {
	s := newSiege(t)
	g := s.garrison(stance{})
	project := filepath.Dir(s.home) + "/project"
	must(t, os.Mkdir(project, 0o755))
	ours := s.ws
	s.ws = project
	thief := s.garrison(stance{}).client
	s.ws = ours
	id := g.other.OutputID
	read := map[string]any{"output_id": id}
	if r := g.client.Call("list_execution_outputs", nil); !strings.Contains(string(r.Raw), id) {
		t.Errorf("the server does not list its own, which says nothing of others: %s", r.Text)
	}
	if r := thief.Call("list_execution_outputs", nil); strings.Contains(string(r.Raw), id) {
		t.Errorf("listed: %s", r.Text)
	}
	if r := thief.Call("read_execution_output", read); !r.IsError || strings.Contains(string(r.Raw), "leak-") {
		t.Errorf("read: %s", r.Text)
	}
	thief.Call("delete_execution_outputs", map[string]any{"output_ids": []string{id}, "confirm": true})
	if r := g.client.Call("read_execution_output", read); !strings.Contains(r.Text, "leak-other") {
		t.Errorf("deleted: %s", r.Text)
	}
	if r := thief.Call("process_get_execution", map[string]any{"execution_id": g.other.ID}); !r.IsError {
		t.Errorf("told: %s", r.Text)
	}
}

// forgery changes and then removes all that is kept of a server.
const forgery = "find $STATE -type f -exec cp wish {} ';'; find $STATE -type f -exec sh -c 'echo x >>$1' sh {} ';'; rm -rf $STATE/*; ls -R $STATE; echo tried forgery"

func TestNoAttackReachesTheStateInAnAllowedDirectory(t *testing.T) {
	for _, level := range []string{"1", "2"} {
		for _, at := range []string{"state", "home/ws/state", "home/ws/deep/down"} {
			t.Run("level "+level+", "+at, func(t *testing.T) {
				t.Parallel()
				s := newSiege(t)
				s.state = filepath.Dir(s.home) + "/" + at
				must(t, os.MkdirAll(s.state, 0o755))
				must(t, os.WriteFile(s.ws+"/forge.sh", []byte(strings.ReplaceAll(forgery, "$STATE", s.state)), 0o600))
				flags := []string{"--allow-path", s.ws, "--sandbox-level", level}
				if s.refusesToStart(flags) {
					if at == "state" {
						t.Error("the server does not start, even with its state outside")
					}
					return
				}
				g := s.garrison(stance{flags: flags[2:]})
				g.run("echo before")
				before := kept(t, s.state)
				if len(before) == 0 {
					t.Fatal("the server keeps nothing")
				}
				heard := g.run("sh forge.sh")
				if !strings.Contains(heard, "tried forgery") {
					t.Fatalf("nothing was tried: %s", heard)
				}
				if harm := damaged(before, kept(t, s.state)); len(harm) > 0 {
					t.Errorf("%s", strings.Join(harm, "\n"))
				}
				cmd := exec.Command("sh", "forge.sh")
				cmd.Dir = s.ws
				must(t, cmd.Run())
				if len(damaged(before, kept(t, s.state))) == 0 {
					t.Error("it does no damage without a sandbox either, and so says nothing")
				}
				g.fall()
			})
		}
	}
}

// refusesToStart says whether the server ends at once with an error.
func (s *siege) refusesToStart(flags []string) bool {
	cmd := exec.Command("shell-exec", flags...)
	cmd.Env = append(os.Environ(), "HOME="+s.home, "XDG_STATE_HOME="+s.state)
	return cmd.Run() != nil
}

// kept are the files that a server keeps of its own; caches of tools are the commands'.
func kept(t *testing.T, dir string) map[string][]byte {
	files := map[string][]byte{}
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && !strings.Contains(path, "/cache/") {
			files[path], err = os.ReadFile(path)
		}
		if os.IsNotExist(err) {
			return nil // the server has just replaced it
		}
		return err
	}))
	return files
}

// damaged are the files of before that are away, or of which a part was changed. What is only of use to a running server comes
// and goes, and what is short is written again.
func damaged(before, now map[string][]byte) (out []string) {
	for path, content := range before {
		after, there := now[path]
		switch {
		case bytes.Contains(after, []byte(`"id":"forged"`)):
			out = append(out, "forged: "+path)
		case !there && strings.Contains(path, "audit"):
			out = append(out, "gone: "+path)
		case strings.HasSuffix(path, ".jsonl") && !bytes.HasPrefix(after, content):
			out = append(out, "changed: "+path)
		}
	}
	slices.Sort(out)
	return out
}

// kinds of memory, and threads.
var fills = []string{"heap", "memfd", "shared", "sysv", "pipes", "sockets", "scratch", "threads"}

func TestNoAttackFillsMoreMemoryThanAllowed(t *testing.T) {
	for _, level := range []string{"1", "2"} {
		t.Run("level "+level, func(t *testing.T) {
			t.Parallel()
			s := newSiege(t)
			g := s.garrison(stance{flags: []string{"--max-memory", "256MiB", "--sandbox-level", level}})
			if heard := g.run(g.program + " fill nothing 3"); !strings.Contains(heard, "kept nothing") {
				t.Fatalf("what takes nothing is not left alone either: %s", heard)
			}
			for _, kind := range fills {
				if heard := g.run(g.program + " fill " + kind + " 3"); strings.Contains(heard, "kept "+kind) {
					t.Errorf("%s: 384 MiB, or 4,608 threads, are kept", kind)
				}
			}
		})
	}
	t.Run("without limits", func(t *testing.T) {
		s := newSiege(t)
		for _, kind := range fills {
			out, err := exec.Command(s.program, "fill", kind, "0").CombinedOutput()
			if !strings.Contains(string(out), "kept "+kind) && !(kind == "pipes" && os.Getuid() != 0) { // the kernel limits those of a user
				t.Errorf("%s cannot be filled, which says nothing: %v, %s", kind, err, out)
			}
		}
		left, _ := filepath.Glob("/dev/shm/fill-*")
		for _, path := range left {
			_ = os.Remove(path)
		}
	})
}

func TestNoAttackLeavesObjectsOfSystemV(t *testing.T) {
	left := func(key int) (out []string) {
		for kind, remove := range map[string]func(id uintptr){
			"shm": func(id uintptr) { call(unix.SYS_SHMCTL, id, 0, 0) },
			"sem": func(id uintptr) { call(unix.SYS_SEMCTL, id, 0, 0, 0) },
			"msg": func(id uintptr) { call(unix.SYS_MSGCTL, id, 0, 0) },
		} {
			text, _ := os.ReadFile("/proc/sysvipc/" + kind)
			for line := range strings.Lines(string(text)) {
				if f := strings.Fields(line); f[0] == strconv.Itoa(key) {
					id, _ := strconv.Atoi(f[1])
					remove(uintptr(id))
					out = append(out, kind)
				}
			}
		}
		return out
	}
	for _, level := range []string{"1", "2"} {
		t.Run("level "+level, func(t *testing.T) {
			s := newSiege(t)
			g := s.garrison(stance{flags: []string{"--sandbox-level", level}})
			line := "leave " + strconv.Itoa(s.key+1)
			if heard := g.run(g.program + " " + line); !strings.Contains(heard, "tried leave") {
				t.Fatalf("nothing was tried: %s", heard)
			}
			g.client.Close()
			if kinds := left(s.key + 1); len(kinds) > 0 {
				t.Errorf("left are %q", kinds)
			}
			s.unprotected(line)
			if kinds := left(s.key + 1); len(kinds) != 3 {
				t.Errorf("left without a sandbox are %q, and so it says nothing", kinds)
			}
		})
	}
}
