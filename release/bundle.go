package main

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A bundle is a zip archive that a host installs by a double click. Its manifest is that
// of MCPB 0.3 (github.com/modelcontextprotocol/mcpb, MANIFEST.md).

type manifest struct {
	Version       string            `json:"manifest_version"`
	Name          string            `json:"name"`
	DisplayName   string            `json:"display_name"`
	Release       string            `json:"version"`
	Description   string            `json:"description"`
	Long          string            `json:"long_description"`
	Author        author            `json:"author"`
	Repository    source            `json:"repository"`
	Homepage      string            `json:"homepage"`
	Documentation string            `json:"documentation"`
	Support       string            `json:"support"`
	Server        bundled           `json:"server"`
	Tools         []tool            `json:"tools"`
	License       string            `json:"license"`
	Compatibility platforms         `json:"compatibility"`
	UserConfig    map[string]option `json:"user_config"`
}

type author struct {
	Name string `json:"name"`
	URL  string `json:"url"`
}

type source struct {
	Type string `json:"type"`
	URL  string `json:"url"`
}

type bundled struct {
	Type   string `json:"type"`
	Entry  string `json:"entry_point"`
	Config start  `json:"mcp_config"`
}

// start is how a host starts the server; what differs by system is its overrides.
type start struct {
	Command   string              `json:"command"`
	Args      []string            `json:"args"`
	Overrides map[string]override `json:"platform_overrides"`
}

type override struct {
	Command string `json:"command"`
}

type platforms struct {
	Platforms []string `json:"platforms"`
}

// option is something that a host asks a person before it starts the server.
type option struct {
	Type        string `json:"type"`
	Title       string `json:"title"`
	Description string `json:"description"`
	Multiple    bool   `json:"multiple,omitempty"`
	Required    bool   `json:"required"`
	Default     any    `json:"default,omitempty"`
}

const directories = "allowed_directories"

// manifestOf is the manifest of a bundle with these entries.
func manifestOf(s server, self about, entries map[string]string) (manifest, error) {
	m := manifest{
		Version: "0.3", Name: s.packageName(), DisplayName: self.Title + " (" + s.name + ")", Release: bare(self.Version),
		Description: s.summary, Long: self.Doc,
		Author:     author{authors, repository},
		Repository: source{"git", repository}, Homepage: repository, Support: repository + "/issues",
		Documentation: repository + "/blob/main/" + s.name + "/README.md",
		Tools:         self.tools, License: "MIT",
		UserConfig: map[string]option{directories: {
			Type: "directory", Title: "Directories", Multiple: true, Required: true,
			Description: "What the server may touch. Nothing outside of them can be reached.",
		}},
	}
	args := []string{"serve"}
	for _, name := range s.asks {
		key, o, err := optionOf(self, name)
		if err != nil {
			return m, err
		}
		m.UserConfig[key] = o
		args = append(args, "--"+name+"=${user_config."+key+"}")
	}
	m.Server = bundled{Type: "binary", Config: start{Args: append(args, "--", "${user_config."+directories+"}"), Overrides: map[string]override{}}}
	for _, system := range []string{"linux", "win32", "darwin"} { // a host without a row of its own starts the last one
		entry, ok := entries[system]
		if !ok {
			continue
		}
		m.Compatibility.Platforms = append(m.Compatibility.Platforms, system)
		m.Server.Entry, m.Server.Config.Command = entry, "${__dirname}/"+entry
		m.Server.Config.Overrides[system] = override{"${__dirname}/" + entry}
	}
	return m, nil
}

// optionOf is a setting of the program as a bundle asks for it. It has the program's own
// default, so that a person who changes nothing gets what the command line gives.
func optionOf(self about, name string) (key string, o option, err error) {
	s, err := self.setting(name)
	if err != nil {
		return "", option{}, err
	}
	title := strings.ReplaceAll(name, "-", " ")
	o = option{Type: "string", Title: strings.ToUpper(title[:1]) + title[1:], Description: s.Doc, Default: s.Default}
	if s.Shape == "" {
		o.Type, o.Default = "boolean", s.Default == "true"
	}
	if len(s.Choices) > 0 {
		o.Description += ": " + strings.Join(s.Choices, ", ")
	}
	return strings.ReplaceAll(name, "-", "_"), o, nil
}

