package terminal

import (
	"cmp"
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
		_, err := store.Delete(ctx, []string{s.outputID}, true)
		s.outputID = ""
		return false, err
	case !wanted || store == nil:
		return false, nil
	}

	// None was kept until now: the store gets what the screen still has.
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
	s.outputID = run.OutputID(output.Log)
	return run.Err() == nil, run.End()
}

func (s *session) about() output.About {
	return output.About{ExecutionID: s.id, Name: cmp.Or(s.request.Name, s.request.Text)}
}
