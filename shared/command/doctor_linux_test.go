package command_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// asAnotherUser runs do with the access to files that another user has.
func asAnotherUser(t *testing.T, do func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		do()
		return
	}
	ended := make(chan struct{})
	go func() { // the thread ends with the goroutine that is locked to it
		defer close(ended)
		runtime.LockOSThread()
		must(t, unix.Setfsuid(65534))
		do()
	}()
	<-ended
}

func TestDoctorTriesWhatItSaysOfDirectories(t *testing.T) {
	for _, c := range []struct {
		what, tools string
		mode        os.FileMode
		verdict     string
		says, model string
	}{
		{"all of it", "words,files", 0o777, "ok", "is allowed", "can read and change everything beneath"},
		{"not to be listed", "words", 0o333, "bad", "cannot read it", "can read nothing: this user cannot use"},
		{"not to be entered", "words", 0o666, "bad", "cannot", "can read nothing: this user cannot use"},
		{"nothing of it", "words,files", 0, "bad", "cannot read it", "can read and change nothing: this user"},
		{"to be read only", "words,files", 0o555, "bad", "cannot write it", "can read and change nothing: this user"},
		{"to be read only, by who changes nothing", "words", 0o555, "ok", "is allowed", "can read everything beneath"},
	} {
		t.Run(c.what, func(t *testing.T) {
			w := newFixture(t)
			must(t, os.Mkdir("d", 0o700))
			must(t, os.Chmod("d", c.mode))
			for _, dir := range []string{filepath.Dir(w.dir), w.dir, w.state} {
				must(t, os.Chmod(dir, 0o777))
			}
			t.Cleanup(func() { os.Chmod("d", 0o700) })
			asAnotherUser(t, func() {
				r := w.run(t, "doctor", "--json", "--allow-path", "d", "--toolsets", c.tools)
				got := checks(t, r)
				if dir := got["directory"]; dir["verdict"] != c.verdict || !strings.Contains(dir["text"], c.says) {
					t.Errorf("of the directory it says %v", dir)
				}
				if model := got["a model"]; !strings.Contains(model["text"], c.model) {
					t.Errorf("of a model it says %v", model)
				}
			})
			if left, err := os.ReadDir("d"); err == nil && len(left) > 0 {
				t.Errorf("it left %v", left)
			}
		})
	}
}
