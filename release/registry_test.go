package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

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
