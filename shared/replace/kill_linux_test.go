package replace_test

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/mcptest"
	"github.com/multiollama/mcp-server/shared/replace"
)

func TestMain(m *testing.M) {
	mcptest.Children(m, map[string]func([]string) error{
		"change": changeChild, "move": moveChild, "confined": confinedChild, "stranger": strangerChild, "outsider": outsiderChild, "contender": contenderChild,
	})
}

// changeChild DIR LACKING KIND changes files in DIR until it is killed.
func changeChild(args []string) error {
	r, err := confine.Open(args[:1], confine.Options{})
	if err != nil {
		return err
	}
	var w replace.Writer
	lacking := args[1] == "true"
	w.Without(lacking, lacking, false)
	fmt.Println("ready")
	for n := 0; ; n++ {
		if err := killable(&w, r, args[2], n); err != nil {
			return err
		}
	}
}

func killable(w *replace.Writer, r *confine.Roots, kind string, n int) error {
	name := "f"
	if kind == "create" {
		name = fmt.Sprintf("new-%d-%d", os.Getpid(), n)
	}
	p, err := r.Parse(name)
	if err != nil {
		return err
	}
	switch kind {
	case "create":
		_, err = w.Create(background, p, []byte(letters(n)), replace.Options{})
	case "replace":
		_, err = w.Replace(background, p, []byte(letters(n)), replace.Options{})
	case "update":
		_, err = w.Update(background, p, becoming(letters(n)))
	}
	return err
}

// kills is how often each kind of change is killed: KILLS, or a few times.
func kills(t *testing.T) int {
	text := os.Getenv("KILLS")
	if text == "" {
		return 5
	}
	n, err := strconv.Atoi(text)
	must(t, err)
	return n
}

// A kill at any moment leaves the old file or the new one, whole. Where files may be
// without a name, creating leaves nothing else either; elsewhere, and for the instant
// in which a draft takes the place of the old file, Sweep does.
func TestAKillAtAnyMomentLeavesAWholeFile(t *testing.T) {
	// So many of each of six kinds, and more as long as none was in the middle.
	const most = 400
	kills := kills(t)
	for _, kind := range []string{"create", "replace", "update"} {
		for _, lacking := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, unnamed files: %t", kind, !lacking), func(t *testing.T) {
				base := fixture(t, "allow/f: "+letters(0))
				var w replace.Writer
				dir := path(t, roots(t, base+"/allow", confine.Options{}), ".")
				left, done := 0, 0
				for ; done < kills || done < most && lacking && left == 0; done++ {
					killed(t, base+"/allow", kind, lacking)
					left += drafts(t, base+"/allow")
					if kind == "create" && !lacking && left > 0 {
						t.Fatal("creating left something behind: " + names(t, base+"/allow"))
					}
					n, err := w.Sweep(background, dir)
					if err != nil || drafts(t, base+"/allow") != 0 {
						t.Fatalf("%d removed, %v; left: %s", n, err, names(t, base+"/allow"))
					}
					allWhole(t, base+"/allow")
				}
				t.Logf("%d kills left %d drafts, all swept", done, left)
				if lacking && left == 0 {
					t.Error("no kill was in the middle of a change")
				}
			})
		}
	}
}

// killed starts a child, lets it work for a moment, and kills it.
func killed(t *testing.T, dir, kind string, lacking bool) {
	t.Helper()
	killedChild(t, mcptest.Child(t, "change", dir, fmt.Sprint(lacking), kind))
}

func killedChild(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Errorf("the child said %q, %v", line, err)
	}
	time.Sleep(time.Duration(rand.IntN(20_000)) * time.Microsecond)
	must(t, cmd.Process.Kill())
	if exit, ok := errors.AsType[*exec.ExitError](cmd.Wait()); !ok || exit.Exited() {
		t.Error("the child ended by itself")
	}
}

func drafts(t *testing.T, dir string) int {
	t.Helper()
	return strings.Count(names(t, dir), ".mcp-draft-")
}

// allWhole checks every file and removes those that creating has made.
func allWhole(t *testing.T, dir string) {
	t.Helper()
	for _, name := range strings.Fields(names(t, dir)) {
		if text := content(dir + "/" + name); !whole(text) {
			t.Errorf("%s is not whole: %d bytes, %.60q", name, len(text), text)
		}
		if name != "f" {
			must(t, os.Remove(dir+"/"+name))
		}
	}
}
