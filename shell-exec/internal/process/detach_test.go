//go:build linux

package process_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shell-exec/internal/process"
)

// next is the server that starts after w ended.
func (w *fixture) next() *process.Runner {
	w.t.Helper()
	must(w.t, w.Close())
	r, err := process.New(w.config)
	must(w.t, err)
	w.t.Cleanup(func() { must(w.t, r.Close()) })
	return r
}

// supervisorOf is the process that watches over a job.
func (w *fixture) supervisorOf(r process.Record) int {
	w.t.Helper()
	text, err := os.ReadFile(filepath.Join(w.dir, "jobs", "p", r.ID+".json"))
	must(w.t, err)
	var file struct {
		Job struct{ Supervisor struct{ PID int } }
	}
	must(w.t, json.Unmarshal(text, &file))
	return file.Job.Supervisor.PID
}

func TestADetachedJobOutlivesTheServerAndIsFoundByTheNext(t *testing.T) {
	w := newFixture(t)
	r := w.run("echo begun; read x <"+fifo(w, "go")+"; echo over; exit 7", process.Detached)
	if r.State != process.Running || r.Mode != process.Detached || r.PID == 0 || r.OutputID == "" {
		t.Fatalf("%+v", r.Record)
	}
	next := w.next()
	found, err := next.Get(r.ID)
	if err != nil || found.State != process.Running || found.PID != r.PID || w.alive() == 0 {
		t.Fatalf("%+v, %v", found.Record, err)
	}
	if l, err := next.List(process.Filter{State: process.Running}); err != nil || len(l.Records) != 1 {
		t.Errorf("%+v, %v", l, err)
	}
	must(t, os.WriteFile(w.dir+"/go", []byte("\n"), 0))
	end, err := next.Await(t.Context(), r.ID, time.Minute)
	if err != nil || end.State != process.Completed || end.Code != 7 || end.Written != 11 {
		t.Errorf("%+v, %v", end.Record, err)
	}
	if text := w.stored(r.Record); text != "begun\nover\n" {
		t.Errorf("the store has %q", text)
	}
	w.until(0)
}

func TestTheNextServerEndsAJobWithAllOfIt(t *testing.T) {
	w := newFixture(t)
	r := w.run("setsid sleep 1000 & trap '' TERM; while :; do sleep 1000; done", process.Detached)
	w.until(3)
	end, err := w.next().Terminate(t.Context(), process.Termination{PID: r.PID})
	if err != nil || !end.Ended || end.State != process.Failed || end.Why != process.ByTermination || end.Signal != "SIGKILL" {
		t.Errorf("%+v, %v", end, err)
	}
	w.until(0)
}

func TestAJobGetsOtherSignalsToo(t *testing.T) {
	w := newFixture(t)
	r := w.run("trap 'echo again' HUP; trap 'exit 4' USR1; echo up; while :; do sleep 0.01; done", process.Detached)
	eventually(func() bool { return strings.Contains(w.stored(r.Record), "up") })
	if sent, err := w.Terminate(t.Context(), process.Termination{PID: r.PID, Signal: "SIGHUP"}); err != nil || sent.Ended || sent.Sent != "SIGHUP" {
		t.Fatalf("%+v, %v", sent, err)
	}
	if !eventually(func() bool { return strings.Contains(w.stored(r.Record), "again") }) {
		t.Error("HUP did not arrive")
	}
	_, err := w.Terminate(t.Context(), process.Termination{PID: r.PID, Signal: "USR1"})
	must(t, err)
	if end, err := w.Await(t.Context(), r.ID, time.Minute); err != nil || end.Code != 4 || end.State != process.Completed {
		t.Errorf("%+v, %v", end.Record, err)
	}
}

func TestTheDeadlineOfAJobHolds(t *testing.T) {
	w := newFixture(t)
	r := w.run("sleep 1000", process.Detached, func(q *process.Request) { q.Timeout = time.Second })
	if end, err := w.next().Await(t.Context(), r.ID, time.Minute); err != nil || end.State != process.TimedOut {
		t.Errorf("%+v, %v", end.Record, err)
	}
}

func TestAJobReadsItsInput(t *testing.T) {
	w := newFixture(t)
	r := w.run("cat", process.Detached, func(q *process.Request) { q.Input = strings.Repeat("input\n", 50000) })
	if end, err := w.Await(t.Context(), r.ID, time.Minute); err != nil || end.Written != 300000 {
		t.Errorf("%+v, %v", end.Record, err)
	}
}

