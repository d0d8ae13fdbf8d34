package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/multiollama/mcp-server/examples/memory/internal/store"
	"github.com/multiollama/mcp-server/shared/command"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/text"
)

// verbs are what the person can do with the memories and a model cannot.
func verbs() []command.Verb {
	return []command.Verb{
		{Use: "list", Short: "List what is remembered, the newest first, a line each", Run: with(list)},
		{Use: "export", Short: "Print everything that is remembered as JSON Lines, the oldest first", Run: with(export)},
		{Use: "forget ID …", Short: "Forget memories, for good", Least: 1, Most: -1, Run: with(forget)},
	}
}

// with opens the database for a verb, and closes it.
func with(do func(context.Context, command.Act, *store.Store) error) func(context.Context, command.Act) (int, error) {
	return func(ctx context.Context, a command.Act) (int, error) {
		file, err := databaseOf(a.Settings, a.Own)
		if err != nil {
			return 0, err
		}
		s, err := store.Open(ctx, file, limitsOf(a.Settings))
		if err != nil {
			return 0, err
		}
		if err := do(ctx, a, s); err != nil {
			_ = s.Close() // the error that counts is the other
			return 0, err
		}
		return 0, s.Close()
	}
}

// mostShown is the characters of a memory that list shows.
const mostShown = 100

func list(ctx context.Context, a command.Act, s *store.Store) error {
	return each(ctx, a.Stdout, s.Newest, func(w io.Writer, m store.Memory) error {
		line := []rune(text.Escape(strings.ReplaceAll(m.Content, "\n", " ")))
		if len(line) > mostShown {
			line = append(line[:mostShown-1], '…')
		}
		_, err := fmt.Fprintf(w, "%s %s\n", told(m).heading(), string(line))
		return err
	})
}

func export(ctx context.Context, a command.Act, s *store.Store) error {
	return each(ctx, a.Stdout, s.Oldest, func(w io.Writer, m store.Memory) error {
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		return e.Encode(told(m))
	})
}

func each(ctx context.Context, w io.Writer, order func(context.Context, func(store.Memory) error) error, show func(io.Writer, store.Memory) error) error {
	out := bufio.NewWriter(w)
	if err := order(ctx, func(m store.Memory) error { return show(out, m) }); err != nil {
		return err
	}
	return out.Flush()
}

// forget looks at every ID before it forgets the first memory.
func forget(ctx context.Context, a command.Act, s *store.Store) error {
	ids := make([]int64, len(a.Args))
	for i, word := range a.Args {
		id, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return fault.New(fault.Misconfigured, fmt.Sprintf("%q is no ID of a memory", word), "IDs are the numbers that list shows")
		}
		ids[i] = id
	}
	if err := s.Forget(ctx, ids...); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.Stdout, "Forgotten: %s.\n", strings.Join(a.Args, ", "))
	return err
}
