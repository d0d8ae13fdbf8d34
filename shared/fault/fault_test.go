package fault_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/multiollama/mcp-server/shared/fault"
)

func TestTheTableHasEveryCodeOnce(t *testing.T) {
	seen := map[fault.Code]bool{}
	for _, c := range fault.Codes() {
		if seen[c] {
			t.Errorf("%s stands twice", c)
		}
		seen[c] = true
	}
	if len(seen) != 22 {
		t.Errorf("%d codes, document 001 has 22", len(seen))
	}
}

func TestErrorsOfTheSystemBecomeCodes(t *testing.T) {
	_, missing := os.Open(filepath.Join(t.TempDir(), "missing"))
	for _, c := range []struct {
		what string
		err  error
		want fault.Code
	}{
		{"a file that is not there", missing, fault.NotFound},
		{"the same, wrapped", fmt.Errorf("reading: %w", missing), fault.NotFound},
		{"a name that is taken", fs.ErrExist, fault.Exists},
		{"no permission", fs.ErrPermission, fault.PermissionDenied},
		{"a cancelled call", context.Canceled, fault.TimedOut},
		{"a deadline", context.DeadlineExceeded, fault.TimedOut},
		{"what nobody foresaw", errors.New("secret host name"), fault.Internal},
		{"one of ours, wrapped", fmt.Errorf("x: %w", fault.New(fault.Forbidden, "no", "")), fault.Forbidden},
	} {
		got := fault.From(c.err)
		if got.Code != c.want {
			t.Errorf("%s: %s, want %s", c.what, got.Code, c.want)
		}
		if !errors.Is(got, c.want) {
			t.Errorf("%s: errors.Is does not know its own code", c.what)
		}
	}
	if fault.From(nil) != nil {
		t.Error("no error became an error")
	}
}

func TestACauseIsKeptButNeverTold(t *testing.T) {
	cause := errors.New("open /home/someone/secret: input/output error")
	e := fault.From(cause)
	if !errors.Is(e, cause) {
		t.Error("the cause is lost")
	}
	if text := e.Error(); text != "SYSTEM_001: the server met a fault of its own. Report it with the request_id; trying again may work." {
		t.Errorf("text is %q", text)
	}
}

func TestDetailsAreCopiedNotShared(t *testing.T) {
	base := fault.New(fault.LimitReached, "too many", "wait")
	a, b := base.With("limit", 1), base.With("limit", 2)
	if a.Details["limit"] != 1 || b.Details["limit"] != 2 || base.Details != nil {
		t.Errorf("details leak: %v %v %v", a.Details, b.Details, base.Details)
	}
}