func TestAJobThatCannotStartIsAnError(t *testing.T) {
	w := newFixture(t)
	_, err := w.Run(t.Context(), w.sh("true", process.Detached, func(q *process.Request) { q.Command.Path = "/nowhere/program" }))
	refuses(t, err, fault.StartFailed)
	if l, err := w.List(process.Filter{}); err != nil || l.Total != 0 {
		t.Errorf("%+v, %v", l, err)
	}
}

func TestAJobWhoseSupervisorWasKilledIsLostOnlyWhenItIsGone(t *testing.T) {
	w := newFixture(t)
	r := w.run("sleep 1000", process.Detached)
	must(t, syscall.Kill(w.supervisorOf(r.Record), syscall.SIGKILL))
	next := w.next()
	if found, err := next.Get(r.ID); err != nil || found.State != process.Running {
		t.Errorf("while it is there: %+v, %v", found.Record, err)
	}
	end, err := next.Terminate(t.Context(), process.Termination{PID: r.PID})
	if err != nil || !end.Ended || end.State != process.Failed || end.Why != process.ByLoss || end.Code == 0 {
		t.Errorf("%+v, %v", end, err)
	}
	w.until(0)
}

func TestAJobIsPrivateAndItsEnvironmentIsInNoFile(t *testing.T) {
	w := newFixture(t)
	r := w.run("sleep 1000", process.Detached, func(q *process.Request) { q.Command.Env = append(q.Command.Env, "TOKEN=swordfish") })
	dir, err := os.Stat(w.dir + "/jobs")
	must(t, err)
	file, err := os.Stat(w.dir + "/jobs/p/" + r.ID + ".json")
	must(t, err)
	if dir.Mode().Perm() != 0o700 || file.Mode().Perm() != 0o600 {
		t.Errorf("the modes are %v and %v", dir.Mode(), file.Mode())
	}
	text, err := os.ReadFile(w.dir + "/jobs/p/" + r.ID + ".json")
	must(t, err)
	if strings.Contains(string(text), "swordfish") {
		t.Error("the environment is in the file")
	}
}

func TestJobsHaveASessionAndStreamsOfTheirOwn(t *testing.T) {
	w := newFixture(t)
	r := w.run("sleep 1000", process.Detached)
	sid, _, errno := syscall.Syscall(syscall.SYS_GETSID, uintptr(w.supervisorOf(r.Record)), 0, 0)
	if own, _, _ := syscall.Syscall(syscall.SYS_GETSID, 0, 0, 0); errno != 0 || sid == own {
		t.Errorf("session %d, ours is %d: %v", sid, own, errno)
	}
}

func TestRecordsOfJobsAreBounded(t *testing.T) {
	w := newFixture(t, func(c *process.Config) { c.Limits.Jobs = 2 })
	var last process.Result
	for range 4 {
		last = w.run("true", process.Detached)
		eventually(func() bool {
			end, err := w.Get(last.ID)
			return err == nil && end.State == process.Completed && !end.Lingering
		})
	}
	l, err := w.next().List(process.Filter{})
	if err != nil || l.Total != 2 || l.Records[0].ID != last.ID {
		t.Errorf("%+v, %v", l, err)
	}
}

func TestJobsCountAmongTheRunning(t *testing.T) {
	w := newFixture(t, func(c *process.Config) { c.Limits.Running = 2 })
	w.run("sleep 1000", process.Detached)
	w.run("sleep 1000", process.Background)
	_, err := w.Run(t.Context(), w.sh("true", process.Detached))
	refuses(t, err, fault.LimitReached)
}

func TestACancelledDetachLeavesNothing(t *testing.T) {
	w := newFixture(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.Run(ctx, w.sh("sleep 1000", process.Detached)); err == nil {
		t.Error("it was answered")
	}
	w.until(0)
}

func TestNoWordOfAClientBecomesAFileName(t *testing.T) {
	w := newFixture(t)
	must(t, os.WriteFile(w.dir+"/secret.json", []byte(`{"text":"secret"}`), 0o600))
	for _, id := range []string{"../secret", "exec_../../secret", "", "exec_", "exec_AAAAAAAAAAAAAAAA", "exec_aaaaaaaaaaaaaaa/"} {
		if r, err := w.Get(id); err == nil {
			t.Errorf("%q is %+v", id, r.Record)
		} else {
			refuses(t, err, fault.NotFound)
		}
	}
}
