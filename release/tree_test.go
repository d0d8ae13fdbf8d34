package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAServerInstallsByItsVersionFromTagsAlone(t *testing.T) {
	w := wish{server: servers["file-read"], version: "v1.9.9", dry: true}
	tree := released(t, w)
	must(t, tree.proveInstall(t.Context(), w))
	module, err := os.ReadFile(filepath.Join(tree.at("file-read"), "go.mod"))
	must(t, err)
	if bytes.Contains(module, []byte("replace")) || !bytes.Contains(module, []byte(modules+"shared v1.9.9")) {
		t.Errorf("the module that is released still is:\n%s", module)
	}
	one, other := head(t, tree), head(t, released(t, w))
	if one == "" || one != other {
		t.Errorf("two releases of one commit are the commits %s and %s", one, other)
	}
}

// released is a tree with the release commit of this repository.
func released(t *testing.T, w wish) *tree {
	t.Helper()
	root, err := filepath.Abs("..")
	must(t, err)
	tree, err := newTree(t.Context(), root, "")
	must(t, err)
	t.Cleanup(tree.remove)
	must(t, tree.commit(t.Context(), w))
	return tree
}

func head(t *testing.T, tree *tree) string {
	t.Helper()
	hash, err := tree.output(t.Context(), tree.dir, "git", "rev-parse", "HEAD")
	must(t, err)
	return strings.TrimSpace(hash)
}
