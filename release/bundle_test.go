package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/multiollama/mcp-server/shared/mcptest"
)

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
