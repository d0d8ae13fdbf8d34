package process

import (
	"fmt"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shell-exec/internal/output"
	"github.com/multiollama/mcp-server/shell-exec/internal/sandbox"
)

// Mode is how long a call waits for its command, and whom the command outlives.
type Mode string

// The modes of document 003.
const (
	Foreground Mode = "foreground" // the call waits to the end, or to the time-out, which ends the command
	Background Mode = "background" // the call answers at once; the command ends with the server
	Detached   Mode = "detached"   // the call answers at once; the command outlives the server
	Adaptive   Mode = "adaptive"   // the call waits for a while; the command continues
)

// ParseMode reads a mode; the words of document 001 are other words for two of them, and no word is Adaptive.
func ParseMode(word string) (Mode, error) {
	switch word {
	case "":
		return Adaptive, nil
	case "sync":
		return Foreground, nil
	case "async":
		return Background, nil
	}
	switch m := Mode(word); m {
	case Foreground, Background, Detached, Adaptive:
		return m, nil
	}
	return "", fault.New(fault.ParamInvalid, fmt.Sprintf("there is no execution mode %q", word),
		"Use foreground, background, detached or adaptive").With("parameter", "execution_mode")
}

// Request is one command, and how its caller wants to wait for it.
type Request struct {
	Text      string            // the command as its caller wrote it, for the record
	Command   sandbox.Command   // as approved, with what it may use
	Variables map[string]string // those the caller set, for the record
	Session   string
	Input     string // for stdin, which is empty otherwise

	Mode              Mode
	Timeout           time.Duration // 1 s to 1 h; 0: 30 s in the foreground, else none
	MaxTime           time.Duration // that the execution may take, whatever its mode; 0: as Limits say
	ForegroundTimeout time.Duration // how long an adaptive call waits: 1 s to 300 s; 0: 10 s
	MaxOutput         int           // of each stream in the answer, in bytes: 1 KB to 100 MB; 0: 1 MiB
	DropStderr        bool          // what goes there is thrown away; it blocks nobody
	NoPartial         bool          // a time-out is an error, not an answer with what came so far

	Progress func(Progress) `json:"-"` // called while the call waits and something new was written; nil: never
}

// Progress is what a waiting call can tell.
type Progress struct {
	Lines []string // the newest
	Bytes int64    // all that was written so far
	Since time.Duration
}

// Ranges of document 003.
const (
	minWait           = time.Second
	maxTimeout        = time.Hour
	maxForeground     = 300 * time.Second
	defaultTimeout    = 30 * time.Second
	defaultForeground = 10 * time.Second
)

// checked is the request with its defaults, or what is out of range in it.
func (q Request) checked() (Request, error) {
	if q.Mode == "" {
		q.Mode = Adaptive
	}
	if _, err := ParseMode(string(q.Mode)); err != nil {
		return q, err
	}
	if q.Timeout == 0 && q.Mode == Foreground {
		q.Timeout = defaultTimeout
	}
	if q.ForegroundTimeout == 0 {
		q.ForegroundTimeout = defaultForeground
	}
	if q.MaxOutput == 0 {
		q.MaxOutput = output.DefaultCapture
	}
	if q.Timeout != 0 {
		if err := inRange("timeout_seconds", q.Timeout, maxTimeout); err != nil {
			return q, err
		}
	}
	return q, inRange("foreground_timeout_seconds", q.ForegroundTimeout, maxForeground)
}

func inRange(parameter string, d, longest time.Duration) error {
	if d >= minWait && d <= longest {
		return nil
	}
	return fault.New(fault.ParamInvalid, fmt.Sprintf("%s is %v seconds", parameter, d.Seconds()),
		fmt.Sprintf("Use %v to %v seconds", minWait.Seconds(), longest.Seconds())).
		With("parameter", parameter).With("minimum", minWait.Seconds()).With("maximum", longest.Seconds())
}
