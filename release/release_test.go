package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/multiollama/mcp-server/shared/mcptest"
)

// built is the directory of the servers' programs, each built as a release is but for
// the platform.
var built string

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "release-test-")
	if err != nil {
		return complain(err)
	}
	defer os.RemoveAll(dir)
	built = dir
	for name := range servers {
		build := exec.Command("go", "build", "-o", filepath.Join(dir, name+exe), "-ldflags", "-X main.version=v1.2.3", ".")
		build.Dir = filepath.Join("..", name)
		if out, err := build.CombinedOutput(); err != nil {
			return complain(fmt.Errorf("build %s: %w\n%s", name, err, out))
		}
	}
	return m.Run()
}

func complain(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// each runs a test for every server.
func each(t *testing.T, test func(t *testing.T, s server, program string, self about)) {
	t.Helper()
	for name, s := range servers {
		t.Run(name, func(t *testing.T) {
			program := filepath.Join(built, name+exe)
			self, err := ask(t.Context(), program)
			must(t, err)
			test(t, s, program, self)
		})
	}
}

func TestWhatIsAskedForIsReadStrictly(t *testing.T) {
	for _, c := range []struct {
		line string
		want string // of the error; empty: none
	}{
		{"file-read v1.2.3", ""},
		{"file-read v1.2.3 --dry-run --twice", ""},
		{"--dry-run shell-exec v0.1.0-rc.1", ""},
		{"file-red v1.2.3", "no server file-red"},
		{"file-read 1.2.3", "no version"},
		{"file-read v1.2", "no version"},
		{"file-read v1.2.3+meta", "no version"},
		{"file-read v01.2.3", "no version"},
		{"file-read v2.0.0", "no version"},
		{"file-read", "help"},
		{"file-read v1.2.3 now", "help"},
		{"file-read v1.2.3 --push", "push"},
	} {
		_, err := parse(strings.Fields(c.line), io.Discard)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.line, err, c.want)
		}
	}
}

// hostPrograms are the programs of a bundle for this machine alone.
func hostPrograms(program string) []binary {
	return []binary{{runtime.GOOS, runtime.GOARCH, program}}
}

var anyTime = time.Date(2026, 11, 28, 12, 0, 1, 0, time.UTC)

// mcpb skips a test that needs the format's own program where it is not installed.
func mcpb(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("node_modules/.bin/mcpb"); err == nil {
		return
	}
	if os.Getenv("INTEROP") == "required" {
		t.Fatal("mcpb is not installed (scripts/npm-install release)")
	}
	t.Skip("SKIPPED: mcpb is not installed (scripts/npm-install release)")
}

func TestAHostInstallsABundleAndStartsTheServer(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("SKIPPED: the programs of a bundle for this system are made by goreleaser")
	}
	mcpb(t)
	s := servers["file-read"] // of the others a release judges the bundle that it makes
	program := filepath.Join(built, s.name+exe)
	self, err := ask(t.Context(), program)
	must(t, err)
	dir := t.TempDir()
	bundle, installed := filepath.Join(dir, "it.mcpb"), filepath.Join(dir, "installed")
	must(t, writeBundle(bundle, s, self, hostPrograms(program), "..", anyTime))
	allowed := []string{filepath.Join(dir, "one allowed"), filepath.Join(dir, "another")}
	for _, d := range allowed {
		must(t, os.Mkdir(d, 0o700))
	}
	line := install(t, bundle, installed, allowed)
	client := mcptest.Options{Env: []string{"HOME=" + dir, "XDG_STATE_HOME=" + filepath.Join(dir, "state")}}.Start(t, line[0], line[1:]...)
	var offered []string
	for _, tool := range client.Tools() {
		offered = append(offered, tool.Name)
	}
	told := namesOf(manifestIn(t, installed).Tools)
	slices.Sort(told)
	slices.Sort(offered)
	if len(told) == 0 || !slices.Equal(told, offered) {
		t.Errorf("the manifest tells of %q, the server offers %q", told, offered)
	}
	if !slices.Equal(line[len(line)-2:], allowed) {
		t.Errorf("the directories that were picked are not what the server may touch: %q", line)
	}
}

