package monitor

import (
	"fmt"
	"strings"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
)

// Metrics are kinds of figures.
type Metrics uint8

// The kinds.
const (
	CPU Metrics = 1 << iota
	Memory
	IO
	Network

	All = CPU | Memory | IO | Network
)

var metricNames = []string{"cpu", "memory", "io", "network"} // in the order of the bits

// Has says that all of those are among them.
func (m Metrics) Has(those Metrics) bool { return m&those == those }

// ParseMetrics is what the words mean; no word means all.
func ParseMetrics(names []string) (Metrics, error) {
	var out Metrics
	for _, name := range names {
		bit := Metrics(0)
		for i, known := range metricNames {
			if name == known {
				bit = 1 << i
			}
		}
		if bit == 0 {
			return 0, fault.New(fault.ParamInvalid, fmt.Sprintf("there is no metric %q", name), "Choose from "+strings.Join(metricNames, ", "))
		}
		out |= bit
	}
	if out == 0 {
		return All, nil
	}
	return out, nil
}

// Sample is what a tree was and did in a span of time that ends at Time. A fresh one is of one look, and its span is the
// time since the look before; old ones are several in one.
type Sample struct {
	Time      time.Time
	Span      time.Duration // 0: the first look, which has nothing before it
	Looks     int           // how many it is made of
	Reported  Metrics       // which of the figures below are known; the others mean nothing
	Processes int           // the most at one look

	CPU     Processor
	Memory  Resident
	IO      Transfer
	Network Sockets
}

// Processor is what was used of the processors.
type Processor struct {
	Percent float64       // of one core, over the span. The system counts in hundredths of a second: over 100 ms in steps of 10 %
	Max     float64       // the most Percent of one look
	Time    time.Duration // used since the processes began
}

// Resident is main memory. What processes share is counted for each of them: the sum can
// be more than what would be free without them.
type Resident struct {
	Bytes int64 // the mean of the looks
	Max   int64 // the most at one look
}

// Transfer is bytes moved since the processes began; of those that nobody of the tree has asked for the end of, what
// they moved until the last look.
type Transfer struct {
	Read, Written               int64 // by calls that read and write: files, pipes, terminals, sockets of some programs
	StorageRead, StorageWritten int64 // to and from disks; what is written is counted when memory is dirtied
	Hidden                      int   // processes that did not let their figures be seen, and are missing above
}

// Sockets are the open sockets of a tree at the last look, each counted once however many processes hold it, and the
// traffic of the network they are in. The system does not tell traffic by process.
type Sockets struct {
	TCP, Listening, UDP, Unix, Other int
	Hidden                           int // processes that did not let their descriptors be seen

	// Received and Sent are bytes of all interfaces but the loopback since they came up. Own says that the tree has a
	// network of its own: if not, this is the traffic of the whole machine or container, the tree's included.
	Received, Sent int64
	Own            bool
}

// merge is one sample for two that follow each other.
func merge(a, b Sample) Sample {
	out := b
	span := b.Time.Sub(a.Time)
	out.Span = span + a.Span
	out.Looks = a.Looks + b.Looks
	out.Reported = a.Reported | b.Reported
	out.Processes = max(a.Processes, b.Processes)
	switch {
	case !a.Reported.Has(CPU) || a.Span == 0:
	case !b.Reported.Has(CPU):
		out.CPU = a.CPU
	default:
		out.CPU = Processor{
			Percent: (a.CPU.Percent*float64(a.Span) + b.CPU.Percent*float64(span)) / float64(a.Span+span),
			Max:     max(a.CPU.Max, b.CPU.Max),
			Time:    b.CPU.Time,
		}
	}
	switch {
	case !a.Reported.Has(Memory):
	case !b.Reported.Has(Memory):
		out.Memory = a.Memory
	default:
		n, k := float64(a.Looks), float64(b.Looks)
		mean := (float64(a.Memory.Bytes)*n + float64(b.Memory.Bytes)*k) / (n + k)
		out.Memory = Resident{Bytes: int64(mean), Max: max(a.Memory.Max, b.Memory.Max)}
	}
	if !b.Reported.Has(IO) {
		out.IO = a.IO
	}
	if !b.Reported.Has(Network) {
		out.Network = a.Network
	}
	return out
}
