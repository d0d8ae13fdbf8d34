package process_test

import (
	"errors"
	"testing"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
)

// eventually waits for what must come, but not for ever.
func eventually(f func() bool) bool {
	for end := time.Now().Add(2 * time.Minute); !f(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func refuses(t *testing.T, err error, code fault.Code) {
	t.Helper()
	if !errors.Is(err, code) {
		t.Fatalf("the error is %v, not %s", err, code)
	}
}
