package interop

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// label is an extended attribute that a user may set.
const label = "user.interop"

// labels is the extended attribute of a file.
func labels(path string) string {
	value := make([]byte, 100)
	n, err := syscall.Getxattr(path, label, value)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%s=%s, ", label, value[:n])
}

func TestAChangeKeepsWhatTheReferenceLoses(t *testing.T) {
	p := startWriting(t)
	for name, give := range map[string]func(path string) error{
		"the owner":             func(path string) error { return os.Chown(path, 1234, 4321) },
		"an extended attribute": func(path string) error { return syscall.Setxattr(path, label, []byte("kept"), 0) },
	} {
		for _, q := range []question{
			{name, "write_file", `{"path": "$ROOT/single.txt", "content": "new\n"}`},
			{name, "edit_file", `{"path": "$ROOT/single.txt", "edits": [{"oldText": "only", "newText": "new"}]}`},
		} {
			t.Run(q.tool+" "+q.name, func(t *testing.T) {
				before := p.give(t, "single.txt", give)
				ours, reference := p.ask(q)
				if ours.Failed || reference.Failed {
					t.Fatalf("ours %+v, the reference %+v", ours, reference)
				}
				if got := rightsOf(t, p.ourStage, "single.txt"); got != before {
					t.Errorf("it was %s and is %s", before, got)
				}
				if got := rightsOf(t, p.theirStage, "single.txt"); got == before {
					t.Errorf("the reference keeps it too: %s", got)
				}
			})
		}
	}
}

// give sets the scene and gives a file something that only some may give.
func (p performance) give(t *testing.T, name string, give func(path string) error) (rights string) {
	t.Helper()
	for _, s := range []stage{p.ourStage, p.theirStage} {
		s.set(t)
		plain := rightsOf(t, s, name)
		if err := give(filepath.Join(s.dir, "in", name)); err != nil {
			t.Skipf("SKIPPED: it cannot be given here: %v", err)
		}
		if rights = rightsOf(t, s, name); rights == plain {
			t.Fatalf("it is not seen: %s", rights)
		}
	}
	return rights
}

func rightsOf(t *testing.T, s stage, name string) string {
	t.Helper()
	path := filepath.Join(s.dir, "in", name)
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return rights(path, info)
}
