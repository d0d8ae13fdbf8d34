package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// about is what a program says of itself, so that what is written about it cannot
// differ from what it does.
type about struct {
	Name    string    `json:"name"`
	Title   string    `json:"title"`
	Doc     string    `json:"doc"`
	Version string    `json:"version"`
	Flags   []setting `json:"flags"`

	tools []tool
}

type setting struct {
	Name    string   `json:"name"`
	Shape   string   `json:"shape"`
	Doc     string   `json:"doc"`
	Default string   `json:"default"`
	Choices []string `json:"choices"`
}

type tool struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// exe is what the name of a program of this machine ends in.
var exe = map[bool]string{true: ".exe"}[runtime.GOOS == "windows"]

// ask asks a program of this machine about itself.
func ask(ctx context.Context, program string) (about, error) {
	var a about
	if err := said(ctx, &a, program, "man", "--json"); err != nil {
		return a, err
	}
	err := said(ctx, &a.tools, program, "tools", "--json")
	return a, err
}

// said is what a command of a program prints, decoded. It runs where it finds nothing.
func said(ctx context.Context, into any, program string, args ...string) error {
	raw, err := says(ctx, program, args...)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("%s %v: %w", program, args, err)
	}
	return nil
}

func says(ctx context.Context, program string, args ...string) ([]byte, error) {
	home, err := os.MkdirTemp("", "release-home-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(home)
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = home
	cmd.Env = []string{"HOME=" + home, "USERPROFILE=" + home, "LOCALAPPDATA=" + filepath.Join(home, "state")}
	out, err := cmd.Output()
	if failed, ok := err.(*exec.ExitError); ok {
		err = fmt.Errorf("%s %v: %w\n%s", program, args, err, failed.Stderr)
	}
	return out, err
}

// setting is the one of that name.
func (a about) setting(name string) (setting, error) {
	for _, s := range a.Flags {
		if s.Name == name {
			return s, nil
		}
	}
	return setting{}, fmt.Errorf("%s has no setting %s", a.Name, name)
}
