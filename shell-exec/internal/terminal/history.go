package terminal

import (
	"context"
	"strings"

	"github.com/multiollama/mcp-server/shell-exec/internal/output"
)

// keep leaves the history of a session that has ended in the store, or takes it out.
func (s *session) keep(ctx context.Context, store *output.Store, save *bool) (bool, error) {
	wanted := s.request.SaveHistory
	if save != nil {
		wanted = *save
	}
	switch {
	case s.run != nil && wanted:
		return s.run.Err() == nil, nil
	case s.run != nil:
		_, err := store.Delete(ctx, []string{s.kept}, true)
		s.kept = ""
		return false, err
	case !wanted || store == nil:
		return false, nil
	}
	return s.keepScreen(ctx, store)
}

// keepScreen puts into the store what the screen still has.
func (s *session) keepScreen(ctx context.Context, store *output.Store) (bool, error) {
	run, err := store.Begin(ctx, s.about())
	if err != nil {
		return false, err
	}
	to := run.Writer(output.Log)
	const step = 1000
	for at := int64(0); ; {
		page := s.screen.Lines(at, step, false)
		for _, l := range page.Lines {
			_, _ = to.Write([]byte(strings.TrimRight(l, " ") + "\n")) // never fails
		}
		at = page.Start + int64(len(page.Lines))
		if !page.More || len(page.Lines) == 0 {
			break
		}
	}
	s.kept = run.OutputID(output.Log)
	return run.Err() == nil, run.End()
}

func (s *session) about() output.About {
	name := s.request.Name
	if name == "" {
		name = s.request.Text
	}
	return output.About{ExecutionID: s.id, Name: name}
}
