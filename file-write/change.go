package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/replace"
)

// changed is what came of a change of a file that exists.
type changed struct {
	SHA256   string // of the file now, or as it would be
	ChangeID string // "" where nothing changed
	Note     string
}

// errPreviewed ends an Update after all was looked at and before anything is changed.
var errPreviewed = errors.New("only looked at")

// change puts what become makes of a file in its place, after what was there is kept.
// Dry, it only asks what would be refused. A file that stays as it is keeps nothing.
func (w *writer) change(ctx context.Context, op string, p confine.Path, dry bool, become func(old []byte, info confine.Info) ([]byte, error)) (changed, error) {
	u := w.undoing(ctx, op, p)
	preview := ""
	res, err := w.files.Update(ctx, p, func(old []byte, info confine.Info) ([]byte, error) {
		content, err := become(old, info)
		if err != nil || !dry && bytes.Equal(old, content) {
			return content, err
		}
		if !dry {
			return content, u.keepBytes(old, info)
		}
		if err := w.guards.content(p, content, info.Mode); err != nil {
			return nil, err
		}
		preview = hashOf(content)
		return nil, errPreviewed
	})
	done := changed{SHA256: res.SHA256, ChangeID: u.ended(err), Note: note(res)}
	if errors.Is(err, errPreviewed) {
		return changed{SHA256: preview}, nil
	}
	return done, err
}

func hashOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

func note(res replace.Result) string {
	if res.BrokeLinks {
		return "The file had further names (hard links); they keep the old content."
	}
	return ""
}
