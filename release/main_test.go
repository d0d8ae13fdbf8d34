package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/multiollama/mcp-server/shared/mcptest"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// programs are the servers, built once as a release is but for the platform.
var programs = map[string]func(t testing.TB) string{
	"file-read":  mcptest.Released("file-read", "../file-read"),
	"file-write": mcptest.Released("file-write", "../file-write"),
	"shell-exec": mcptest.Released("shell-exec", "../shell-exec"),
}

// released is a server as scripts/release hands it to us.
func released(t *testing.T, name string) server {
	t.Helper()
	s := server{name: name, version: "v1.2.3", summary: "A server."}
	must(t, json.Unmarshal(ask(t, name, "describe"), &s.about))
	s.tools = ask(t, name, "tools", "--json")
	return s
}

func ask(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(programs[name](t), args...)
	cmd.Dir = t.TempDir()
	cmd.Env = []string{"HOME=" + cmd.Dir}
	out, err := cmd.Output()
	must(t, err)
	return out
}

// each runs a test for every server.
func each(t *testing.T, test func(t *testing.T, s server)) {
	for _, name := range slices.Sorted(maps.Keys(programs)) {
		t.Run(name, func(t *testing.T) { test(t, released(t, name)) })
	}
}

// needs skips a test where an outside program is not installed.
func needs(t *testing.T, program string) string {
	t.Helper()
	file, err := filepath.Abs(filepath.Join("node_modules", ".bin", program))
	must(t, err)
	if _, err := os.Stat(file); err != nil {
		if os.Getenv("INTEROP") == "required" {
			t.Fatalf("%s is not installed (scripts/npm-install release)", program)
		}
		t.Skipf("SKIPPED: %s is not installed (scripts/npm-install release)", program)
	}
	return file
}

var anyTime = time.Date(2026, 11, 28, 12, 0, 1, 0, time.UTC)

// bundle makes the bundle of file-read with a program for Linux that is this machine's.
func bundle(t *testing.T, file string, date time.Time) {
	t.Helper()
	dir := t.TempDir()
	content, err := os.ReadFile(programs["file-read"](t))
	must(t, err)
	must(t, os.MkdirAll(filepath.Join(dir, "server", "linux"), 0o700))
	must(t, os.WriteFile(filepath.Join(dir, "server", "linux", "file-read"), content, 0o755))
	m, err := released(t, "file-read").manifest()
	must(t, err)
	must(t, writeJSON(filepath.Join(dir, "manifest.json"), m))
	_, err = writeZip(file, os.DirFS(dir), date)
	must(t, err)
}

func TestTwoBundlesOfTheSameFilesAreTheSameBytes(t *testing.T) {
	one, two := filepath.Join(t.TempDir(), "one"), filepath.Join(t.TempDir(), "two")
	bundle(t, one, anyTime)
	bundle(t, two, anyTime.In(time.FixedZone("", 3600)))
	a, err := os.ReadFile(one)
	must(t, err)
	b, err := os.ReadFile(two)
	must(t, err)
	if !bytes.Equal(a, b) {
		t.Error("they differ")
	}
}

// The format's own code unpacks the bundle, checks the manifest and makes the command line from what a person picked,
// as a host does.
func TestAHostInstallsABundleAndStartsTheServer(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("SKIPPED: the bundle of this test has a program for Linux only")
	}
	needs(t, "mcpb")
	dir := t.TempDir()
	file, installed := filepath.Join(dir, "it.mcpb"), filepath.Join(dir, "installed")
	bundle(t, file, anyTime)
	allowed := []string{filepath.Join(dir, "one allowed"), filepath.Join(dir, "another")}
	for _, d := range allowed {
		must(t, os.Mkdir(d, 0o700))
	}
	node := exec.Command("node", "--input-type=module", "--eval", `
		import { readFileSync } from "node:fs";
		import { getMcpConfigForManifest, unpackExtension, validateManifest } from "@anthropic-ai/mcpb";
		const [bundle, dir, ...picked] = process.argv.slice(1);
		console.log = console.error;
		const file = dir + "/manifest.json";
		if (!await unpackExtension({ mcpbPath: bundle, outputDir: dir }) || !validateManifest(file)) process.exit(1);
		const config = await getMcpConfigForManifest({ manifest: JSON.parse(readFileSync(file, "utf8")), extensionPath: dir,
			systemDirs: {}, userConfig: { allowed_directories: picked }, pathSeparator: "/" });
		process.stdout.write(JSON.stringify([config.command, ...config.args]));`, "--", file, installed)
	node.Args = append(node.Args, allowed...)
	node.Stderr = t.Output()
	out, err := node.Output()
	must(t, err)
	var line []string
	must(t, json.Unmarshal(out, &line))
	if !slices.Equal(line[len(line)-2:], allowed) {
		t.Errorf("the command line is %q; the directories that were picked are not its last words", line)
	}

	client := mcptest.Options{Env: []string{"HOME=" + dir, "XDG_STATE_HOME=" + filepath.Join(dir, "state")}}.Start(t, line[0], line[1:]...)
	var offered, declared []string
	for _, tool := range client.Tools() {
		offered = append(offered, tool.Name)
	}
	raw, err := os.ReadFile(filepath.Join(installed, "manifest.json"))
	must(t, err)
	var m struct{ Tools []struct{ Name string } }
	must(t, json.Unmarshal(raw, &m))
	for _, tool := range m.Tools {
		declared = append(declared, tool.Name)
	}
	slices.Sort(offered)
	slices.Sort(declared)
	if len(declared) == 0 || !slices.Equal(declared, offered) {
		t.Errorf("the manifest declares %q, the server offers %q", declared, offered)
	}
}

