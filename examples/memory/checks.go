package main

import (
	"context"
	"fmt"

	"github.com/multiollama/mcp-server/examples/memory/internal/store"
	"github.com/multiollama/mcp-server/shared/command"
	"github.com/multiollama/mcp-server/shared/fault"
)

// checks are the lines of doctor about the database, which is read from end to end.
func checks(ctx context.Context, file string) []command.Check {
	n, err := store.Check(ctx, file)
	if err != nil {
		e := fault.From(err)
		return []command.Check{{Verdict: command.Bad, Subject: "memories", Text: file + ": " + e.Msg, Fix: e.Do}}
	}
	return []command.Check{{Verdict: command.OK, Subject: "memories", Text: fmt.Sprintf("%d are kept in %s", n, file)}}
}
