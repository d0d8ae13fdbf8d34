package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shell-exec/internal/cmdline"
	"github.com/multiollama/mcp-server/shell-exec/internal/cmdspec"
	"github.com/multiollama/mcp-server/shell-exec/internal/effect"
)

// Rule is a person's decision about the commands that begin with certain words.
type Rule struct {
	ID       string   `toml:"id"`
	Command  any      `toml:"command"`   // "git push", or a list in which a list is alternatives; * within a word
	Flags    []string `toml:"flags"`     // and one of these options
	Decision Verdict  `toml:"decision"`  // allow, ask or deny
	Reason   string   `toml:"reason"`    // for the person who is asked
	Do       string   `toml:"do"`        // what to do instead
	Match    []string `toml:"match"`     // command lines that the rule must match
	NotMatch []string `toml:"not_match"` // and such that it must not

	verdict Verdict
	words   [][]string
}

func (r *Rule) because() string {
	if r.Reason != "" {
		return r.Reason
	}
	return "a rule about " + r.ID
}

// compile checks what the file says.
func (r *Rule) compile() error {
	if r.verdict = r.Decision; r.verdict == 0 {
		return fmt.Errorf("the rule %v has no decision", r.Command)
	}
	words, err := patternWords(r.Command)
	if err != nil {
		return err
	}
	r.words = words
	if r.ID == "" {
		for _, alternatives := range words {
			r.ID = strings.TrimSpace(r.ID + " " + strings.Join(alternatives, "|"))
		}
	}
	if r.verdict == Allow && slices.ContainsFunc(words[0], func(w string) bool { return strings.Contains(w, "*") }) {
		return fmt.Errorf("the rule %s allows programs that it does not name", r.ID)
	}
	return nil
}

func patternWords(command any) ([][]string, error) {
	var out [][]string
	switch c := command.(type) {
	case string:
		for _, w := range strings.Fields(c) {
			out = append(out, []string{w})
		}
		if n := len(out); n > 1 && out[n-1][0] == "*" {
			out = out[:n-1]
		}
	case []any:
		for _, item := range c {
			alternatives, err := stringsOf(item)
			if err != nil {
				return nil, err
			}
			out = append(out, alternatives)
		}
	}
	if len(out) == 0 || slices.ContainsFunc(out, func(w []string) bool { return len(w) == 0 }) {
		return nil, fmt.Errorf("a rule's command is a string or a list of words, not %v", command)
	}
	return out, nil
}

func stringsOf(item any) ([]string, error) {
	if s, ok := item.(string); ok {
		return []string{s}, nil
	}
	list, ok := item.([]any)
	if !ok {
		return nil, fmt.Errorf("a rule's words are strings or lists of strings, not %v", item)
	}
	var out []string
	for _, e := range list {
		s, ok := e.(string)
		if !ok {
			return nil, fmt.Errorf("a rule's alternatives are strings, not %v", e)
		}
		out = append(out, s)
	}
	return out, nil
}

// fit says how a rule fits a command.
type fit int

const (
	doesNot fit = iota
	may         // a word that is not known before could make it fit
	does
)

func (r *Rule) fits(c effect.Command) fit {
	table, err := cmdspec.Known()
	if err != nil {
		return may
	}
	return max(r.fitsWords(c.Argv), r.fitsWords(table.Short(c.Argv)))
}

func (r *Rule) fitsWords(argv []cmdline.Text) fit {
	if len(argv) < len(r.words) {
		return doesNot
	}
	result := does
	for i, alternatives := range r.words {
		switch {
		case slices.ContainsFunc(alternatives, func(a string) bool { return wordFits(a, argv[i]) }):
		case i > 0 && cmdline.Unknown(argv[i]):
			result = may
		default:
			return doesNot
		}
	}
	if len(r.Flags) > 0 && !r.hasFlag(argv[1:]) {
		return doesNot
	}
	return result
}

func (r *Rule) hasFlag(args []cmdline.Text) bool {
	for _, a := range args {
		for _, flag := range r.Flags {
			letter := len(flag) == 2 && flag[0] == '-' && len(a) > 1 && a[0] == '-' && a[1] != '-' && strings.Contains(a[1:], flag[1:])
			if a == flag || strings.HasPrefix(a, flag+"=") || letter {
				return true
			}
		}
	}
	return false
}

// wordFits compares a word with a pattern in which * is any characters.
func wordFits(pattern, word string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == word
	}
	if !strings.HasPrefix(word, parts[0]) {
		return false
	}
	word = word[len(parts[0]):]
	for _, part := range parts[1 : len(parts)-1] {
		at := strings.Index(word, part)
		if at < 0 {
			return false
		}
		word = word[at+len(part):]
	}
	return strings.HasSuffix(word, parts[len(parts)-1])
}

// precedes: the longer rule counts, and of equals the stricter.
func (r *Rule) precedes(o *Rule) bool {
	if o == nil {
		return true
	}
	if a, b := r.weight(), o.weight(); a != b {
		return a > b
	}
	return r.verdict > o.verdict
}

func (r *Rule) weight() int {
	if len(r.Flags) > 0 {
		return 2*len(r.words) + 1
	}
	return 2 * len(r.words)
}

// ruleFor finds the rule that decides about a command. A rule that only may fit asks,
// and one that allows does not cover a program from just anywhere.
func (p *Policy) ruleFor(c effect.Command) *Rule {
	var best *Rule
	for _, r := range p.rules {
		candidate := r
		switch r.fits(c) {
		case doesNot:
			continue
		case may:
			if r.verdict == Allow {
				continue
			}
			copied := *r
			copied.verdict, copied.Reason = Ask, "the rule "+r.ID+" may be about this"
			candidate = &copied
		}
		if (r.verdict != Allow || !c.Local) && candidate.precedes(best) {
			best = candidate
		}
	}
	return best
}

// matching is the first rule of a list that fits, for sure or perhaps.
func matching(list []*Rule, c effect.Command) *Rule {
	for _, r := range list {
		if f := r.fits(c); f == does && (r.verdict != Allow || !c.Local) || f == may && r.verdict != Allow {
			return r
		}
	}
	return nil
}

// proven runs the rule's examples.
func (r *Rule) proven() error {
	for _, example := range r.Match {
		if ok, err := r.matches(example); err != nil || !ok {
			return r.failed(example, "does not match it, though it should", err)
		}
	}
	for _, example := range r.NotMatch {
		if ok, err := r.matches(example); err != nil || ok {
			return r.failed(example, "matches it, though it should not", err)
		}
	}
	return nil
}

func (r *Rule) failed(example, how string, cause error) error {
	if cause != nil {
		how = "has an example that cannot be read"
	}
	return fault.New(fault.Misconfigured, fmt.Sprintf("the rule %q %s: %s", r.ID, how, example), "Correct the rule or its examples").
		With("rule", r.ID).With("example", example).Because(cause)
}

func (r *Rule) matches(example string) (bool, error) {
	w := effect.World{Grammar: cmdline.Bash, Dir: "/home/dev/project", Home: "/home/dev", Workspace: []string{"/home/dev/project"}, Env: map[string]string{}}
	report, err := effect.OfText(w, example)
	if err != nil || report.Unreadable != nil {
		return false, errors.Join(err, report.Unreadable)
	}
	return slices.ContainsFunc(report.Commands, func(c effect.Command) bool { return r.fits(c) == does }), nil
}
