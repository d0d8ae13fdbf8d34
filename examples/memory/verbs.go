package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/multiollama/mcp-server/examples/memory/internal/store"
	"github.com/multiollama/mcp-server/shared/command"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/text"
)

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

func list(ctx context.Context, a command.Act, s *store.Store) error {
	const maxCharacters = 100
	out := bufio.NewWriter(a.Stdout)
	err := s.Newest(ctx, func(m store.Memory) error {
		line := []rune(text.Escape(strings.ReplaceAll(m.Content, "\n", " ")))
		if len(line) > maxCharacters {
			line = append(line[:maxCharacters-1], '…')
		}
		_, err := fmt.Fprintf(out, "%s %s\n", result(m).heading(), string(line))
		return err
	})
	if err != nil {
		return err
	}
	return out.Flush()
}

func export(ctx context.Context, a command.Act, s *store.Store) error {
	out := bufio.NewWriter(a.Stdout)
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	if err := s.Oldest(ctx, func(m store.Memory) error { return e.Encode(result(m)) }); err != nil {
		return err
	}
	return out.Flush()
}

// forget checks every ID before it forgets the first memory.
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
