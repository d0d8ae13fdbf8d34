package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/multiollama/mcp-server/shared/mcptest"
)

// TestToolsOfDevelopersWorkInside runs what people run, with the person's own
// tool folders and within the limits that are the default.
func TestToolsOfDevelopersWorkInside(t *testing.T) {
	home, err := os.UserHomeDir()
	must(t, err)
	for _, tool := range []struct {
		name   string
		level  int // from which on
		script string
		want   string
	}{
		{"git", 1, `git init -q . && echo x > a && git add a && git -c user.name=n -c user.email=e@x commit -qm first && git checkout -qb b && git status --short && git log --format=%s`, "first\n"},
		{"go", 1, `go mod init example.org/x 2>/dev/null && printf 'package main\nfunc main() { println("hello") }\n' > main.go && go vet && go build -o x && ./x 2>&1`, "hello\n"},
		{"node", 1, `node -e 'const {execSync}=require("child_process"); const {Worker}=require("worker_threads"); new Worker("require(\"fs\").writeFileSync(\"f\",\"x\")",{eval:true}).on("exit",()=>console.log(execSync("cat f; echo hello").toString().trim()))'`, "xhello\n"},
		{"npm", 1, `printf '{"name":"x","version":"1.0.0","scripts":{"hello":"node -p 1+1"}}' > package.json && npm run --silent hello && npm install --offline --silent --no-audit --no-fund && npm pkg get name`, "2\n\"x\"\n"},
		{"python3", 1, `python3 -c 'import sqlite3, subprocess, tempfile, threading, json; tempfile.TemporaryFile().write(b"x"); print(subprocess.check_output(["echo","hello"]).decode().strip())'`, "hello\n"},
		{"python3", 2, `printf 'import multiprocessing as m\ndef f(x): return x*x\nif __name__ == "__main__":\n  with m.Pool(3) as p: print(sum(p.map(f, range(10))))\n' > m.py && python3 m.py`, "285\n"},
		{"java", 1, `printf 'public class Main { public static void main(String[] a) throws Exception { for (int i = 0; i < 60; i++) new Thread(() -> { try { Thread.sleep(300); } catch (Exception e) {} }).start(); System.out.println("hello"); } }' > Main.java && java Main.java`, "hello\n"},
		{"gcc", 1, `printf '#include <stdio.h>\nint main(void) { puts("hello"); return 0; }\n' > a.c && gcc -O1 a.c -o a && ./a`, "hello\n"},
		{"make", 1, `printf 'all: b c\n\t@cat b c\nb c:\n\t@echo $@ > $@\n' > Makefile && make -s -j2`, "b\nc\n"},
		{"tar", 1, `mkdir d && echo hello > d/f && tar czf d.tgz d && rm -r d && tar xzf d.tgz && cat d/f`, "hello\n"},
		{"sqlite3", 1, `sqlite3 x.db 'pragma journal_mode=wal; create table t(a); insert into t values(7); select a from t;'`, "wal\n7\n"},
		{"rustc", 1, `printf 'fn main() { println!("hello"); }\n' > a.rs && rustc a.rs && ./a`, "hello\n"},
	} {
		t.Run(tool.name, func(t *testing.T) {
			if tool.level > level() {
				t.Skip("at level 2 only")
			}
			if out, err := exec.Command("/bin/sh", "-c", "cd / && "+tool.name+" --version || "+tool.name+" version").CombinedOutput(); err != nil {
				t.Skipf("SKIPPED: %s is not installed here: %s", tool.name, out)
			}
			w := newFixture(t)
			c := w.shell(tool.script)
			c.Env = append(c.Env, "HOME="+home, "GOTOOLCHAIN=local", "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off", "CGO_ENABLED=0", "npm_config_update_notifier=false")
			if tool.name == "go" {
				c = withGoCache(t, c) // to build the standard library again takes a minute
			}
			c.Limits = Limits{Memory: 1 << 30, Processes: 50, FileSize: 100 << 20, CPU: 5 * time.Minute}
			if got := run(t, newBox(t, home), c); !got.ok() || !strings.HasSuffix(got.out, tool.want) {
				t.Errorf("%+v", got)
			}
		})
	}
}

func withGoCache(t *testing.T, c Command) Command {
	out, err := exec.Command("go", "env", "GOCACHE").Output()
	must(t, err)
	dir := filepath.Clean(strings.TrimSpace(string(out)))
	c.Rules.Write = append(c.Rules.Write, mcptest.Grant(dir))
	c.Env = append(c.Env, "GOCACHE="+dir)
	return c
}