func TestABundleIsTheSameTwiceAndTheFormatsProgramTakesIt(t *testing.T) {
	mcpb(t)
	s, dir := servers["file-read"], t.TempDir()
	self, err := ask(t.Context(), filepath.Join(built, s.name+exe))
	must(t, err)
	program := filepath.Join(dir, "program")
	must(t, os.WriteFile(program, []byte("not looked at"), 0o600))
	one, two := filepath.Join(dir, "one.mcpb"), filepath.Join(dir, "two.mcpb")
	must(t, writeBundle(one, s, self, []binary{{"linux", "amd64", program}}, "..", anyTime))
	must(t, os.Chtimes(program, anyTime, anyTime))
	must(t, writeBundle(two, s, self, []binary{{"linux", "amd64", program}}, "..", anyTime.In(time.FixedZone("", 3600))))
	a, err := sumOf(one)
	must(t, err)
	b, err := sumOf(two)
	must(t, err)
	if a != b {
		t.Error("two bundles of the same things differ")
	}
	must(t, checkBundle(t.Context(), ".", one, filepath.Join(dir, "unpacked")))
}

func namesOf(tools []tool) []string {
	var names []string
	for _, t := range tools {
		names = append(names, t.Name)
	}
	return names
}

func manifestIn(t *testing.T, dir string) manifest {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	must(t, err)
	var m manifest
	must(t, json.Unmarshal(raw, &m))
	return m
}

// install unpacks a bundle as a host does, and is the command line that the host makes
// of it: the format's own code judges the manifest, and fills in what a person picked and
// defaults elsewhere.
func install(t *testing.T, bundle, dir string, allowed []string) []string {
	t.Helper()
	node := exec.Command("node", "--input-type=module", "--eval", `
		import { readFileSync } from "node:fs";
		import { getMcpConfigForManifest, unpackExtension, validateManifest } from "@anthropic-ai/mcpb";
		const [bundle, dir, ...picked] = process.argv.slice(1);
		console.log = console.error;
		const file = dir + "/manifest.json";
		if (!await unpackExtension({ mcpbPath: bundle, outputDir: dir }) || !validateManifest(file)) process.exit(1);
		const config = await getMcpConfigForManifest({ manifest: JSON.parse(readFileSync(file, "utf8")), extensionPath: dir,
			systemDirs: {}, userConfig: { allowed_directories: picked }, pathSeparator: "/" });
		process.stdout.write(JSON.stringify([config.command, ...config.args]));`, "--", bundle, dir)
	node.Args = append(node.Args, allowed...)
	var complaints bytes.Buffer
	node.Stderr = &complaints
	out, err := node.Output()
	if err != nil {
		t.Fatalf("node: %v\n%s", err, complaints.Bytes())
	}
	var line []string
	must(t, json.Unmarshal(out, &line))
	return line
}

func TestABundleHasAProgramForEverySystem(t *testing.T) {
	program := filepath.Join(t.TempDir(), "program")
	must(t, os.WriteFile(program, []byte("content"), 0o700))
	var programs []binary
	for _, platform := range []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "darwin/all", "windows/amd64", "windows/arm64"} {
		goos, goarch, _ := strings.Cut(platform, "/")
		programs = append(programs, binary{goos, goarch, program})
	}
	members, entries, err := membersOf(servers["file-read"], programs)
	must(t, err)
	var names []string
	for _, m := range members {
		names = append(names, m.name)
	}
	slices.Sort(names)
	want := []string{"server/darwin/file-read", "server/linux/file-read", "server/linux/file-read-amd64", "server/linux/file-read-arm64", "server/win32/file-read.exe"}
	if !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
	m, err := manifestOf(servers["file-read"], about{Version: "v1.2.3", Flags: []setting{{Name: "deny-secrets"}}}, entries)
	must(t, err)
	if got := m.Compatibility.Platforms; !slices.Equal(got, []string{"linux", "win32", "darwin"}) {
		t.Errorf("got platforms %q", got)
	}
	if got := m.Server.Config.Overrides["win32"].Command; got != "${__dirname}/server/win32/file-read.exe" {
		t.Errorf("Windows starts %s", got)
	}
}

