package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// tree is a scratch clone in which a release is made. Its modules have versions that
// exist nowhere else yet, so they are kept in a module cache of its own.
type tree struct {
	work string // what is removed in the end
	dir  string // the clone
	env  []string
}

// newTree clones the last commit of root. cache is where the go command keeps what it
// built; empty: where it usually does.
func newTree(ctx context.Context, root, cache string) (*tree, error) {
	work, err := os.MkdirTemp("", "release-")
	if err != nil {
		return nil, err
	}
	t := &tree{work: work, dir: filepath.Join(work, "src"), env: os.Environ()}
	if err = t.clone(ctx, root); err == nil {
		err = t.isolate(ctx, cache)
	}
	if err != nil {
		t.remove()
		return nil, err
	}
	return t, nil
}

func (t *tree) clone(ctx context.Context, root string) error {
	if _, err := t.output(ctx, root, "git", "clone", "--quiet", "--shared", root, t.dir); err != nil {
		return err
	}
	// goreleaser packs only files of the module; git must not take them for changes.
	return os.WriteFile(filepath.Join(t.dir, ".git", "info", "exclude"), []byte("extra/\n"), 0o600)
}

func (t *tree) remove() { _ = os.RemoveAll(t.work) } // a scratch directory that stays is no failure

// isolate makes the go command take our modules from the tags of the clone, and all
// others from where it usually does or from what is downloaded already.
func (t *tree) isolate(ctx context.Context, cache string) error {
	words, err := t.output(ctx, t.dir, "go", "env", "GOPROXY", "GOMODCACHE")
	if err != nil {
		return err
	}
	proxy, downloaded, _ := strings.Cut(strings.TrimSpace(words), "\n")
	t.env = append(t.env,
		"GOWORK=off", "CGO_ENABLED=0", "GOTOOLCHAIN=local", "GOFLAGS=-modcacherw",
		"GOMODCACHE="+filepath.Join(t.work, "modules"),
		"GOPROXY=file://"+filepath.ToSlash(filepath.Join(downloaded, "cache", "download"))+","+proxy,
		"GONOPROXY="+modules+"*", "GONOSUMDB="+modules+"*",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=url."+t.dir+".insteadOf", "GIT_CONFIG_VALUE_0="+repository)
	if cache != "" {
		t.env = append(t.env, "GOCACHE="+cache)
	}
	return nil
}

// with is the tree with more in its environment.
func (t *tree) with(env ...string) *tree {
	return &tree{work: t.work, dir: t.dir, env: slices.Concat(t.env, env)}
}

// at is the directory of a module of the clone.
func (t *tree) at(module string) string { return filepath.Join(t.dir, module) }

// commit makes the commit that is released: the server requires a version of shared
// that others can get, instead of the directory next to it. Its hash depends on nothing
// but the commit before and the version.
func (t *tree) commit(ctx context.Context, w wish) error {
	if err := t.tagShared(ctx, w.version); err != nil {
		return err
	}
	shared, dir := modules+"shared", t.at(w.server.name)
	date, err := t.date(ctx)
	if err != nil {
		return err
	}
	who := []string{"NAME=" + authors, "EMAIL=multiollama@users.noreply.github.com", "DATE=" + date.Format(time.RFC3339)}
	for _, word := range who {
		t.env = append(t.env, "GIT_AUTHOR_"+word, "GIT_COMMITTER_"+word)
	}
	for _, line := range [][]string{
		{"go", "mod", "edit", "-dropreplace=" + shared, "-require=" + shared + "@" + w.version},
		{"go", "mod", "tidy"},
		{"git", "-c", "commit.gpgSign=false", "-c", "core.hooksPath=" + os.DevNull,
			"commit", "--quiet", "-m", "Release " + w.server.name + " " + w.version, "--", "go.mod", "go.sum"},
		{"git", "-c", "tag.gpgSign=false", "tag", w.server.tag(w.version)},
		{"git", "-c", "tag.gpgSign=false", "tag", w.server.page(w.version)},
	} {
		if _, err := t.output(ctx, dir, line[0], line[1:]...); err != nil {
			return err
		}
	}
	return t.mustBeClean(ctx)
}

// tagShared names the version of shared that the server needs, unless it is named
// already and nothing of it has changed since.
func (t *tree) tagShared(ctx context.Context, version string) error {
	tag := "shared/" + version
	known, err := t.output(ctx, t.dir, "git", "tag", "--list", tag)
	if err != nil {
		return err
	}
	if strings.TrimSpace(known) == "" {
		_, err = t.output(ctx, t.dir, "git", "-c", "tag.gpgSign=false", "tag", tag)
		return err
	}
	changed, err := t.output(ctx, t.dir, "git", "diff", "--name-only", tag, "HEAD", "--", "shared")
	if err == nil && changed != "" {
		err = fmt.Errorf("shared/ has changed since %s; release with a version that is new for both", tag)
	}
	return err
}

// date is that of the last commit.
func (t *tree) date(ctx context.Context) (time.Time, error) {
	word, err := t.output(ctx, t.dir, "git", "show", "-s", "--format=%cI", "HEAD")
	if err != nil {
		return time.Time{}, err
	}
	date, err := time.Parse(time.RFC3339, strings.TrimSpace(word))
	return date.UTC(), err
}

func (t *tree) mustBeClean(ctx context.Context) error {
	left, err := t.output(ctx, t.dir, "git", "status", "--porcelain")
	if err == nil && left != "" {
		err = fmt.Errorf("the release commit leaves files behind:\n%s", left)
	}
	return err
}

// output runs a program in the environment of the tree and is what it prints.
func (t *tree) output(ctx context.Context, dir, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env = dir, t.env
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s%s", strings.Join(cmd.Args, " "), err, out.String(), complaints.String())
	}
	return out.String(), nil
}
