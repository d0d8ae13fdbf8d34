package main

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// git runs it in a directory and is what it prints.
func git(t *testing.T, in string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgSign=false"}, args...)...)
	cmd.Dir = in
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// repo is a repository with one commit on main, and an origin that has it.
func repo(t *testing.T) (dir, origin string) {
	t.Helper()
	root := t.TempDir()
	dir, origin = filepath.Join(root, "mine"), filepath.Join(root, "origin")
	git(t, root, "init", "--quiet", "--initial-branch=main", origin)
	must(t, os.WriteFile(filepath.Join(origin, "f"), []byte("x"), 0o600))
	git(t, origin, "add", "f")
	git(t, origin, "commit", "--quiet", "-m", "First")
	git(t, root, "clone", "--quiet", origin, dir)
	return dir, origin
}

func TestOnlyACleanCommitOfOriginsMainIsPublished(t *testing.T) {
	change := func(t *testing.T, dir string) { must(t, os.WriteFile(filepath.Join(dir, "f"), []byte("y"), 0o600)) }
	for _, c := range []struct {
		what  string
		spoil func(t *testing.T, dir string)
		dry   bool
		want  string
	}{
		{"a change that is not committed", change, false, "commit or put away"},
		{"the same in a dry run", change, true, ""},
		{"a commit that origin has not", func(t *testing.T, dir string) {
			git(t, dir, "commit", "--quiet", "--allow-empty", "-m", "Second")
		}, false, "only a commit of origin's main"},
		{"no token", func(*testing.T, string) {}, false, "GITHUB_TOKEN"},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Setenv("GITHUB_TOKEN", "")
			dir, _ := repo(t)
			c.spoil(t, dir)
			r := &release{wish: wish{root: dir, dry: c.dry}, log: io.Discard}
			err := r.mayPublish(context.Background())
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestTheTagsOfTheOriginAreKnownToARelease(t *testing.T) {
	t.Setenv("GITHUB_TOKEN", "")
	dir, origin := repo(t)
	git(t, origin, "tag", "shared/v1.2.3")
	r := &release{wish: wish{root: dir}, log: io.Discard}
	if err := r.mayPublish(t.Context()); err == nil || !strings.Contains(err.Error(), "GITHUB_TOKEN") {
		t.Errorf("got %v", err)
	}
	if got := git(t, dir, "tag", "--list"); got != "shared/v1.2.3\n" {
		t.Errorf("the tags are %q", got)
	}
}

// made is a release whose files are made, of a repository whose origin is ours by its name,
// and a gh that writes what it is told to a file.
func made(t *testing.T) (publish func() error, origin, out, told string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED: what stands for gh is a shell script")
	}
	dir, origin := repo(t)
	git(t, dir, "remote", "set-url", "origin", repository)
	for name, value := range map[string]string{"COUNT": "1", "KEY_0": "url." + origin + ".insteadOf", "VALUE_0": repository} {
		t.Setenv("GIT_CONFIG_"+name, value)
	}
	gh := filepath.Join(t.TempDir(), "gh")
	must(t, os.WriteFile(gh, []byte("#!/bin/sh\nprintf '%s\\n' \"$@\" >\"$0.told\"\n"), 0o700))
	t.Setenv("PATH", filepath.Dir(gh)+string(os.PathListSeparator)+os.Getenv("PATH"))
	out = t.TempDir()
	must(t, os.Mkdir(filepath.Join(out, "image"), 0o700))
	for _, name := range []string{"SHA256SUMS", "image/Dockerfile"} {
		must(t, os.WriteFile(filepath.Join(out, name), nil, 0o600))
	}
	tree, err := newTree(t.Context(), dir, "")
	must(t, err)
	t.Cleanup(tree.remove)
	for _, tag := range []string{"shared/v1.2.3", "file-read/v1.2.3", "file-read-v1.2.3"} {
		git(t, tree.dir, "tag", tag)
	}
	r := &release{wish: wish{server: servers["file-read"], version: "v1.2.3", root: dir}, log: io.Discard}
	return func() error { return r.publish(t.Context(), tree, out) }, origin, out, gh + ".told"
}

func TestTagsArePushedToTheOriginAndFilesToItsRelease(t *testing.T) {
	publish, origin, out, told := made(t)
	must(t, publish())
	if got := git(t, origin, "tag", "--list"); got != "file-read-v1.2.3\nfile-read/v1.2.3\nshared/v1.2.3\n" {
		t.Errorf("origin has the tags %q", got)
	}
	raw, err := os.ReadFile(told)
	must(t, err)
	words := strings.Split(strings.TrimSpace(string(raw)), "\n")
	if !slices.Contains(words, "file-read-v1.2.3") || words[len(words)-1] != filepath.Join(out, "SHA256SUMS") {
		t.Errorf("gh was told %q", words)
	}
}

func TestWhereOneTagIsRefusedNoneIsPublished(t *testing.T) {
	publish, origin, _, told := made(t)
	git(t, origin, "commit", "--quiet", "--allow-empty", "-m", "Second")
	git(t, origin, "tag", "shared/v1.2.3")
	if publish() == nil {
		t.Error("another shared under the same version is taken")
	}
	if got := git(t, origin, "tag", "--list"); got != "shared/v1.2.3\n" {
		t.Errorf("origin has the tags %q", got)
	}
	if _, err := os.Stat(told); err == nil {
		t.Error("gh was called")
	}
}
