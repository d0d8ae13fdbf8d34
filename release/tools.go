package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// toolVersions are the programs of others that make a release, by the path that the go
// command builds them from.
var toolVersions = []struct{ name, path, version string }{
	{"goreleaser", "github.com/goreleaser/goreleaser/v2", "v2.15.1"},
	{"cyclonedx-gomod", "github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod", "v1.10.0"},
}

// toolsDir is where they are kept: building goreleaser takes minutes.
func toolsDir() (string, error) {
	cache, err := os.UserCacheDir()
	return filepath.Join(cache, "mcp-server-release"), err
}

// installTools builds what is not there yet, and is the directory of all of them under
// their plain names.
func installTools(ctx context.Context, log io.Writer) (string, error) {
	cache, err := toolsDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "goreleaser-"+toolVersions[0].version)
	for _, tool := range toolVersions {
		if _, err := os.Stat(filepath.Join(dir, tool.name+exe)); err == nil {
			continue
		}
		fmt.Fprintf(log, "release: build %s %s, once\n", tool.name, tool.version)
		cmd := exec.CommandContext(ctx, "go", "install", tool.path+"@"+tool.version)
		cmd.Env = append(os.Environ(), "GOBIN="+dir, "GOWORK=off", "GOFLAGS=", "CGO_ENABLED=0")
		cmd.Dir = os.TempDir()
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("build %s: %w\n%s", tool.name, err, out)
		}
	}
	return dir, nil
}
