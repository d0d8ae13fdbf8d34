// Command release writes the files of a release that no program of others makes: the bundle, a zip archive that hosts
// install (MCPB 0.3, github.com/modelcontextprotocol/mcpb, MANIFEST.md), the server's entry in the MCP registry, and
// with -man the man page. scripts/release calls it.
package main

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const repository = "https://github.com/multiollama/mcp-server"

// server is what is released.
type server struct {
	name    string
	version string // "v1.2.3"
	summary string // at most 100 characters, the limit of the MCP registry
	about   about
	tools   json.RawMessage // the output of tools --json
}

// about is what the program prints about itself (describe), so that nothing written about it can differ from it.
type about struct {
	Name     string `json:"name"`
	Title    string `json:"title"`
	Doc      string `json:"doc"`
	Version  string `json:"version"`
	Commands []struct {
		Use   string `json:"use"`
		Short string `json:"short"`
		Flags string `json:"flags"` // its own, as help prints them
	} `json:"commands"`
	Flags []struct {
		Name     string   `json:"name"`
		Shape    string   `json:"shape"`
		Doc      string   `json:"doc"`
		Default  string   `json:"default"`
		Choices  []string `json:"choices"`
		Variable string   `json:"variable"`
	} `json:"flags"`
}

// asked are the flags that a host offers to set when it installs the bundle, in addition to the directories.
var asked = map[string][]string{"file-read": {"deny-secrets"}, "file-write": {"deny-secrets"}, "shell-exec": {"preset", "network"}}

type object = map[string]any

func main() {
	log.SetFlags(0)
	log.SetPrefix("release: ")
	var s server
	flag.StringVar(&s.name, "server", "", "name of the server")
	flag.StringVar(&s.version, "version", "", "version, such as v1.2.3")
	flag.StringVar(&s.summary, "summary", "", "one sentence")
	aboutFile := flag.String("about", "", "file with the output of describe")
	man := flag.String("man", "", "file to write the man page to, and nothing else")
	toolsFile := flag.String("tools", "", "file with the output of tools --json")
	date := flag.String("date", "", "time of every file in the bundle (RFC 3339)")
	dir := flag.String("bundle", "", "directory with the bundle's files")
	out := flag.String("out", "", "directory to write to")
	flag.Parse()

	raw, err := os.ReadFile(*aboutFile)
	check(err)
	check(json.Unmarshal(raw, &s.about))
	if *man != "" {
		check(os.WriteFile(*man, manual(s.about), 0o644))
		return
	}
	when, err := time.Parse(time.RFC3339, *date)
	check(err)
	s.tools, err = os.ReadFile(*toolsFile)
	check(err)

	m, err := s.manifest()
	check(err)
	check(writeJSON(filepath.Join(*dir, "manifest.json"), m))
	file := fmt.Sprintf("mcp-server-%s-%s.mcpb", s.name, s.version[1:])
	sum, err := writeZip(filepath.Join(*out, file), os.DirFS(*dir), when)
	check(err)

	entry := s.entry(file, sum)
	schema, err := registrySchema()
	check(err)
	check(validate(entry, schema))
	check(writeJSON(filepath.Join(*out, "server.json"), entry))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// manifest is the bundle's manifest. A setting that a host offers has the program's own default, so whoever changes
// nothing gets the same as on the command line.
func (s server) manifest() (object, error) {
	var tools []struct {
		Name        string `json:"name"`
		Description string `json:"description"`
	}
	if err := json.Unmarshal(s.tools, &tools); err != nil {
		return nil, err
	}
	config := object{"allowed_directories": object{
		"type": "directory", "title": "Directories", "multiple": true, "required": true,
		"description": "What the server may touch. Nothing outside of them can be reached.",
	}}
	args := []string{"serve"}
	for _, name := range asked[s.name] {
		key := strings.ReplaceAll(name, "-", "_")
		for _, f := range s.about.Flags {
			if f.Name != name {
				continue
			}
			title := strings.ReplaceAll(name, "-", " ")
			option := object{"type": "string", "title": strings.ToUpper(title[:1]) + title[1:], "description": f.Doc, "required": false}
			if f.Default != "" {
				option["default"] = f.Default
			}
			if f.Shape == "" {
				option["type"], option["default"] = "boolean", f.Default == "true"
			}
			if len(f.Choices) > 0 {
				option["description"] = f.Doc + ": " + strings.Join(f.Choices, ", ")
			}
			config[key] = option
		}
		if config[key] == nil {
			return nil, fmt.Errorf("%s has no flag --%s", s.name, name)
		}
		args = append(args, "--"+name+"=${user_config."+key+"}")
	}
	program := "${__dirname}/server/%s/" + s.name
	darwin := fmt.Sprintf(program, "darwin") // also for hosts that know no overrides
	return object{
		"manifest_version": "0.3", "name": "mcp-server-" + s.name, "display_name": s.about.Title + " (" + s.name + ")", "version": s.version[1:],
		"description": s.summary, "long_description": s.about.Doc, "license": "MIT",
		"author":     object{"name": "The mcp-server authors", "url": repository},
		"repository": object{"type": "git", "url": repository}, "homepage": repository, "support": repository + "/issues",
		"documentation": repository + "/blob/main/" + s.name + "/README.md",
		"tools":         tools, "user_config": config,
		"compatibility": object{"platforms": []string{"linux", "win32", "darwin"}},
		"server": object{"type": "binary", "entry_point": "server/darwin/" + s.name, "mcp_config": object{
			"command": darwin, "args": append(args, "--", "${user_config.allowed_directories}"),
			"platform_overrides": object{
				"linux":  object{"command": fmt.Sprintf(program, "linux")},
				"win32":  object{"command": fmt.Sprintf(program, "win32") + ".exe"},
				"darwin": object{"command": darwin},
			},
		}},
	}, nil
}

// writeZip packs the files of a directory and returns the archive's SHA-256. The same files make the same bytes.
func writeZip(file string, dir fs.FS, date time.Time) (sum string, err error) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestCompression) })
	err = fs.WalkDir(dir, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		content, err := fs.ReadFile(dir, name)
		if err != nil {
			return err
		}
		h := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: date.UTC()}
		h.SetMode(info.Mode())
		w, err := z.CreateHeader(h)
		if err == nil {
			_, err = w.Write(content)
		}
		return err
	})
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		return "", err
	}
	hash := sha256.Sum256(b.Bytes())
	return hex.EncodeToString(hash[:]), os.WriteFile(file, b.Bytes(), 0o644)
}

