package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// outsider is a program of others that makes releases, by the path that the go command
// builds it from.
type outsider struct{ name, path, version string }

var (
	goreleaser = outsider{"goreleaser", "github.com/goreleaser/goreleaser/v2", "v2.15.1"}
	cyclonedx  = outsider{"cyclonedx-gomod", "github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod", "v1.10.0"}
)

// file is where this version of it is kept: building goreleaser takes minutes.
func (o outsider) file() (string, error) {
	cache, err := os.UserCacheDir()
	return filepath.Join(cache, "mcp-server-release", o.name+"-"+o.version, o.name+exe), err
}

// install builds it where it is not there yet, and is its file.
func (o outsider) install(ctx context.Context, log io.Writer) (string, error) {
	file, err := o.file()
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(file); err == nil {
		return file, nil
	}
	fmt.Fprintf(log, "release: build %s %s, once\n", o.name, o.version)
	cmd := exec.CommandContext(ctx, "go", "install", o.path+"@"+o.version)
	cmd.Env = append(os.Environ(), "GOBIN="+filepath.Dir(file), "GOWORK=off", "GOFLAGS=", "CGO_ENABLED=0")
	cmd.Dir = os.TempDir()
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", o.name, err, out)
	}
	return file, nil
}