func TestABundleAsksOnlyForWhatTheServerHas(t *testing.T) {
	if _, err := manifestOf(servers["file-read"], about{Name: "file-read", Version: "v1.2.3"}, nil); err == nil || !strings.Contains(err.Error(), "deny-secrets") {
		t.Errorf("got %v", err)
	}
}

// asset is an address that the registry takes a bundle from.
var asset = regexp.MustCompile(`^https://github\.com/[a-zA-Z0-9-]+/[a-zA-Z0-9._-]*mcp[a-zA-Z0-9._-]*/releases/download/[^/]+/[^/]+$`)

func TestTheEntryOfTheRegistryObeysItsSchemaAndItsRules(t *testing.T) {
	schema, err := registrySchema(t.Context())
	must(t, err)
	each(t, func(t *testing.T, s server, _ string, self about) {
		good := entryOf(s, self, "mcp-server-"+s.name+"-1.2.3.mcpb", strings.Repeat("0a", 32))
		raw, err := indented(good)
		must(t, err)
		must(t, checkEntry(raw, schema))
		for _, p := range good.Packages { // what the registry checks besides its schema
			if p.Type == "mcpb" && (p.SHA256 == "" || !asset.MatchString(p.Identifier)) {
				t.Errorf("the registry refuses %+v", p)
			}
			if p.Type == "oci" && (p.SHA256 != "" || !strings.HasSuffix(p.Identifier, ":1.2.3")) {
				t.Errorf("the registry refuses %+v", p)
			}
		}
		for what, spoil := range map[string]func(*entry){
			"a name without a namespace": func(e *entry) { e.Name = s.name },
			"a long description":         func(e *entry) { e.Description = strings.Repeat("x", 101) },
			"no version":                 func(e *entry) { e.Packages[0].Identifier, e.Packages[0].SHA256 = "", "zz" },
			"an unknown transport":       func(e *entry) { e.Packages[1].Transport.Type = "carrier-pigeon" },
		} {
			bad := good
			bad.Packages = slices.Clone(good.Packages)
			spoil(&bad)
			raw, err := indented(bad)
			must(t, err)
			if checkEntry(raw, schema) == nil {
				t.Errorf("%s is taken", what)
			}
		}
	})
}

func TestManualAndCompletionsAreReadByTheirPrograms(t *testing.T) {
	readers := map[string][]string{".1": {"man", "--warnings", "--local-file"}, ".bash": {"bash", "-n"}, ".zsh": {"zsh", "-n"}, ".fish": {"fish", "--no-execute"}, ".ps1": nil}
	each(t, func(t *testing.T, s server, program string, _ about) {
		dir := t.TempDir()
		must(t, writeExtra(t.Context(), program, s.name, dir))
		for suffix, line := range readers {
			file := filepath.Join(dir, s.name+suffix)
			if text, err := os.ReadFile(file); err != nil || !bytes.Contains(text, []byte(s.name)) && !bytes.Contains(text, []byte(strings.ReplaceAll(s.name, "-", `\-`))) {
				t.Errorf("%s does not name the server: %v", file, err)
			}
			if len(line) == 0 {
				continue
			}
			if _, err := exec.LookPath(line[0]); err != nil {
				t.Logf("SKIPPED: %s is not here", line[0])
				continue
			}
			read := exec.Command(line[0], append(line[1:], file)...)
			read.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "MANPAGER=cat")
			var complaints bytes.Buffer
			read.Stderr = &complaints
			if err := read.Run(); err != nil || complaints.Len() > 0 {
				t.Errorf("%v: %v\n%s", read.Args, err, complaints.Bytes())
			}
		}
	})
}

