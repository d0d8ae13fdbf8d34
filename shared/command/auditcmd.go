package command

import (
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"maps"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/multiollama/mcp-server/shared/audit"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/text"
)

func (a *app) auditCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "audit",
		Short: "Read the audit log",
		Long: "Read the audit log: the file that these settings name, so that the flags of serve\n" +
			"apply here as well.",
		Args: a.noCommand,
		RunE: help,
	}
	// below adds a command that reads the log; --json is the last of its flags.
	below := func(use, short, jsonDoc string, flags func(*cobra.Command), run func(c *cobra.Command, file string, asJSON bool) error) {
		var asJSON bool
		sub := &cobra.Command{Use: use, Short: short, Args: a.noCommand}
		sub.RunE = func(c *cobra.Command, _ []string) error {
			set, err := a.load()
			if err != nil {
				return err
			}
			file, err := a.auditFile(set, runtime.GOOS)
			if err == nil && file == "" {
				err = fault.New(fault.Misconfigured, fmt.Sprintf("the audit log is %s (%s), which is no file",
					set.Text("audit-log"), set.Source("audit-log")), "Name the file with --audit-log")
			}
			if err != nil {
				return err
			}
			return run(c, file, asJSON)
		}
		flags(sub)
		sub.Flags().BoolVar(&asJSON, "json", false, jsonDoc)
		c.AddCommand(sub)
	}

	var follow bool
	var lines int
	below("tail", "Print the last events, and with -f the ones to come", "as JSON lines", func(c *cobra.Command) {
		c.Flags().BoolVarP(&follow, "follow", "f", false, "go on with events as they come")
		c.Flags().IntVarP(&lines, "lines", "n", 10, "how many of the last events")
	}, func(c *cobra.Command, file string, asJSON bool) error {
		if lines < 1 {
			return fault.New(fault.Misconfigured, fmt.Sprintf("--lines is %d", lines), "Write how many events to print, at least 1")
		}
		if !follow {
			return a.printEvents(audit.Query(file, audit.Filter{Limit: lines}), asJSON)
		}
		ctx, stop := untilSignal(c.Context())
		defer stop()
		return a.printEvents(audit.Follow(ctx, file, lines), asJSON)
	})
	below("verify", "Follow the chain of hashes and name what was changed, removed or moved", "as JSON", func(*cobra.Command) {},
		func(_ *cobra.Command, file string, asJSON bool) error {
			result, err := audit.Verify(file)
			if err != nil {
				return err
			}
			if err := a.writeResult(file, result, asJSON); err != nil || result.OK() {
				return err
			}
			return errFailed
		})
	var f filterFlags
	below("stats", "Count events by tool, verdict and code, with durations", "as JSON", f.bind,
		func(_ *cobra.Command, file string, asJSON bool) error {
			filter, err := f.read(time.Now())
			if err != nil {
				return err
			}
			stats, err := audit.Summarize(file, filter)
			if err != nil {
				return err
			}
			return a.writeStats(stats, asJSON)
		})
	var q filterFlags
	below("query", "Print the events that fit", "as JSON", func(c *cobra.Command) {
		q.bind(c)
		c.Flags().IntVar(&q.filter.Limit, "limit", 0, "at most so many; 0: all")
	}, func(_ *cobra.Command, file string, asJSON bool) error {
		filter, err := q.read(time.Now())
		if err != nil {
			return err
		}
		return a.printEvents(audit.Query(file, filter), asJSON)
	})
	return c
}

