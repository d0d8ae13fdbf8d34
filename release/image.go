package main

import (
	"os"
	"path/filepath"
)

// writeContext writes the directory that an image is built from: the Dockerfile, a
// program for each processor under the name that BuildKit has for it, and the empty
// directory that the server's state goes to.
func writeContext(dir string, s server, programs []binary, root string) error {
	state := filepath.Join(dir, "state")
	if err := os.MkdirAll(state, 0o755); err != nil {
		return err
	}
	for _, b := range programs {
		if b.goos != "linux" {
			continue
		}
		to := filepath.Join(dir, b.goos, b.goarch)
		if err := os.MkdirAll(to, 0o755); err != nil {
			return err
		}
		to = filepath.Join(to, s.name)
		if err := copyFile(b.file, to); err != nil {
			return err
		}
		if err := os.Chmod(to, 0o755); err != nil {
			return err
		}
	}
	return copyFile(filepath.Join(root, s.name, "Dockerfile"), filepath.Join(dir, "Dockerfile"))
}
