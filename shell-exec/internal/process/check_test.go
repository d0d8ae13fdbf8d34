package process_test

import (
	"errors"
	"testing"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
)

func eventually(f func() bool) bool {
	for range 500 {
		if f() {
			return true
		}
		time.Sleep(10 * time.Millisecond)
	}
	return false
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
