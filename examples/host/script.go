package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// maxLine is the longest line of a script, in bytes.
const maxLine = 1 << 20

// runFile goes through the script in file; "-" is the standard input.
func (h *host) runFile(ctx context.Context, file string, in io.Reader) error {
	if file == "-" {
		return h.runScript(ctx, in)
	}
	f, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("%w; %w", err, errUsage)
	}
	defer f.Close()
	return h.runScript(ctx, f)
}

// runScript goes through a script to its end, even when a call fails, unless a
// line cannot be carried out at all.
func (h *host) runScript(ctx context.Context, script io.Reader) error {
	var failure error
	lines := bufio.NewScanner(script)
	lines.Buffer(nil, maxLine)
	for n := 1; lines.Scan(); n++ {
		switch err := h.line(ctx, strings.TrimSpace(lines.Text())); {
		case errors.Is(err, errFailed):
			failure = err
		case err != nil:
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	return errors.Join(failure, lines.Err())
}

func (h *host) line(ctx context.Context, line string) error {
	if line == "" {
		return nil
	}
	if heading, ok := strings.CutPrefix(line, "#"); ok {
		h.screen.heading(strings.TrimSpace(heading))
		return nil
	}
	line, mustFail := strings.CutPrefix(line, "!")
	if mustFail {
		line = strings.TrimSpace(line)
	}
	server, rest, isCall := strings.Cut(line, " ")
	if !isCall && !mustFail {
		return h.list(ctx, server)
	}
	tool, arguments, _ := strings.Cut(strings.TrimSpace(rest), " ")
	err := h.call(ctx, server, tool, strings.TrimSpace(arguments))
	if !mustFail {
		return err
	}
	return h.refused(err)
}

// refused turns what came of a call that has to be refused around.
func (h *host) refused(err error) error {
	switch {
	case errors.Is(err, errFailed):
		h.screen.note("refused, as it should be")
		return nil
	case err == nil:
		h.screen.failure("this should have been refused")
		return errFailed
	}
	return err
}