func TestABundleOffersOnlyFlagsOfTheServer(t *testing.T) {
	_, err := server{name: "file-read", version: "v1.2.3", tools: json.RawMessage("[]")}.manifest()
	if err == nil || !strings.Contains(err.Error(), "deny-secrets") {
		t.Errorf("got %v", err)
	}
}

// asset is an address that the registry takes a bundle from.
var asset = regexp.MustCompile(`^https://github\.com/[a-zA-Z0-9-]+/[a-zA-Z0-9._-]*mcp[a-zA-Z0-9._-]*/releases/download/[^/]+/[^/]+$`)

func TestTheEntryObeysTheRegistrysSchemaAndRules(t *testing.T) {
	schema, err := registrySchema()
	must(t, err)
	each(t, func(t *testing.T, s server) {
		good := func() object { return s.entry("mcp-server-"+s.name+"-1.2.3.mcpb", strings.Repeat("0a", 32)) }
		must(t, validate(good(), schema))
		packages := func(e object) (mcpb, oci object) {
			all := e["packages"].([]any)
			return all[0].(object), all[1].(object)
		}
		mcpb, oci := packages(good()) // rules that the schema does not have
		if !asset.MatchString(mcpb["identifier"].(string)) {
			t.Errorf("the registry rejects %v", mcpb)
		}
		if oci["fileSha256"] != nil || !strings.HasSuffix(oci["identifier"].(string), ":1.2.3") {
			t.Errorf("the registry rejects %v", oci)
		}
		for what, spoil := range map[string]func(e, mcpb, oci object){
			"a name without a namespace": func(e, _, _ object) { e["name"] = s.name },
			"a long description":         func(e, _, _ object) { e["description"] = strings.Repeat("x", 101) },
			"a bad checksum":             func(_, mcpb, _ object) { mcpb["fileSha256"] = "zz" },
			"an unknown transport":       func(_, _, oci object) { oci["transport"] = object{"type": "carrier-pigeon"} },
		} {
			bad := good()
			mcpb, oci := packages(bad)
			spoil(bad, mcpb, oci)
			if validate(bad, schema) == nil {
				t.Errorf("%s is accepted", what)
			}
		}
	})
}

func TestManPageAndCompletionsAreReadByTheirPrograms(t *testing.T) {
	each(t, func(t *testing.T, s server) {
		for _, c := range []struct{ made, reader []string }{
			{nil, []string{"man", "--warnings", "--local-file"}},
			{[]string{"completion", "bash"}, []string{"bash", "-n"}},
			{[]string{"completion", "zsh"}, []string{"zsh", "-n"}},
			{[]string{"completion", "fish"}, []string{"fish", "--no-execute"}},
			{[]string{"completion", "powershell"}, nil},
		} {
			text := manual(s.about)
			if c.made != nil {
				text = ask(t, s.name, c.made...)
			}
			if !bytes.Contains(bytes.ReplaceAll(text, []byte(`\-`), []byte("-")), []byte(s.name)) {
				t.Errorf("%v does not name the server", c.made)
			}
			if c.reader == nil {
				continue
			}
			if _, err := exec.LookPath(c.reader[0]); err != nil {
				t.Logf("SKIPPED: %s is not installed", c.reader[0])
				continue
			}
			file := filepath.Join(t.TempDir(), s.name)
			must(t, os.WriteFile(file, text, 0o600))
			read := exec.Command(c.reader[0], append(c.reader[1:], file)...)
			read.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "MANPAGER=cat")
			var complaints bytes.Buffer
			read.Stderr = &complaints
			if err := read.Run(); err != nil || complaints.Len() > 0 {
				t.Errorf("%v: %v\n%s", read.Args, err, complaints.Bytes())
			}
		}
	})
}

// Nothing is run or fetched when an image is built, nothing in it runs as root, and the registry takes it for ours.
func TestAnImageHoldsTheProgramAndRunsAsNobody(t *testing.T) {
	for name := range programs {
		raw, err := os.ReadFile(filepath.Join("..", name, "Dockerfile"))
		must(t, err)
		text := regexp.MustCompile(`(?m)^#.*\n`).ReplaceAllString(string(raw), "")
		want := "FROM scratch\n"
		if name == "shell-exec" {
			want = "ARG BASE=scratch\nFROM ${BASE}\n"
		}
		want += `ARG TARGETARCH
ARG VERSION
LABEL io.modelcontextprotocol.server.name="io.github.multiollama/NAME" \
      org.opencontainers.image.title="NAME" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.source="https://github.com/multiollama/mcp-server" \
      org.opencontainers.image.licenses="MIT"
COPY linux/${TARGETARCH}/NAME /usr/bin/NAME
COPY --chown=65532:65532 state /state
ENV XDG_STATE_HOME=/state HOME=/state
USER 65532:65532
WORKDIR /work
ENTRYPOINT ["/usr/bin/NAME"]
`
		if diff := cmp.Diff(strings.ReplaceAll(want, "NAME", name), text); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
