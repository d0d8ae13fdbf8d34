package settings

import (
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Kind is what the value of a flag is. The zero Kind is refused by [New].
type Kind int

// The kinds. List and Globs may be given more than once, each time adding to
// the value; of the others, the last one on the command line counts.
const (
	_        Kind = iota
	Text          // any words; with Flag.Dir a path, or one of Flag.Choices
	Bool          // true or false
	Choice        // one of Flag.Choices
	List          // words, comma-separated; with Flag.Dir paths, which are never split at commas
	Globs         // patterns, never split at commas because {a,b} has them
	Duration      // as Go writes it: 30s, 1m30s
	Size          // bytes, with or without a unit: 65536, 128KiB, 1MB
	Count         // a whole number
	Rate          // calls/duration such as 10/1m, or off
	Level         // debug, info, warn, error
)

// Flag is one row of the table of settings: a flag on the command line, a
// variable in the environment and a key in the file, all under one name.
type Flag struct {
	Name    string // as on the command line, without the dashes
	Doc     string // what it means, one line
	Default string // as one would write it; empty: no value
	Kind    Kind
	Choices []string // Choice: all values; Text with Dir: words that are not paths
	Min     int64    // Count, Size: the least value
	Max     int64    // Count, Size: the greatest value; 0: none
	Dir     bool     // the value is a path

	// Variable is one more name of the flag in the environment, which others have
	// published; a list in it is separated by commas. Empty: none.
	Variable string
}

// Shape is the value of the flag in a usage line: "DIR", "N/DURATION",
// "both|text"; empty for a Bool.
func (f Flag) Shape() string {
	switch {
	case f.Kind == List && f.Dir:
		return "DIR"
	case f.Kind == Text && f.Dir:
		return strings.Join(append([]string{"FILE"}, f.Choices...), "|")
	case f.Kind == Choice:
		return strings.Join(f.Choices, "|")
	}
	return shapes[f.Kind]
}

var shapes = map[Kind]string{
	Text: "NAME", List: "NAME,NAME", Globs: "GLOB", Duration: "DURATION", Size: "SIZE",
	Count: "N", Rate: "N/DURATION", Level: "debug|info|warn|error",
}

// Repeats says that every time the flag is given adds to its value.
func (f Flag) Repeats() bool { return f.Kind == List || f.Kind == Globs }

// rate is the value of a Rate; the zero value is off.
type rate struct {
	calls int
	per   time.Duration
}

// parse gives the typed value of words, of which there is at least one. ok is
// false if they are not a valid value; wanted then says what would be.
func (f Flag) parse(words []string) (v any, wanted string, ok bool) {
	last := words[len(words)-1]
	switch f.Kind {
	case Text:
		return last, "", true
	case List, Globs:
		return words, "", true
	case Bool:
		return last == "true", "Write true or false", last == "true" || last == "false"
	case Choice:
		n := len(f.Choices) - 1
		wanted := "Write " + strings.Join(f.Choices[:n], ", ") + " or " + f.Choices[n]
		return last, wanted, slices.Contains(f.Choices, last)
	case Duration:
		d, err := time.ParseDuration(last)
		return d, "Write a duration such as 30s or 1m30s", err == nil && d >= 0
	case Size:
		n, ok := parseSize(last)
		limits, within := f.limits(n)
		return n, "Write a size such as 65536, 128KiB or 1MB" + limits, ok && within
	case Count:
		n, err := strconv.Atoi(last)
		limits, within := f.limits(int64(n))
		return n, "Write a whole number" + limits, err == nil && within
	case Rate:
		if last == "off" {
			return rate{}, "", true
		}
		calls, per, found := strings.Cut(last, "/")
		if found && per != "" && !strings.ContainsAny(per[:1], "0123456789") {
			per = "1" + per // 10/m is 10/1m
		}
		n, err := strconv.Atoi(calls)
		d, invalid := time.ParseDuration(per)
		ok := found && err == nil && invalid == nil && n > 0 && d > 0 // a rate of none would answer no call
		return rate{n, d}, "Write calls/duration such as 10/1m, or off", ok
	case Level:
		level, ok := levels[last]
		return level, "Write debug, info, warn or error", ok
	}
	return nil, "", false
}

var levels = map[string]slog.Level{
	"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
}

// limits are those of f in words, and whether n is within them.
func (f Flag) limits(n int64) (words string, within bool) {
	if f.Max == 0 {
		return fmt.Sprintf(", at least %d", f.Min), n >= f.Min
	}
	return fmt.Sprintf(", from %d to %d", f.Min, f.Max), n >= f.Min && n <= f.Max
}

// units are those of IEC 80000-13: KB is 1000 bytes and KiB is 1024. Longer
// names come first because "B" ends them all.
var units = []struct {
	name  string
	bytes int64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1}, {"", 1},
}

func parseSize(s string) (int64, bool) {
	for _, u := range units {
		digits, found := strings.CutSuffix(s, u.name)
		if !found {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSuffix(digits, " "), 10, 64)
		return n * u.bytes, err == nil && n >= 0 && n <= math.MaxInt64/u.bytes
	}
	return 0, false
}
