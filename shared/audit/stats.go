package audit

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
)

// Stats sums up events. An event with outcome begin is counted in Events and
// Outcomes only: its call has an event of its own when it ends.
type Stats struct {
	Events     int            `json:"events"`
	Unreadable int            `json:"unreadable"` // lines that are not events
	First      time.Time      `json:"first"`
	Last       time.Time      `json:"last"`
	Outcomes   map[string]int `json:"outcomes"`
	Verdicts   map[string]int `json:"verdicts"`
	Codes      map[string]int `json:"codes"`
	Total      Usage          `json:"total"`
	Tools      []Usage        `json:"tools"` // by name
}

// Usage is what calls amounted to.
type Usage struct {
	Tool    string  `json:"tool,omitempty"`
	Calls   int     `json:"calls"`
	Errors  int     `json:"errors"`  // outcome error
	Refused int     `json:"refused"` // outcome refused
	P50MS   float64 `json:"p50_ms"`  // half of the calls took no longer
	P95MS   float64 `json:"p95_ms"`
	MaxMS   float64 `json:"max_ms"`
	Bytes   int64   `json:"bytes"`

	durations []float64
}

// Summarize sums up the chosen events of all files. It keeps eight bytes for
// each of them.
func Summarize(file string, f Filter) (Stats, error) {
	s := Stats{Outcomes: map[string]int{}, Verdicts: map[string]int{}, Codes: map[string]int{}}
	tools := map[string]*Usage{}
	for e, err := range Query(file, f) {
		if errors.Is(err, fault.ParamMalformed) {
			s.Unreadable++
			continue
		}
		if err != nil {
			return Stats{}, err
		}
		s.Events++
		if s.First.IsZero() {
			s.First = e.Time
		}
		s.Last = e.Time
		s.Outcomes[e.Outcome]++
		if e.Outcome == "begin" {
			continue
		}
		s.Verdicts[e.Verdict]++
		if e.Code != "" {
			s.Codes[e.Code]++
		}
		if tools[e.Tool] == nil {
			tools[e.Tool] = &Usage{Tool: e.Tool}
		}
		for _, u := range []*Usage{tools[e.Tool], &s.Total} {
			u.Calls++
			u.Bytes += e.Bytes
			switch e.Outcome {
			case "error":
				u.Errors++
			case "refused":
				u.Refused++
			}
			u.durations = append(u.durations, e.DurationMS)
		}
	}
	for _, u := range tools {
		u.finish()
		s.Tools = append(s.Tools, *u)
	}
	s.Total.finish()
	slices.SortFunc(s.Tools, func(a, b Usage) int { return strings.Compare(a.Tool, b.Tool) })
	return s, nil
}

func (u *Usage) finish() {
	if len(u.durations) == 0 {
		return
	}
	slices.Sort(u.durations)
	rank := func(percent int) float64 { // the smallest that so many do not exceed (nearest rank)
		return u.durations[(len(u.durations)*percent+99)/100-1]
	}
	u.P50MS, u.P95MS, u.MaxMS = rank(50), rank(95), rank(100)
	u.durations = nil
}
