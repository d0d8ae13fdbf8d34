package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const sumsFile = "SHA256SUMS"

func sumOf(file string) (string, error) {
	content, err := os.ReadFile(file)
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:]), err
}

// filesOf are the files beneath dir, by names with slashes, in order.
func filesOf(dir string) ([]string, error) {
	var names []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		names = append(names, filepath.ToSlash(name))
		return err
	})
	slices.Sort(names)
	return names, err
}

// writeSums writes the checksums of what people download, as sha256sum reads them.
// What an image is built from lies in a folder of its own and is not among it.
func writeSums(out string) error {
	names, err := filesOf(out)
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, name := range names {
		if name == sumsFile || strings.Contains(name, "/") {
			continue
		}
		sum, err := sumOf(filepath.Join(out, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s  %s\n", sum, name)
	}
	return os.WriteFile(filepath.Join(out, sumsFile), []byte(b.String()), 0o644)
}

// difference is an error where the files beneath one directory are not those beneath
// the other, byte for byte.
func difference(one, other string) error {
	names, err := filesOf(one)
	if err != nil {
		return err
	}
	others, err := filesOf(other)
	if err != nil {
		return err
	}
	if len(names) == 0 || !slices.Equal(names, others) {
		return fmt.Errorf("one run made %q, the other %q", names, others)
	}
	var differ []string
	for _, name := range names {
		a, err := sumOf(filepath.Join(one, name))
		if err != nil {
			return err
		}
		b, err := sumOf(filepath.Join(other, name))
		if err != nil {
			return err
		}
		if a != b {
			differ = append(differ, name)
		}
	}
	if len(differ) > 0 {
		return fmt.Errorf("two runs made different files: %s", strings.Join(differ, ", "))
	}
	return nil
}
