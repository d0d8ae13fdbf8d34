package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// again makes the release a second time, in another directory and from an empty cache of
// builds, and compares.
func (r *release) again(ctx context.Context, out string) error {
	r.step("once more, elsewhere and with nothing built yet")
	dir, err := os.MkdirTemp("", "release-again-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	other := filepath.Join(dir, "out")
	t, err := r.make(ctx, other, filepath.Join(dir, "built"))
	if err != nil {
		return err
	}
	defer t.remove()
	if err := difference(out, other); err != nil {
		return err
	}
	r.step("both runs made the same bytes")
	return nil
}

// summary tells what there is.
func (r *release) summary(out string) error {
	names, err := filesOf(out)
	if err != nil {
		return err
	}
	r.step("%s %s lies in %s:", r.server.name, r.version, out)
	for _, name := range names {
		info, err := os.Stat(filepath.Join(out, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(r.log, "%12d  %s\n", info.Size(), name)
	}
	return nil
}

// outside runs programs as whoever makes the release does: in a tree our repository is
// its clone, and what is pushed there arrives nowhere.
func outside() *tree { return &tree{env: os.Environ()} }

// mayPublish refuses, before anything is made, what must not be published.
func (r *release) mayPublish(ctx context.Context) error {
	changed, err := outside().output(ctx, r.root, "git", "status", "--porcelain", "--untracked-files=no")
	if err != nil {
		return err
	}
	if changed != "" {
		fmt.Fprint(r.log, "release: what is not committed is not released:\n"+changed)
	}
	if r.dry {
		return nil
	}
	if changed != "" {
		return errors.New("commit or put away these changes, or make a --dry-run")
	}
	for _, line := range [][]string{
		{"fetch", "--quiet", "--tags", "origin", "main"}, // the tag of shared may be known there
		{"merge-base", "--is-ancestor", "HEAD", "FETCH_HEAD"},
	} {
		if _, err := outside().output(ctx, r.root, "git", line...); err != nil {
			return fmt.Errorf("only a commit of origin's main can be published: %w", err)
		}
	}
	if os.Getenv("GITHUB_TOKEN") == "" {
		return errors.New("GITHUB_TOKEN is not set: it needs the right to write contents of " + repository)
	}
	if _, err := exec.LookPath("gh"); err != nil {
		return errors.New("gh, which makes the release at GitHub, is not here")
	}
	return nil
}

// publish pushes the tags, all or none, and makes the release at GitHub with all its files;
// in a dry run it only says so.
func (r *release) publish(ctx context.Context, t *tree, out string) error {
	page := r.server.page(r.version)
	names, err := filesOf(out)
	if err != nil {
		return err
	}
	origin, err := outside().output(ctx, r.root, "git", "config", "--get", "remote.origin.url")
	if err != nil {
		origin = repository
	}
	lines := [][]string{
		{"git", "push", "--atomic", strings.TrimSpace(origin), "refs/tags/shared/" + r.version, "refs/tags/" + r.server.tag(r.version), "refs/tags/" + page},
		{"gh", "release", "create", page, "--repo", repository, "--verify-tag", "--title", r.server.name + " " + r.version,
			"--notes", "See CHANGELOG.md. " + r.server.summary},
	}
	for _, name := range names {
		if !strings.Contains(name, "/") {
			lines[1] = append(lines[1], filepath.Join(out, name))
		}
	}
	for _, line := range lines {
		if r.dry {
			fmt.Fprintln(r.log, "would run:", strings.Join(line, " "))
			continue
		}
		if _, err := outside().output(ctx, t.dir, line[0], line[1:]...); err != nil {
			return err
		}
	}
	fmt.Fprint(r.log, r.afterwards(out))
	return nil
}

// afterwards is what remains for a person, who has the rights for it.
func (r *release) afterwards(out string) string {
	return fmt.Sprintf(`then, by hand (docs/releasing.md):
  docker buildx build --platform linux/amd64,linux/arm64 --provenance=false --push \
    --build-arg BASE=%s --build-arg VERSION=%s --tag %s %s
  mcp-publisher publish %s
`, r.server.base, bare(r.version), r.server.image(r.version), filepath.Join(out, "image"), filepath.Join(out, "server.json"))
}