func TestAServerInstallsByItsVersionFromTagsAlone(t *testing.T) {
	w := wish{server: servers["file-read"], version: "v1.9.9", dry: true}
	tree := released(t, w)
	must(t, tree.proveInstall(t.Context(), w))
	module, err := os.ReadFile(filepath.Join(tree.at("file-read"), "go.mod"))
	must(t, err)
	if bytes.Contains(module, []byte("replace")) || !bytes.Contains(module, []byte(modules+"shared v1.9.9")) {
		t.Errorf("the module that is released still is:\n%s", module)
	}
	one, other := head(t, tree), head(t, released(t, w))
	if one == "" || one != other {
		t.Errorf("two releases of one commit are the commits %s and %s", one, other)
	}
}

// released is a tree with the release commit of this repository.
func released(t *testing.T, w wish) *tree {
	t.Helper()
	root, err := filepath.Abs("..")
	must(t, err)
	tree, err := newTree(t.Context(), root, "", io.Discard)
	must(t, err)
	t.Cleanup(tree.remove)
	must(t, tree.commit(t.Context(), w))
	return tree
}

func head(t *testing.T, tree *tree) string {
	t.Helper()
	hash, err := tree.output(t.Context(), tree.dir, "git", "rev-parse", "HEAD")
	must(t, err)
	return strings.TrimSpace(hash)
}

func TestGoreleaserTakesItsConfiguration(t *testing.T) {
	dir, err := toolsDir()
	must(t, err)
	program := filepath.Join(dir, "goreleaser-"+toolVersions[0].version, "goreleaser"+exe)
	if _, err := os.Stat(program); err != nil {
		t.Skip("SKIPPED: goreleaser is not built yet, which takes minutes (scripts/release builds it)")
	}
	out, err := exec.Command(program, "check", "goreleaser.yaml").CombinedOutput()
	if err != nil || bytes.Contains(out, []byte("DEPRECATED")) {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestFilesThatDifferAreFound(t *testing.T) {
	one, other := t.TempDir(), t.TempDir()
	if difference(one, other) == nil {
		t.Error("two runs that made nothing are taken for equal")
	}
	for _, dir := range []string{one, other} {
		must(t, os.Mkdir(filepath.Join(dir, "d"), 0o700))
		must(t, os.WriteFile(filepath.Join(dir, "d", "f"), []byte("x"), 0o600))
	}
	must(t, difference(one, other))
	must(t, os.WriteFile(filepath.Join(other, "d", "f"), []byte("y"), 0o600))
	if err := difference(one, other); err == nil || !strings.Contains(err.Error(), "d/f") {
		t.Errorf("got %v", err)
	}
	must(t, os.WriteFile(filepath.Join(other, "more"), nil, 0o600))
	if difference(one, other) == nil {
		t.Error("a file that only one has is not seen")
	}
}

// repo is a repository with one commit on main, and an origin that has it.
func repo(t *testing.T) string {
	t.Helper()
	root, dir := t.TempDir(), ""
	dir = filepath.Join(root, "mine")
	origin := filepath.Join(root, "origin")
	git := func(in string, args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgSign=false"}, args...)...)
		cmd.Dir = in
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	git(root, "init", "--quiet", "--initial-branch=main", origin)
	must(t, os.WriteFile(filepath.Join(origin, "f"), []byte("x"), 0o600))
	git(origin, "add", "f")
	git(origin, "commit", "--quiet", "-m", "First")
	git(root, "clone", "--quiet", origin, dir)
	return dir
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
			commit := exec.Command("git", "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "--quiet", "--allow-empty", "-m", "Second")
			commit.Dir = dir
			must(t, commit.Run())
		}, false, "only a commit of origin's main"},
		{"no token", func(*testing.T, string) {}, false, "GITHUB_TOKEN"},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Setenv("GITHUB_TOKEN", "")
			dir := repo(t)
			c.spoil(t, dir)
			r := &release{wish: wish{root: dir, dry: c.dry}, log: io.Discard}
			err := r.mayPublish(context.Background())
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
