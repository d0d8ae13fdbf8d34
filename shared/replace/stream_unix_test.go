//go:build linux || darwin

package replace_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/replace"
)

func streaming(text string) act {
	return func(w *replace.Writer, p confine.Path) (replace.Result, error) {
		return w.CreateFrom(background, p, strings.NewReader(text), replace.Options{})
	}
}

func TestAFileIsCreatedOfWhatAReaderGives(t *testing.T) {
	large := strings.Repeat("0123456789abcdef", 200_000) + "end"
	for what, c := range map[string]struct {
		src  io.Reader
		want string
	}{
		"nothing":                   {strings.NewReader(""), ""},
		"a little":                  {strings.NewReader("new"), "new"},
		"much":                      {strings.NewReader(large), large},
		"a byte at a time":          {iotest.OneByteReader(strings.NewReader("new")), "new"},
		"the end with the last one": {iotest.DataErrReader(strings.NewReader(large)), large},
	} {
		base, p := only(t, "f")
		var w replace.Writer
		res, err := w.CreateFrom(background, p, c.src, replace.Options{Mode: 0o600})
		if err != nil || content(base+"/allow/f") != c.want {
			t.Errorf("%s: %v", what, err)
			continue
		}
		if !res.Created || res.Bytes != int64(len(c.want)) || res.SHA256 != hash(c.want) {
			t.Errorf("%s: %+v", what, res)
		}
		if info, err := os.Stat(base + "/allow/f"); err != nil || info.Mode() != 0o600 {
			t.Errorf("%s: %v, %v", what, info.Mode(), err)
		}
		noDrafts(t, base)
	}
}

func TestNothingIsCreatedOfAReaderThatFails(t *testing.T) {
	eachWay(t, func(t *testing.T, w *replace.Writer) {
		base, p := only(t, "f")
		for what, c := range map[string]struct {
			src  io.Reader
			want fault.Code
		}{
			"an error of its own": {io.MultiReader(strings.NewReader("half"), iotest.ErrReader(refusal)), refusal.Code},
			"any error":           {iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader("half"))), fault.Internal},
		} {
			if _, err := w.CreateFrom(background, p, c.src, replace.Options{}); !errors.Is(err, c.want) {
				t.Errorf("%s: %v, want %s", what, err, c.want)
			}
			if left := names(t, base+"/allow"); left != "" {
				t.Errorf("%s: left are %s", what, left)
			}
		}
	})
}

func TestAStreamWithoutEndEndsWithTheCall(t *testing.T) {
	base, p := only(t, "f")
	ctx, cancel := context.WithCancel(background)
	var w replace.Writer
	if _, err := w.CreateFrom(ctx, p, cancelling{cancel}, replace.Options{}); !errors.Is(err, fault.TimedOut) || names(t, base+"/allow") != "" {
		t.Errorf("%v; left are %s", err, names(t, base+"/allow"))
	}
}

// cancelling reads without end, and ends the call first.
type cancelling struct{ cancel func() }

func (c cancelling) Read(b []byte) (int, error) {
	c.cancel()
	return len(b), nil
}

func TestAStreamDoesNotOverwrite(t *testing.T) {
	base, p := only(t, "f", "allow/f: old")
	var w replace.Writer
	_, err := streaming("new")(&w, p)
	_, err2 := w.CreateFrom(background, p, strings.NewReader("new"), expecting("old"))
	if !errors.Is(err, fault.Exists) || !errors.Is(err2, fault.ParamInvalid) || content(base+"/allow/f") != "old" {
		t.Errorf("%v; %v; %q", err, err2, content(base+"/allow/f"))
	}
}

func TestARuleIsShownTheEndsOfAStream(t *testing.T) {
	head, tail := strings.Repeat("h", 64<<10), strings.Repeat("t", 512)
	for _, text := range []string{"", "new", head, head + "x", head + tail, head + strings.Repeat("middle", 100_000) + tail} {
		want := text
		if len(text) > len(head)+len(tail) {
			want = head + tail
		}
		base, p := only(t, "f")
		var seen []byte
		w := replace.New(replace.Rules{Content: func(real confine.Path, content []byte, _ fs.FileMode) error {
			seen = bytes.Clone(content)
			return refusal
		}})
		if _, err := streaming(text)(w, p); !errors.Is(err, refusal.Code) || string(seen) != want || names(t, base+"/allow") != "" {
			t.Errorf("of %d bytes, %d were shown, want %d; %v; left are %q", len(text), len(seen), len(want), err, names(t, base+"/allow"))
		}
	}
}
