package history_test

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/file-write/internal/history"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/mcptest"
)

var platformChildren = map[string]func(args []string) error{"fill": fillChild}

func TestAFileThatCannotGrowIsAnErrorAndLosesNothing(t *testing.T) {
	w := newFixture(t)
	out, err := mcptest.Child(t, "fill", w.dir).Output()
	if err != nil {
		t.Fatalf("%v %s", err, out)
	}
	var kept int
	if _, err := fmt.Sscan(string(out), &kept); err != nil || kept < 10 {
		t.Fatalf("%s: %v", out, err)
	}
	if ids := whole(w, w.open(history.Limits{})); len(ids) != kept {
		t.Errorf("%d changes are listed, %d were kept", len(ids), kept)
	}
}

// fillChild DIR keeps changes until the limit on file sizes cuts first a content and
// then a line of the index short. Both must be errors, and with more room it continues.
func fillChild(args []string) error {
	signal.Ignore(syscall.SIGXFSZ)
	s, err := history.Open(args[0], history.Limits{}, time.Now)
	if err != nil {
		return err
	}
	var room unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &room); err != nil {
		return err
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 8000, Max: room.Max}); err != nil {
		return err
	}
	if _, err := s.Keep(context.Background(), edit("big"), strings.NewReader(strings.Repeat("x", 8001))); !errors.Is(err, fault.LimitReached) {
		return fmt.Errorf("a content that was cut: %w", err)
	}
	kept := 0
	for ; kept < 1000; kept++ {
		if err = keepNumber(s, kept); err != nil {
			break
		}
	}
	if !errors.Is(err, fault.LimitReached) || kept < 10 {
		return fmt.Errorf("a line that was cut: %w", err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &room); err != nil {
		return err
	}
	if err := keepNumber(s, kept); err != nil {
		return err
	}
	fmt.Println(kept + 1)
	return s.Close()
}

func keepNumber(s *history.Store, i int) error {
	path := fmt.Sprintf("n/%d", i%3)
	_, err := s.Keep(context.Background(), edit(path), strings.NewReader(contentOf(path)))
	return err
}
