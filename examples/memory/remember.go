package main

import (
	"context"
	"fmt"

	"github.com/multiollama/mcp-server/examples/memory/internal/store"
	"github.com/multiollama/mcp-server/shared/toolkit"
)

var rememberSpec = toolkit.Spec{
	Name: "remember", Title: "Remember", Toolset: "memory", Effect: toolkit.Writes, Idempotent: true,
	Doc: "Keep information for later conversations. Write one fact, complete in itself. " +
		"The same content again only updates its category and tags.",
}

type rememberIn struct {
	Content  string   `json:"content" content:"true" doc:"What to keep."`
	Category string   `json:"category,omitempty" content:"true" doc:"Category."`
	Tags     []string `json:"tags,omitempty" content:"true" maxItems:"32" doc:"Tags."`
}

type rememberOut struct {
	ID      int64 `json:"id"`
	Created bool  `json:"created" doc:"false: it was known, and is updated."`
}

func (k *keeper) remember(ctx context.Context, in rememberIn) (rememberOut, error) {
	id, isNew, err := k.store.Remember(ctx, store.Note{Content: in.Content, Category: in.Category, Tags: in.Tags})
	return rememberOut{id, isNew}, err
}

// Text is what happened in a line.
func (o rememberOut) Text() string {
	if o.Created {
		return fmt.Sprintf("Remembered, as memory %d.", o.ID)
	}
	return fmt.Sprintf("Known already; memory %d is updated.", o.ID)
}
