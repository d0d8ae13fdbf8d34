package audit_test

import (
	"bufio"
	"fmt"
	"maps"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shared/audit"
	"github.com/multiollama/mcp-server/shared/mcptest"
)

func TestMain(m *testing.M) {
	children := map[string]func(args []string) error{"record": recordChild}
	maps.Copy(children, platformChildren)
	mcptest.Children(m, children)
}

// recordChild FILE NAME COUNT MAXBYTES records events called NAME/0, NAME/1 …
// and tells each one on stdout after it is stored.
func recordChild(args []string) error {
	count, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	maxBytes, err := strconv.ParseInt(args[3], 10, 64)
	if err != nil {
		return err
	}
	log, err := audit.Open(args[0], audit.Options{MaxBytes: maxBytes})
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(os.Stdout, 1)
	for i := range count {
		id := fmt.Sprintf("%s/%d", args[1], i)
		if err := log.Record(audit.Event{RequestID: id, Tool: "t", Cause: strings.Repeat("x ", i%3000)}); err != nil {
			return err
		}
		fmt.Fprintln(out, id)
	}
	return log.Close()
}
