package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// entry is what the MCP registry keeps of a server.
type entry struct {
	Schema      string `json:"$schema"`
	Name        string `json:"name"`
	Title       string `json:"title"`
	Description string `json:"description"`
	Repository  place  `json:"repository"`
	Version     string `json:"version"`
	Packages    []pack `json:"packages"`
}

type place struct {
	URL       string `json:"url"`
	Source    string `json:"source"`
	Subfolder string `json:"subfolder"`
}

// pack is one way to get and start it. The version of both kinds is in the identifier;
// the registry refuses a second one for images.
type pack struct {
	Type       string     `json:"registryType"`
	Identifier string     `json:"identifier"`
	SHA256     string     `json:"fileSha256,omitempty"`
	Hint       string     `json:"runtimeHint,omitempty"`
	Transport  transport  `json:"transport"`
	Runtime    []argument `json:"runtimeArguments,omitempty"`
}

type transport struct {
	Type string `json:"type"`
}

type argument struct {
	Type        string           `json:"type"`
	Name        string           `json:"name"`
	Description string           `json:"description"`
	Value       string           `json:"value"`
	Required    bool             `json:"isRequired"`
	Repeated    bool             `json:"isRepeated"`
	Variables   map[string]input `json:"variables"`
}

type input struct {
	Description string `json:"description"`
	Format      string `json:"format"`
	Required    bool   `json:"isRequired"`
}

// entryOf is the entry of a server whose bundle has this checksum.
func entryOf(s server, self about, bundle, sum string) entry {
	access := ",readonly"
	if s.name != "file-read" {
		access = ""
	}
	return entry{
		Schema: "https://static.modelcontextprotocol.io/schemas/" + schemaVersion + "/server.schema.json",
		Name:   s.registryName(), Title: self.Title, Description: s.summary, Version: bare(self.Version),
		Repository: place{repository, "github", s.name},
		Packages: []pack{
			{Type: "mcpb", Identifier: s.download(self.Version, bundle), SHA256: sum, Transport: transport{"stdio"}},
			{Type: "oci", Identifier: s.image(self.Version), Hint: "docker", Transport: transport{"stdio"}, Runtime: []argument{{
				Type: "named", Name: "--mount", Description: "The directory that the server may touch",
				Value: "type=bind,src={directory},dst=/work" + access, Required: true,
				Variables: map[string]input{"directory": {"An absolute path of this machine", "filepath", true}},
			}}},
		},
	}
}

// writeEntry writes the entry, after the registry's own schema found nothing to say.
func writeEntry(ctx context.Context, file string, s server, self about, bundle string) error {
	sum, err := sumOf(bundle)
	if err != nil {
		return err
	}
	content, err := indented(entryOf(s, self, filepath.Base(bundle), sum))
	if err != nil {
		return err
	}
	schema, err := registrySchema(ctx)
	if err != nil {
		return err
	}
	if err := checkEntry(content, schema); err != nil {
		return err
	}
	return os.WriteFile(file, content, 0o644)
}

// The schema is read from the registry's own module, so that it is theirs to the byte;
// the checksum is the one that the go command has for it.
const (
	registryModule = "github.com/modelcontextprotocol/registry@v1.8.9"
	registrySum    = "h1:2pYB31q/uSezVbXu+D+Hr3HMimGFspgS1RTMljm1bVI="
	schemaVersion  = "2025-12-11"
)

// registrySchema is the schema of entries, downloaded where it is not there already.
func registrySchema(ctx context.Context) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", registryModule)
	cmd.Dir, cmd.Env = os.TempDir(), append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	out, err := cmd.Output()
	var module struct{ Dir, Sum, Error string }
	if decoded := json.Unmarshal(out, &module); err == nil {
		err = decoded
	}
	if err != nil || module.Sum != registrySum {
		return nil, fmt.Errorf("%s has the checksum %s: %w %s", registryModule, module.Sum, err, module.Error)
	}
	return os.ReadFile(filepath.Join(module.Dir, "internal", "validators", "schemas", schemaVersion+".json"))
}

// checkEntry holds an entry against the schema of the registry.
func checkEntry(content, text []byte) error {
	schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("server.schema.json", schema); err != nil {
		return err
	}
	compiled, err := c.Compile("server.schema.json")
	if err != nil {
		return err
	}
	var value any
	if err := json.Unmarshal(content, &value); err != nil {
		return err
	}
	if err := compiled.Validate(value); err != nil {
		return fmt.Errorf("server.json: %w", err)
	}
	return nil
}
