package main

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/multiollama/mcp-server/shell-exec/internal/sandbox"
)

func auto() sandbox.Options { return sandbox.Options{Mode: sandbox.Auto, Level: 1} }

func TestTheSandboxIsTriedWhenItIsWanted(t *testing.T) {
	b := newSandbox(auto(), time.Hour)
	defer b.Close()
	select {
	case <-b.made:
		t.Fatal("it was tried before anybody wanted it")
	default:
	}
	tree, err := b.Start(t.Context(), sandbox.Command{Path: "/bin/sh", Args: []string{"sh", "-c", "exit 3"}, Dir: "/"}, sandbox.Files{})
	if err != nil {
		t.Fatal(err)
	}
	if status := tree.Wait(); status.Code != 3 || len(b.Report()) == 0 {
		t.Errorf("%+v, %+v", status, b.Report())
	}
	_ = tree.Close()
}

func TestTheSandboxIsTriedThoughNobodyWantsIt(t *testing.T) {
	b := newSandbox(auto(), 0)
	defer b.Close()
	<-b.made
	if b.err != nil || len(b.Report()) == 0 {
		t.Errorf("%v, %+v", b.err, b.Report())
	}
}

func TestASandboxThatNobodyWantedIsNotTriedAtTheEnd(t *testing.T) {
	b := newSandbox(auto(), time.Hour)
	if err := b.Close(); err != nil || b.sandbox != nil || !errors.Is(b.wait(), context.Canceled) {
		t.Errorf("%v, %v", err, b.err)
	}
}

func TestACommandWithoutASandboxSaysWhy(t *testing.T) {
	b := newSandbox(sandbox.Options{Mode: sandbox.Auto, Level: 7}, time.Hour)
	defer b.Close()
	if tree, err := b.Start(t.Context(), sandbox.Command{}, sandbox.Files{}); err == nil || tree != nil {
		t.Errorf("started: %v, %v", tree, err)
	}
}
