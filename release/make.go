package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// release is one run.
type release struct {
	wish
	log   io.Writer
	began time.Time
}

func (r *release) step(format string, args ...any) {
	fmt.Fprintf(r.log, "release: %3.0f s  %s\n", time.Since(r.began).Seconds(), fmt.Sprintf(format, args...))
}

// make makes everything in a tree of its own and puts what is released into out.
func (r *release) make(ctx context.Context, out, cache string) (*tree, error) {
	r.step("clone, tags and release commit")
	t, err := newTree(ctx, r.root, cache)
	if err != nil {
		return nil, err
	}
	if err := r.makeIn(ctx, t, out); err != nil {
		t.remove()
		return nil, err
	}
	return t, nil
}

func (r *release) makeIn(ctx context.Context, t *tree, out string) error {
	if err := t.commit(ctx, r.wish); err != nil {
		return err
	}
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	r.step("a program for this machine, its manual page and completions")
	program, err := r.build(ctx, t)
	if err != nil {
		return err
	}
	extra := filepath.Join(t.at(r.server.name), "extra")
	if err := writeExtra(ctx, program, r.server.name, extra); err != nil {
		return err
	}
	if err := copyFile(filepath.Join(t.dir, "LICENSE"), filepath.Join(extra, "LICENSE")); err != nil {
		return err
	}
	r.step("programs, archives and packages, by goreleaser")
	programs, err := r.goreleaser(ctx, t, out)
	if err != nil {
		return err
	}
	r.step("bills of materials, by cyclonedx-gomod")
	if err := r.listMaterials(ctx, t, programs, out); err != nil {
		return err
	}
	r.step("the bundle, the entry of the registry, what the image is built from, checksums")
	return r.finish(ctx, t, program, programs, out)
}

// build makes the program of this machine, as goreleaser will make it too.
func (r *release) build(ctx context.Context, t *tree) (string, error) {
	program := filepath.Join(t.work, r.server.name+exe)
	_, err := t.output(ctx, t.at(r.server.name), "go", "build", "-trimpath", "-buildvcs=true",
		"-ldflags", "-s -w -X main.version="+r.version, "-o", program, ".")
	return program, err
}

// writeExtra writes what a program says of itself: its manual page, also compressed as
// packages have it, and completions for shells.
func writeExtra(ctx context.Context, program, name, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for suffix, args := range map[string][]string{
		".1": {"man"}, ".bash": {"completion", "bash"}, ".zsh": {"completion", "zsh"},
		".fish": {"completion", "fish"}, ".ps1": {"completion", "powershell"},
	} {
		text, err := says(ctx, program, args...)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name+suffix), text, 0o644); err != nil {
			return err
		}
	}
	page, err := os.ReadFile(filepath.Join(dir, name+".1"))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, name+".1.gz"), compressed(page), 0o644)
}

// compressed is text as gzip -9n makes it: without a name or a time.
func compressed(text []byte) []byte {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err == nil {
		_, err = w.Write(text)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic(err) // memory takes what is written to it
	}
	return b.Bytes()
}

// binary is a program that was built, by where it runs.
type binary struct{ goos, goarch, file string }

// goreleaser runs it in the module of the server and copies what it made to out.
func (r *release) goreleaser(ctx context.Context, t *tree, out string) ([]binary, error) {
	program, err := goreleaser.install(ctx, r.log)
	if err != nil {
		return nil, err
	}
	dir := t.at(r.server.name)
	run := t.with("GORELEASER_CURRENT_TAG="+r.version,
		"SERVER="+r.server.name, "PACKAGE="+r.server.packageName(), "SUMMARY="+r.server.summary,
		"VERSION="+r.version, "EXTRA=extra")
	if _, err := run.output(ctx, dir, program, "release", "--clean",
		"--config", "../release/goreleaser.yaml", "--skip=publish,announce,validate"); err != nil {
		return nil, err
	}
	return collect(dir, out)
}

// artifact is a row of goreleaser's own list of what it made; a path that is not
// absolute is relative to where it ran.
type artifact struct {
	Name, Path, Type string
	Goos, Goarch     string
}

func collect(dir, out string) ([]binary, error) {
	raw, err := os.ReadFile(filepath.Join(dir, "..", "dist", "goreleaser", "artifacts.json"))
	if err != nil {
		return nil, err
	}
	var made []artifact
	if err := json.Unmarshal(raw, &made); err != nil {
		return nil, err
	}
	var programs []binary
	for _, a := range made {
		file := filepath.FromSlash(a.Path)
		if !filepath.IsAbs(file) {
			file = filepath.Join(dir, file)
		}
		switch a.Type {
		case "Binary":
			programs = append(programs, binary{a.Goos, a.Goarch, file})
		case "Archive", "Linux Package":
			if err := copyFile(file, filepath.Join(out, filepath.Base(a.Path))); err != nil {
				return nil, err
			}
		}
	}
	if len(programs) != 7 { // three systems by two processors, and the universal one
		return nil, fmt.Errorf("goreleaser made %d programs instead of 7:\n%s", len(programs), raw)
	}
	return programs, nil
}

func copyFile(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o644)
}

// finish makes what stands on the programs of all platforms.
func (r *release) finish(ctx context.Context, t *tree, program string, programs []binary, out string) error {
	self, err := ask(ctx, program)
	if err != nil {
		return err
	}
	date, err := t.date(ctx)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("%s-%s.mcpb", r.server.packageName(), bare(r.version))
	bundle := filepath.Join(out, name)
	if err := writeBundle(bundle, r.server, self, programs, t.dir, date); err != nil {
		return err
	}
	if err := checkBundle(ctx, filepath.Join(r.root, "release"), bundle, filepath.Join(t.work, "unpacked")); err != nil {
		return err
	}
	if err := writeEntry(ctx, filepath.Join(out, "server.json"), r.server, self, bundle); err != nil {
		return err
	}
	if err := writeContext(filepath.Join(out, "image"), r.server, programs, t.dir); err != nil {
		return err
	}
	return writeSums(out)
}
