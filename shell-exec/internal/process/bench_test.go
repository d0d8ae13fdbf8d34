//go:build linux

package process_test

import (
	"os/exec"
	"testing"
	"time"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/mcptest"
	"github.com/multiollama/mcp-server/shell-exec/internal/output"
	"github.com/multiollama/mcp-server/shell-exec/internal/process"
	"github.com/multiollama/mcp-server/shell-exec/internal/sandbox"
)

// BenchmarkEcho is a whole call, beside fork and exec alone.
func BenchmarkEcho(b *testing.B) {
	dir := b.TempDir()
	command := sandbox.Command{Path: "/bin/sh", Args: []string{"sh", "-c", "echo hi"}, Dir: dir, Env: []string{"PATH=/usr/bin:/bin"},
		Rules: sandbox.Rules{Write: []*confine.Grant{mcptest.Grant(dir)}}}
	b.Run("bare", func(b *testing.B) {
		for b.Loop() {
			if _, err := exec.Command("/bin/sh", "-c", "echo hi").Output(); err != nil {
				b.Fatal(err)
			}
		}
	})
	starter, done, err := held()
	must(b, err)
	defer done()
	store, err := output.Open(dir+"/stored", "p", output.Limits{}, time.Now)
	must(b, err)
	defer store.Close()
	for name, kept := range map[string]*output.Store{"kept": store, "not kept": nil} {
		b.Run(name, func(b *testing.B) {
			r, err := process.New(process.Config{Starter: starter, Store: kept})
			must(b, err)
			for b.Loop() {
				if _, err := r.Run(b.Context(), process.Request{Mode: process.Foreground, Command: command}); err != nil {
					b.Fatal(err)
				}
			}
			must(b, r.Close())
		})
	}
	b.Run("only the sandbox", func(b *testing.B) {
		for b.Loop() {
			t, err := starter.Start(b.Context(), command, sandbox.Files{})
			must(b, err)
			t.Wait()
			_ = t.Close()
		}
	})
}