// entry is what the MCP registry stores about the server. The version of both packages is part of the identifier; the
// registry refuses a second one for images.
func (s server) entry(bundle, sum string) object {
	mount := "type=bind,src={directory},dst=/work"
	if s.name == "file-read" {
		mount += ",readonly"
	}
	return object{
		"$schema": "https://static.modelcontextprotocol.io/schemas/" + schemaVersion + "/server.schema.json",
		"name":    "io.github.multiollama/" + s.name, "title": s.about.Title, "description": s.summary, "version": s.version[1:],
		"repository": object{"url": repository, "source": "github", "subfolder": s.name},
		"packages": []any{
			object{
				"registryType": "mcpb", "fileSha256": sum, "transport": object{"type": "stdio"},
				"identifier": repository + "/releases/download/" + s.name + "-" + s.version + "/" + bundle,
			},
			object{
				"registryType": "oci", "runtimeHint": "docker", "transport": object{"type": "stdio"},
				"identifier": "ghcr.io/multiollama/" + s.name + ":" + s.version[1:],
				"runtimeArguments": []any{object{
					"type": "named", "name": "--mount", "description": "The directory that the server may touch",
					"value": mount, "isRequired": true, "isRepeated": false,
					"variables": object{"directory": object{"description": "An absolute path of this machine", "format": "filepath", "isRequired": true}},
				}},
			},
		},
	}
}

// The schema is read from the registry's own module; the go command checks it against this checksum.
const (
	registryModule = "github.com/modelcontextprotocol/registry@v1.8.9"
	registrySum    = "h1:2pYB31q/uSezVbXu+D+Hr3HMimGFspgS1RTMljm1bVI="
	schemaVersion  = "2025-12-11"
)

// registrySchema compiles the registry's schema of entries.
func registrySchema() (*jsonschema.Schema, error) {
	cmd := exec.Command("go", "mod", "download", "-json", registryModule)
	cmd.Dir, cmd.Env = os.TempDir(), append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	out, err := cmd.Output()
	var module struct{ Dir, Sum, Error string }
	if decoded := json.Unmarshal(out, &module); err == nil {
		err = decoded
	}
	if err != nil || module.Sum != registrySum {
		return nil, fmt.Errorf("%s has the checksum %s: %w %s", registryModule, module.Sum, err, module.Error)
	}
	text, err := os.Open(filepath.Join(module.Dir, "internal", "validators", "schemas", schemaVersion+".json"))
	if err != nil {
		return nil, err
	}
	defer text.Close()
	schema, err := jsonschema.UnmarshalJSON(text)
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("server.schema.json", schema); err != nil {
		return nil, err
	}
	return c.Compile("server.schema.json")
}

// validate checks a value as its JSON against a schema.
func validate(v any, schema *jsonschema.Schema) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	decoded, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return err
	}
	return schema.Validate(decoded)
}

func writeJSON(file string, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return err
	}
	return os.WriteFile(file, b.Bytes(), 0o644)
}
