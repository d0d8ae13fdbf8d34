package process

import (
	"time"

	"github.com/multiollama/mcp-server/shell-exec/internal/output"
	"github.com/multiollama/mcp-server/shell-exec/internal/sandbox"
)

// State is the state of an execution, in the words of document 001.
type State string

// The states.
const (
	Running   State = "running"
	Completed State = "completed" // its first process exited, with any code
	Failed    State = "failed"    // it was ended by a signal, by a limit, or by us
	TimedOut  State = "timeout"
)

// Ending is why an execution ended where that was not its own doing.
type Ending string

// The endings.
const (
	ByDeadline    Ending = "deadline"
	ByCancel      Ending = "cancelled"
	ByTermination Ending = "terminated"
	ByServer      Ending = "server ended"
	ByMemory      Ending = "memory limit"
	ByProcesses   Ending = "process limit"
	ByLoss        Ending = "lost" // a detached job whose supervisor ended without a word
)

// Record is what is known of an execution.
type Record struct {
	ID        string            `json:"id"`
	Text      string            `json:"text"` // cut after 8 KiB
	Session   string            `json:"session,omitempty"`
	Dir       string            `json:"dir"`
	Mode      Mode              `json:"mode"`
	Variables map[string]string `json:"-"` // in no file: they can hold secrets

	State     State     `json:"state"`
	Why       Ending    `json:"why,omitempty"`
	PID       int       `json:"pid"`
	Code      int       `json:"code"`             // 128 + the signal's number where one ended it
	Signal    string    `json:"signal,omitempty"` // its name
	Peak      int64     `json:"peak,omitempty"`   // most resident memory, in bytes; 0: unknown
	Started   time.Time `json:"started"`
	Completed time.Time `json:"completed,omitzero"`
	Written   int64     `json:"written"` // bytes, of both streams
	OutputID  string    `json:"output_id,omitempty"`
	Lost      string    `json:"lost,omitempty"` // why output is not in the store; "" where it is

	// Lingering says that the command ended and processes that it started live on.
	Lingering bool          `json:"lingering,omitempty"`
	Until     time.Time     `json:"until,omitzero"` // when what lingers is ended; zero: no time was set
	Usage     sandbox.Usage `json:"-"`              // where it was asked for
}

// Duration is how long the execution took, or has taken so far.
func (r Record) Duration() time.Duration {
	if r.Completed.IsZero() {
		return time.Since(r.Started)
	}
	return r.Completed.Sub(r.Started)
}

// Processor is how much of one processor the execution takes on average: 1 is all of it.
func (r Record) Processor() float64 {
	if d := r.Duration(); d > 0 {
		return float64(r.Usage.CPU) / float64(d)
	}
	return 0
}

// Transition is why an adaptive call answered before its command ended.
type Transition string

// The transitions of document 001.
const (
	ByForegroundTimeout Transition = "foreground_timeout"
	ByOutputSize        Transition = "output_size_limit"
)

// Result is what a call answers: the record, and what was written so far.
type Result struct {
	Record
	Stdout, Stderr output.Parts
	Transition     Transition
}

// Partial says that more may come, or would have.
func (r Result) Partial() bool { return r.State == Running || r.State == TimedOut }

const maxText = 8 << 10

// shortened is a command as a record keeps it: records are many, and commands can be long.
func shortened(text string) string {
	if len(text) <= maxText {
		return text
	}
	cut := maxText
	for cut > 0 && text[cut]&0xc0 == 0x80 {
		cut--
	}
	return text[:cut] + " […]"
}