func (a *app) writeResult(file string, r audit.Result, asJSON bool) error {
	if asJSON {
		return writeJSON(a.env.Stdout, r)
	}
	var b strings.Builder
	for _, broken := range r.Broken {
		fmt.Fprintf(&b, "%s  %s:%d  event %d: %s\n", broken.Kind, text.Escape(broken.File), broken.Line, broken.Seq, text.Escape(broken.Text))
	}
	if r.Omitted > 0 {
		fmt.Fprintf(&b, "and %d more\n", r.Omitted)
	}
	state := "whole"
	if !r.OK() {
		state = "BROKEN"
	}
	fmt.Fprintf(&b, "%s is %s: %s in %s", file, state, several(r.Events, "event"), several(r.Files, "file"))
	if r.Events > 0 {
		fmt.Fprintf(&b, ", %s to %s", stamp(r.First), stamp(r.Last))
	}
	fmt.Fprintf(&b, "\nhead %s\n", r.Head)
	_, err := io.WriteString(a.env.Stdout, b.String())
	return err
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// filterFlags are the flags of query and stats.
type filterFlags struct {
	filter       audit.Filter
	since, until string
}

func (f *filterFlags) bind(c *cobra.Command) {
	c.Flags().StringVar(&f.filter.Tool, "tool", "", "of this tool only")
	c.Flags().StringVar(&f.filter.Code, "code", "", "with this code only, such as SECURITY_002")
	c.Flags().StringVar(&f.filter.Outcome, "outcome", "", "with this outcome only: begin, ok, error or refused")
	c.Flags().StringVar(&f.filter.Session, "session", "", "of this session only")
	c.Flags().BoolVar(&f.filter.Denied, "denied", false, "only what was denied")
	c.Flags().StringVar(&f.since, "since", "", "from then on: 2h ago is 2h; or 2026-01-31, or RFC 3339")
	c.Flags().StringVar(&f.until, "until", "", "up to then, written as for --since")
}

func (f *filterFlags) read(now time.Time) (audit.Filter, error) {
	filter := f.filter
	for _, bound := range []struct {
		flag, word string
		to         *time.Time
	}{{"since", f.since, &filter.Since}, {"until", f.until, &filter.Until}} {
		t, ok := Moment(bound.word, now)
		if !ok {
			return filter, fault.New(fault.Misconfigured, fmt.Sprintf("--%s %s is no time", bound.flag, bound.word),
				"Write 2h, 2026-01-31 or 2026-01-31T12:00:00Z")
		}
		*bound.to = t
	}
	return filter, nil
}

// Moment is the time that word means: so long before now (2h), a day where now is, or
// a time in full (RFC 3339). Empty: the zero time.
func Moment(word string, now time.Time) (t time.Time, ok bool) {
	if word == "" {
		return time.Time{}, true
	}
	if ago, err := time.ParseDuration(word); err == nil && ago >= 0 {
		return now.Add(-ago), true
	}
	t, err := time.Parse(time.RFC3339, word)
	if err != nil {
		t, err = time.ParseInLocation(time.DateOnly, word, now.Location())
	}
	return t, err == nil
}

// printEvents continues after a line that is not an event, and then fails at the end. In a line
// for a person, values of clients are escaped: a path must not forge a line.
func (a *app) printEvents(events iter.Seq2[audit.Event, error], asJSON bool) error {
	lines := json.NewEncoder(a.env.Stdout)
	lines.SetEscapeHTML(false)
	var outcome error
	for e, err := range events {
		switch {
		case err != nil:
			fmt.Fprintln(a.env.Stderr, fault.From(err))
			outcome = errFailed
			continue
		case asJSON:
			err = lines.Encode(e)
		default:
			words := []string{stamp(e.Time), fmt.Sprint(e.Seq), e.Server, e.Tool, e.Verdict, e.Outcome}
			if e.Outcome != "begin" {
				words = append(words, fmt.Sprintf("%.1fms", e.DurationMS))
			}
			for _, word := range append([]string{e.Code, e.Rule}, e.Paths...) {
				if word != "" {
					words = append(words, word)
				}
			}
			_, err = fmt.Fprintln(a.env.Stdout, text.Escape(strings.Join(words, "  ")))
		}
		if err != nil {
			return err
		}
	}
	return outcome
}

func (a *app) writeStats(s audit.Stats, asJSON bool) error {
	if asJSON {
		return writeJSON(a.env.Stdout, s)
	}
	table := tabwriter.NewWriter(a.env.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "TOOL\tCALLS\tERRORS\tREFUSED\tP50 MS\tP95 MS\tMAX MS\tBYTES")
	for _, u := range append(s.Tools, s.Total) {
		name := text.Escape(u.Tool)
		if name == "" {
			name = "(all)"
		}
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%.1f\t%.1f\t%.1f\t%d\n", name, u.Calls, u.Errors, u.Refused, u.P50MS, u.P95MS, u.MaxMS, u.Bytes)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.env.Stdout, "\nevents: %d\nverdicts: %s\ncodes: %s\n", s.Events, counts(s.Verdicts), counts(s.Codes))
	return err
}

// counts is "allow 3, deny 1", by name.
func counts(m map[string]int) string {
	words := make([]string, 0, len(m))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		words = append(words, fmt.Sprintf("%s %d", text.Escape(name), m[name]))
	}
	return strings.Join(words, ", ")
}
