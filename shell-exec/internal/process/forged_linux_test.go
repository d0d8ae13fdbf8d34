package process_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shell-exec/internal/process"
)

// stranger is a process that no server of ours has started, the first of a session, and what a record would call it.
func stranger(t *testing.T) (alive func() bool, identity map[string]any) {
	t.Helper()
	cmd := exec.Command("sleep", "1000")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	must(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _, _ = cmd.Process.Wait() })
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
	must(t, err)
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	must(t, err)
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	alive = func() bool {
		now, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
		return err == nil && !bytes.Contains(now, []byte(") Z ")) && !bytes.Contains(now, []byte(") T "))
	}
	return alive, map[string]any{"pid": cmd.Process.Pid, "born": strings.TrimSpace(string(boot)) + "/" + fields[19]}
}

// sealed is a record with the signature that a key makes for it.
func sealed(t *testing.T, key []byte, project, id string, job map[string]any) []byte {
	t.Helper()
	text, err := json.Marshal(job)
	must(t, err)
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(project + "/" + id + ".json\n"))
	mac.Write(text)
	file, err := json.Marshal(map[string]any{"job": json.RawMessage(text), "mac": mac.Sum(nil)})
	must(t, err)
	return file
}

func TestNoRecordThatSomebodyWroteLeadsToASignal(t *testing.T) {
	for _, c := range []struct {
		name  string
		known bool // as a job, though nothing of it is signalled
		write func(t *testing.T, key []byte, id string, job map[string]any, old []byte) []byte
	}{
		{"with the signature of what it was", false, func(t *testing.T, _ []byte, _ string, job map[string]any, old []byte) []byte {
			var file map[string]any
			must(t, json.Unmarshal(old, &file))
			file["job"] = job
			text, err := json.Marshal(file)
			must(t, err)
			return text
		}},
		{"without a signature", false, func(t *testing.T, _ []byte, _ string, job map[string]any, _ []byte) []byte {
			text, err := json.Marshal(map[string]any{"job": job})
			must(t, err)
			return text
		}},
		{"as an earlier version had it", false, func(t *testing.T, _ []byte, _ string, job map[string]any, _ []byte) []byte {
			text, err := json.Marshal(job)
			must(t, err)
			return text
		}},
		{"with another key", false, func(t *testing.T, _ []byte, id string, job map[string]any, _ []byte) []byte {
			return sealed(t, make([]byte, 32), "p", id, job)
		}},
		{"with no key", false, func(t *testing.T, _ []byte, id string, job map[string]any, _ []byte) []byte {
			return sealed(t, nil, "p", id, job)
		}},
		{"signed for another project", false, func(t *testing.T, key []byte, id string, job map[string]any, _ []byte) []byte {
			return sealed(t, key, "q", id, job)
		}},
		{"signed for another name", false, func(t *testing.T, key []byte, _ string, job map[string]any, _ []byte) []byte {
			return sealed(t, key, "p", "exec_aaaaaaaaaaaaaaaa", job)
		}},
		{"signed, and about another job", false, func(t *testing.T, key []byte, id string, job map[string]any, _ []byte) []byte {
			job["id"] = "exec_aaaaaaaaaaaaaaaa"
			return sealed(t, key, "p", id, job)
		}},
		{"signed, and the process is a stranger of another time", true, func(t *testing.T, key []byte, id string, job map[string]any, _ []byte) []byte {
			first := maps.Clone(job["first"].(map[string]any))
			first["born"] = "another boot/1"
			job["first"], job["supervisor"] = first, first
			return sealed(t, key, "p", id, job)
		}},
		{"signed, and the supervisor is a stranger", true, func(t *testing.T, key []byte, id string, job map[string]any, _ []byte) []byte {
			return sealed(t, key, "p", id, job)
		}},
		{"signed, and the command is a stranger", true, func(t *testing.T, key []byte, id string, job map[string]any, _ []byte) []byte {
			job["supervisor"] = map[string]any{"pid": 1 << 22, "born": "another boot/1"}
			return sealed(t, key, "p", id, job)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, func(c *process.Config) { c.Store = nil }) // which has notes about executions of its own
			r := w.run("true", process.Detached)
			_, err := w.Await(t.Context(), r.ID, time.Minute)
			must(t, err)
			supervisor := w.supervisorOf(r.Record)
			eventually(func() bool { // it has written for the last time
				_, _ = w.List(process.Filter{})
				return syscall.Kill(supervisor, 0) != nil
			})
			alive, identity := stranger(t)
			file := filepath.Join(w.dir, "jobs", "p", r.ID+".json")
			key, err := os.ReadFile(filepath.Join(w.dir, "jobs", "key"))
			must(t, err)
			old, err := os.ReadFile(file)
			must(t, err)
			var was struct{ Job map[string]any }
			must(t, json.Unmarshal(old, &was))
			if !bytes.Equal(sealed(t, key, "p", r.ID, was.Job), sealed(t, key, "p", r.ID, maps.Clone(was.Job))) || len(key) != 32 {
				t.Fatal("this test cannot sign")
			}
			was.Job["state"], was.Job["pid"] = "running", identity["pid"]
			was.Job["supervisor"], was.Job["first"] = identity, identity
			must(t, os.WriteFile(file, c.write(t, key, r.ID, was.Job, old), 0o600))

			found, err := w.Get(r.ID)
			if c.known != (err == nil) {
				t.Errorf("it is known: %+v, %v", found.Record, err)
			}
			for _, name := range []string{"KILL", "TERM", "HUP", "USR1"} {
				end, err := w.Terminate(t.Context(), process.Termination{PID: identity["pid"].(int), Signal: name})
				if err == nil && end.Ended {
					t.Errorf("%s is said to have ended it: %+v", name, end)
				}
				if !alive() {
					t.Fatalf("%s reached the stranger", name)
				}
			}
			if !c.known {
				_, err := w.Terminate(t.Context(), process.Termination{PID: identity["pid"].(int)})
				refuses(t, err, fault.NoProcess)
			}
		})
	}
}

