//go:build unix

package fault

import (
	"errors"
	"os"
	"syscall"
	"testing"
)

func TestEveryErrnoOfTheTableIsReachableThroughPathError(t *testing.T) {
	for _, row := range platformCauses {
		e := From(&os.PathError{Op: "open", Path: "/x", Err: row.is})
		if e.Code != row.code || e.Msg != row.msg {
			t.Errorf("%v became %v", row.is, e)
		}
	}
	if !errors.Is(From(syscall.ENOSPC), DiskFull) {
		t.Error("ENOSPC is not DiskFull")
	}
}