// member is a file of a bundle.
type member struct {
	name    string
	mode    fs.FileMode
	content []byte
}

// launcher starts the program for this machine's processor, where a host cannot tell
// one Linux from the other.
const launcher = `#!/bin/sh
case $(uname -m) in
aarch64 | arm64) exec "${0%%/*}/%[1]s-arm64" "$@" ;;
*) exec "${0%%/*}/%[1]s-amd64" "$@" ;;
esac
`

// membersOf are the programs as they lie in a bundle, and what to start on each system.
// Windows on arm64 runs programs for amd64, and a universal program runs on every Mac.
func membersOf(s server, programs []binary) (members []member, entries map[string]string, err error) {
	entries = map[string]string{}
	add := func(system, file string, content []byte) {
		members = append(members, member{"server/" + system + "/" + file, 0o755, content})
	}
	for _, b := range programs {
		content, err := os.ReadFile(b.file)
		if err != nil {
			return nil, nil, err
		}
		switch b.goos + "/" + b.goarch {
		case "linux/amd64", "linux/arm64":
			add("linux", s.name+"-"+b.goarch, content)
			entries["linux"] = "server/linux/" + s.name
		case "windows/amd64":
			add("win32", s.name+".exe", content)
			entries["win32"] = "server/win32/" + s.name + ".exe"
		case "darwin/all":
			add("darwin", s.name, content)
			entries["darwin"] = "server/darwin/" + s.name
		}
	}
	if entries["linux"] != "" {
		add("linux", s.name, fmt.Appendf(nil, launcher, s.name))
	}
	return members, entries, nil
}

// writeBundle writes the bundle of a server with these programs; root is where its
// README and the licence lie. Two bundles of the same things are the same bytes.
func writeBundle(file string, s server, self about, programs []binary, root string, date time.Time) error {
	members, entries, err := membersOf(s, programs)
	if err != nil {
		return err
	}
	for name, from := range map[string]string{"README.md": s.name + "/README.md", "LICENSE": "LICENSE"} {
		content, err := os.ReadFile(filepath.Join(root, from))
		if err != nil {
			return err
		}
		members = append(members, member{name, 0o644, content})
	}
	m, err := manifestOf(s, self, entries)
	if err != nil {
		return err
	}
	content, err := indented(m)
	if err != nil {
		return err
	}
	members = append(members, member{"manifest.json", 0o644, content})
	slices.SortFunc(members, func(a, b member) int { return strings.Compare(a.name, b.name) })
	return writeZip(file, members, date)
}

func writeZip(file string, members []member, date time.Time) error {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestCompression) })
	for _, m := range members {
		h := &zip.FileHeader{Name: m.name, Method: zip.Deflate, Modified: date.UTC()}
		h.SetMode(m.mode)
		w, err := z.CreateHeader(h)
		if err != nil {
			return err
		}
		if _, err := w.Write(m.content); err != nil {
			return err
		}
	}
	if err := z.Close(); err != nil {
		return err
	}
	return os.WriteFile(file, b.Bytes(), 0o644)
}

// indented is v as JSON for people.
func indented(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return b.Bytes(), err
}

// checkBundle lets the format's own program judge the bundle: it has to unpack it, into
// dir, and to find the manifest in order. tools is the directory with its node_modules.
func checkBundle(ctx context.Context, tools, bundle, dir string) error {
	program := filepath.Join(tools, "node_modules", ".bin", "mcpb")
	for _, args := range [][]string{{"info", bundle}, {"unpack", bundle, dir}, {"validate", filepath.Join(dir, "manifest.json")}} {
		cmd := exec.CommandContext(ctx, program, args...)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("mcpb %s: %w\n%s", strings.Join(args, " "), err, out)
		}
	}
	return nil
}