func TestAJobOfAnotherProjectIsNobodysBusiness(t *testing.T) {
	w := newFixture(t)
	r := w.run("sleep 1000", process.Detached)
	config := w.config
	config.Project, config.Store = "q", nil
	other, err := process.New(config)
	must(t, err)
	t.Cleanup(func() { must(t, other.Close()) })
	_, err = other.Get(r.ID)
	refuses(t, err, fault.NotFound)
	_, err = other.Await(t.Context(), r.ID, time.Millisecond)
	refuses(t, err, fault.NotFound)
	_, err = other.Terminate(t.Context(), process.Termination{PID: r.PID, Force: true})
	refuses(t, err, fault.NoProcess)
	_, err = other.Watch(r.PID)
	refuses(t, err, fault.NoProcess)
	if l, err := other.List(process.Filter{}); err != nil || l.Total != 0 {
		t.Errorf("it lists %+v, %v", l, err)
	}
	// The file taken along is no record there.
	must(t, os.MkdirAll(filepath.Join(w.dir, "jobs", "q"), 0o700))
	text, err := os.ReadFile(filepath.Join(w.dir, "jobs", "p", r.ID+".json"))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(w.dir, "jobs", "q", r.ID+".json"), text, 0o600))
	_, err = other.Get(r.ID)
	refuses(t, err, fault.NotFound)

	again, err := process.New(w.config) // a second server of the same project
	must(t, err)
	t.Cleanup(func() { must(t, again.Close()) })
	if found, err := again.Get(r.ID); err != nil || found.State != process.Running || found.PID != r.PID {
		t.Errorf("its own project has %+v, %v", found.Record, err)
	}
	if end, err := again.Terminate(t.Context(), process.Termination{PID: r.PID}); err != nil || !end.Ended {
		t.Errorf("its own project does not end it: %+v, %v", end, err)
	}
}

func TestRecordsOfAllProjectsAreBoundedTogether(t *testing.T) {
	w := newFixture(t, func(c *process.Config) { c.Limits.Jobs = 2 })
	key := func() []byte { b, err := os.ReadFile(filepath.Join(w.dir, "jobs", "key")); must(t, err); return b }
	before := key()
	for i := range 5 {
		dir := filepath.Join(w.dir, "jobs", "old"+strconv.Itoa(i))
		id := "exec_" + strings.Repeat("a", 16)
		must(t, os.MkdirAll(dir, 0o700))
		job := map[string]any{"id": id, "state": "completed", "started": time.Now().Add(-time.Duration(i) * time.Hour).Format(time.RFC3339)}
		must(t, os.WriteFile(filepath.Join(dir, id+".json"), sealed(t, before, "old"+strconv.Itoa(i), id, job), 0o600))
	}
	must(t, os.WriteFile(filepath.Join(w.dir, "jobs", "exec_aaaaaaaaaaaaaaaa.json"), []byte("{}"), 0o600)) // of an earlier version
	_ = w.next()
	left, err := filepath.Glob(filepath.Join(w.dir, "jobs", "*"))
	must(t, err)
	for i, path := range left {
		left[i] = filepath.Base(path)
	}
	if got := strings.Join(left, " "); got != "key old0 old1" {
		t.Errorf("left are %s", got)
	}
	if !bytes.Equal(before, key()) {
		t.Error("the key has changed")
	}
}
