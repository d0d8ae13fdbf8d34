package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
)

// proveInstall installs the server as a stranger would, by its version and with the go
// command alone. Its code comes from the tags of the clone, and what is installed has to
// know its version.
func (t *tree) proveInstall(ctx context.Context, w wish) error {
	bin := filepath.Join(t.work, "bin")
	stranger := t.with("GOBIN="+bin, "GOFLAGS=-modcacherw -trimpath")
	if _, err := stranger.output(ctx, t.work, "go", "install", modules+w.server.name+"@"+w.version); err != nil {
		return err
	}
	said, err := stranger.output(ctx, t.work, filepath.Join(bin, w.server.name+exe), "version")
	if err != nil {
		return err
	}
	if want := w.server.name + " " + w.version + " "; !strings.HasPrefix(said, want) {
		return fmt.Errorf("the program that go install made says %q, and not %q", strings.TrimSpace(said), want)
	}
	return nil
}
