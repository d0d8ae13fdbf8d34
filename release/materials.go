package main

import (
	"context"
	"fmt"
	"path/filepath"
)

// listMaterials writes what each program is made of, read from the program itself, with
// the licences of all of it. It has no serial number and no time, so that two runs give
// the same bytes.
func (t *tree) listMaterials(ctx context.Context, program string, w wish, programs []binary, out string) error {
	for _, b := range programs {
		if b.goarch == "all" { // the two programs for Macs in one file, each listed on its own
			continue
		}
		file := filepath.Join(out, fmt.Sprintf("%s_%s_%s_%s.cdx.json", w.server.name, bare(w.version), b.goos, b.goarch))
		if _, err := t.output(ctx, t.at(w.server.name), program, "bin", "-json", "-std", "-licenses", "-assert-licenses",
			"-noserial", "-notimestamp", "-version", w.version, "-output", file, b.file); err != nil {
			return err
		}
	}
	return nil
}
