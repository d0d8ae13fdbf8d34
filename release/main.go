// Command release makes what a release of one server consists of: programs for every
// platform, archives, packages, bundles for hosts, the entry of the MCP registry, what
// an image is built from, checksums and bills of materials.
//
// All of it is made in a scratch clone, at a commit whose bytes depend on nothing but
// the commit that is released and the version: what is not committed is not released,
// and two runs give the same bytes. It refuses to publish what is not a clean main that
// the origin has; a dry run pushes nothing and leaves the repository as it was.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stderr)
	stop()
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// wish is what was asked for.
type wish struct {
	server  server
	version string // "v1.2.3"
	dry     bool
	twice   bool
	root    string // of the repository
}

const usage = `usage: scripts/release SERVER VERSION [--dry-run] [--twice]

SERVER is file-read, file-write or shell-exec, VERSION such as v1.2.3. What is made
lies in dist/release/SERVER/VERSION afterwards.

  --dry-run  make and prove everything, push nothing
  --twice    make it a second time, elsewhere and without any cache of builds, and
             compare every byte

`

// semantic is a version as tags have it: from v2 on the paths of our modules would have
// to say so, and what comes behind + is no version of a Go module.
var semantic = regexp.MustCompile(`^v[01]\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?$`)

func parse(args []string, stderr io.Writer) (wish, error) {
	var w wish
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() { fmt.Fprint(stderr, usage) }
	flags.BoolVar(&w.dry, "dry-run", false, "")
	flags.BoolVar(&w.twice, "twice", false, "")
	var words []string
	for len(args) > 0 { // flags may stand behind the words too
		if err := flags.Parse(args); err != nil {
			return w, err
		}
		if args = flags.Args(); len(args) > 0 {
			words, args = append(words, args[0]), args[1:]
		}
	}
	if len(words) != 2 {
		flags.Usage()
		return w, flag.ErrHelp
	}
	var known bool
	if w.server, known = servers[words[0]]; !known {
		return w, fmt.Errorf("there is no server %s", words[0])
	}
	if w.version = words[1]; !semantic.MatchString(w.version) {
		return w, fmt.Errorf("%s is no version; write one such as v1.2.3", w.version)
	}
	return w, nil
}

func run(ctx context.Context, args []string, stderr io.Writer) error {
	w, err := parse(args, stderr)
	if err != nil {
		return err
	}
	if w.root, err = os.Getwd(); err != nil {
		return err
	}
	r := &release{wish: w, log: stderr, began: time.Now()}
	if err := r.mayPublish(ctx); err != nil {
		return err
	}
	out := filepath.Join(w.root, "dist", "release", w.server.name, w.version)
	first, err := r.make(ctx, out, "")
	if err != nil {
		return err
	}
	defer first.remove()
	if w.twice {
		if err := r.again(ctx, out); err != nil {
			return err
		}
	}
	if err := first.proveInstall(ctx, w); err != nil {
		return err
	}
	if err := r.summary(out); err != nil {
		return err
	}
	return r.publish(ctx, first, out)
}
