package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// checkout is a clone of this repository whose origin is a clone too, under the project's address. Programs that take
// minutes or publish are scripts: goreleaser copies one program for every platform, cyclonedx-gomod writes an empty
// list, gh writes its arguments to a file.
type checkout struct {
	dir, origin, told string
	env               []string
}

func newCheckout(t *testing.T) *checkout {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED: scripts/release is a shell script")
	}
	needs(t, "mcpb")
	root := t.TempDir()
	c := &checkout{dir: filepath.Join(root, "mine"), origin: filepath.Join(root, "origin"), told: filepath.Join(root, "told")}
	bin, cache := filepath.Join(root, "bin"), filepath.Join(root, "cache")
	c.env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "XDG_CACHE_HOME="+cache, "GOCACHE="+goenv(t, "GOCACHE"),
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=url."+c.origin+".insteadOf", "GIT_CONFIG_VALUE_0="+repository, "GITHUB_TOKEN=")
	for file, script := range map[string]string{
		filepath.Join(bin, "gh"): `printf '%s\n' "$@" >` + c.told,
		filepath.Join(cache, "mcp-server-release", "cyclonedx-gomod-v1.10.0", "cyclonedx-gomod"): `while [ "$1" != -output ]; do shift; done; echo "{}" >"$2"`,
		filepath.Join(cache, "mcp-server-release", "goreleaser-v2.15.1", "goreleaser"): `
			mkdir -p ../dist/goreleaser && cd ../dist/goreleaser
			for platform in linux_amd64 linux_arm64 windows_amd64 universal_darwin_all; do
				dir=${platform#program_}; [ "$platform" = universal_darwin_all ] || dir=program_$platform
				mkdir $dir && echo "$SERVER $VERSION" >$dir/$SERVER
			done
			mv program_windows_amd64/$SERVER program_windows_amd64/$SERVER.exe
			touch it.tar.gz it.zip it.deb it.rpm it.apk`,
	} {
		must(t, os.MkdirAll(filepath.Dir(file), 0o755))
		must(t, os.WriteFile(file, []byte("#!/bin/sh\nset -eu\n"+script+"\n"), 0o755))
	}
	here, err := filepath.Abs("..")
	must(t, err)
	c.git(t, root, "clone", "--quiet", here, c.origin)
	c.git(t, c.origin, "checkout", "--quiet", "-B", "main")
	c.git(t, root, "clone", "--quiet", repository, c.dir)
	must(t, os.Symlink(filepath.Join(here, "release", "node_modules"), filepath.Join(c.dir, "release", "node_modules")))
	return c
}

func goenv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.Command("go", "env", name).Output()
	must(t, err)
	return strings.TrimSpace(string(out))
}

func (c *checkout) git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgSign=false"}, args...)...)
	cmd.Dir, cmd.Env = dir, c.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func (c *checkout) release(args ...string) (output string, err error) {
	cmd := exec.Command(filepath.Join(c.dir, "scripts", "release"), args...)
	cmd.Env = c.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestTheScriptRejectsWhatItCannotRelease(t *testing.T) {
	c := newCheckout(t)
	for _, line := range []struct{ args, want string }{
		{"file-red v1.2.3", "no server file-red"},
		{"file-read 1.2.3", "not a version"},
		{"file-read v1.2", "not a version"},
		{"file-read v1.2.3+meta", "not a version"},
		{"file-read v01.2.3", "not a version"},
		{"file-read v2.0.0", "not a version"},
		{"file-read", "usage"},
		{"file-read v1.2.3 now", "usage"},
		{"file-read v1.2.3 --push", "usage"},
		{"file-read v1.2.3", "GITHUB_TOKEN"},
	} {
		if out, err := c.release(strings.Fields(line.args)...); err == nil || !strings.Contains(out, line.want) {
			t.Errorf("%s: got %v %s, want %q", line.args, err, out, line.want)
		}
	}
	c.git(t, c.dir, "commit", "--quiet", "--allow-empty", "-m", "Second")
	if out, err := c.release("file-read", "v1.2.3"); err == nil || !strings.Contains(out, "only a commit of origin's main") {
		t.Errorf("a commit that origin does not have: got %v %s", err, out)
	}
	must(t, os.WriteFile(filepath.Join(c.dir, "LICENSE"), nil, 0o600))
	if out, err := c.release("file-read", "v1.2.3"); err == nil || !strings.Contains(out, "commit or stash") {
		t.Errorf("a change that is not committed: got %v %s", err, out)
	}
}

func TestAReleaseIsMadeAndPublished(t *testing.T) {
	c := newCheckout(t)
	c.env = append(c.env, "GITHUB_TOKEN=x")
	if out, err := c.release("file-read", "v1.9.9"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if got := c.git(t, c.origin, "tag", "--list"); got != "file-read-v1.9.9\nfile-read/v1.9.9\nshared/v1.9.9\n" {
		t.Errorf("origin has the tags %q", got)
	}
	module := c.git(t, c.origin, "show", "file-read/v1.9.9:file-read/go.mod")
	if strings.Contains(module, "replace") || !strings.Contains(module, "github.com/multiollama/mcp-server/shared v1.9.9") {
		t.Errorf("the released module is still:\n%s", module)
	}
	out := filepath.Join(c.dir, "dist", "release", "file-read", "v1.9.9")
	check := exec.Command("sha256sum", "--check", "--strict", "SHA256SUMS")
	check.Dir, check.Stderr = out, t.Output()
	must(t, check.Run())
	raw, err := os.ReadFile(c.told)
	must(t, err)
	for _, name := range []string{"SHA256SUMS", "it.tar.gz", "it.deb", "file-read_1.9.9_linux_arm64.cdx.json", "mcp-server-file-read-1.9.9.mcpb", "server.json"} {
		if !strings.Contains(string(raw), filepath.Join(out, name)+"\n") {
			t.Errorf("gh publishes no %s:\n%s", name, raw)
		}
	}
	for _, name := range []string{"Dockerfile", "linux/arm64/file-read", "linux/amd64/file-read", "state"} {
		if _, err := os.Stat(filepath.Join(out, "image", name)); err != nil {
			t.Error(err)
		}
	}

	// Another release from a main whose shared/ is not that of the tag.
	must(t, os.WriteFile(filepath.Join(c.dir, "shared", "new.txt"), nil, 0o600))
	c.git(t, c.dir, "add", "shared/new.txt")
	c.git(t, c.dir, "commit", "--quiet", "-m", "Second")
	c.git(t, c.origin, "checkout", "--quiet", "--detach")
	c.git(t, c.dir, "push", "--quiet", "origin", "HEAD:main")
	must(t, os.Remove(c.told))
	if out, err := c.release("file-write", "v1.9.9"); err == nil || !strings.Contains(out, "shared/ has changed since shared/v1.9.9") {
		t.Errorf("another shared under the same version: got %v %s", err, out)
	}
	if _, err := os.Stat(c.told); err == nil {
		t.Error("gh was called")
	}
}

func TestGoreleaserTakesItsConfiguration(t *testing.T) {
	cache, err := os.UserCacheDir()
	must(t, err)
	program := filepath.Join(cache, "mcp-server-release", "goreleaser-v2.15.1", "goreleaser")
	if _, err := os.Stat(program); err != nil {
		t.Skip("SKIPPED: goreleaser is not built yet, which takes minutes (scripts/release builds it)")
	}
	out, err := exec.Command(program, "check", "goreleaser.yaml").CombinedOutput()
	if err != nil || strings.Contains(string(out), "DEPRECATED") {
		t.Errorf("%v\n%s", err, out)
	}
}
