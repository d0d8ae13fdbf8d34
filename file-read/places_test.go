package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/multiollama/mcp-server/file-read/internal/lines"
)

// inAnHour is a clock to which every file here has lain still for long.
func inAnHour() time.Time { return time.Now().Add(time.Hour) }

// numbers is n lines of 100 bytes, each with its number.
func numbers(n int) []byte {
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, "%-99d\n", i+1)
	}
	return b.Bytes()
}

func TestALargeFileReadsTheSameWithMilestones(t *testing.T) {
	content := numbers(120_000)
	for name, mark := range map[string]string{"plain": "", "marked": "\xef\xbb\xbf"} {
		plain, dir := readerOf(t)
		if err := os.WriteFile(filepath.Join(dir, name), append([]byte(mark), content...), 0o600); err != nil {
			t.Fatal(err)
		}
		near := *plain
		near.places = lines.NewLineIndex(inAnHour)
		for range 2 { // counted, then remembered
			for _, in := range []readIn{
				{Offset: 1}, {Offset: 2, Limit: 3}, {Offset: 700}, {Offset: 656, Limit: 1}, {Offset: 60_000, Limit: 5000}, {Offset: 117_900, Limit: 10},
				{Offset: 119_990}, {Offset: 120_000}, {Offset: 120_001}, {Offset: 500_000}, {Offset: -5}, {Offset: -119_999, Limit: 2}, {Offset: 60_000, Limit: 2, Encoding: "windows-1252"},
			} {
				in.Path = name
				want, err := plain.read(t.Context(), in)
				got, err2 := near.read(t.Context(), in)
				if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(readOut{})); err != nil || err2 != nil || diff != "" {
					t.Errorf("%+v: %v %v %s", in, err, err2, diff)
				}
			}
		}
	}
}

func TestALargeFileThatChangesIsReadAsItIsNow(t *testing.T) {
	r, dir := readerOf(t)
	r.places = lines.NewLineIndex(inAnHour)
	path := filepath.Join(dir, "log")
	content := numbers(100_000)
	write := func(at int64, b []byte) {
		t.Helper()
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteAt(b, at); err != nil {
			t.Fatal(err)
		}
	}
	read := func(line int64) string {
		t.Helper()
		got, err := r.read(t.Context(), readIn{Path: "log", Offset: line, Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		return string(bytes.TrimRight([]byte(got.Content), " \n"))
	}
	write(0, content)
	if got := read(90_000); got != "90000" {
		t.Fatalf("line 90,000 is %q", got)
	}
	time.Sleep(20 * time.Millisecond)          // the clock of the file system moves on
	write(0, bytes.Repeat([]byte("\n"), 1000)) // ten lines become a thousand
	if got := read(90_990); got != "90000" {
		t.Errorf("after a change in place, line 90,990 is %q", got)
	}
	write(int64(len(content)), []byte("the end\n"))
	if got := read(100_991); got != "the end" {
		t.Errorf("after it grew, the last line is %q", got)
	}
	if err := os.WriteFile(path+".new", content, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	if got := read(90_000); got != "90000" {
		t.Errorf("of the file in its place, line 90,000 is %q", got)
	}
}
