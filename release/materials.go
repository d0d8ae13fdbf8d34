package main

import (
	"context"
	"fmt"
	"path/filepath"
)

// listMaterials writes what each program is made of, read from the program itself, with
// the licences of all of it. It has no serial number and no time, so that two runs give
// the same bytes.
func (r *release) listMaterials(ctx context.Context, t *tree, programs []binary, out string) error {
	program, err := cyclonedx.install(ctx, r.log)
	if err != nil {
		return err
	}
	for _, b := range programs {
		if b.goarch == "all" { // the two programs for Macs in one file, each listed on its own
			continue
		}
		file := filepath.Join(out, fmt.Sprintf("%s_%s_%s_%s.cdx.json", r.server.name, bare(r.version), b.goos, b.goarch))
		if _, err := t.output(ctx, t.at(r.server.name), program, "bin", "-json", "-std", "-licenses", "-assert-licenses",
			"-noserial", "-notimestamp", "-version", r.version, "-output", file, b.file); err != nil {
			return err
		}
	}
	return nil
}
