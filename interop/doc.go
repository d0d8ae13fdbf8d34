// Package interop tests the servers against programs of others: the official
// conformance suite of MCP, the MCP inspector, the Go SDK, the reference filesystem
// server, and git.
//
// It has no code of its own but tests. Those that need programs for node find
// them in node_modules (scripts/npm-install puts them there) and are skipped
// without them, unless INTEROP=required is set.
package interop
