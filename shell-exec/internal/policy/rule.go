package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shell-exec/internal/cmdline"
	"github.com/multiollama/mcp-server/shell-exec/internal/effect"
)

// Rule is the operator's decision about the commands that begin with certain words. It is about one
// simple command of a text, wherever that is and whatever wraps it, and speaks for no other.
type Rule struct {
	ID       string   `toml:"id"`
	Command  any      `toml:"command"`   // "git push", or a list in which a list is alternatives; * within a word
	Flags    []string `toml:"flags"`     // and one of these options
	Decision Verdict  `toml:"decision"`  // allow, ask or deny
	Reason   string   `toml:"reason"`    // for the user who is asked
	Do       string   `toml:"do"`        // what to do instead
	Match    []string `toml:"match"`     // command lines that the rule must match
	NotMatch []string `toml:"not_match"` // and such that it must not

	verdict Verdict
	words   [][]string
}

// wrongRule is the error of a rule that cannot be meant as it is written.
func wrongRule(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return fault.New(fault.Misconfigured, err.Error(), correctFile).Because(err)
}

// compile checks what the file says, and tries the rule on its examples. A rule that allows must name its
// program: "*" would allow programs that its writer has never heard of.
func (r *Rule) compile() error {
	if r.verdict = r.Decision; r.verdict == 0 {
		return wrongRule("the rule %v has no decision", r.Command)
	}
	r.words = nil
	switch c := r.Command.(type) {
	case string:
		for _, w := range strings.Fields(c) {
			r.words = append(r.words, []string{w})
		}
		if n := len(r.words); n > 1 && r.words[n-1][0] == "*" {
			r.words = r.words[:n-1]
		}
	case []any:
		for _, item := range c {
			alternatives, err := stringsOf(item)
			if err != nil {
				return err
			}
			r.words = append(r.words, alternatives)
		}
	}
	if len(r.words) == 0 || slices.ContainsFunc(r.words, func(w []string) bool { return len(w) == 0 }) {
		return wrongRule("a rule's command is a string or a list of words, not %v", r.Command)
	}
	if r.ID == "" {
		for _, alternatives := range r.words {
			r.ID = strings.TrimSpace(r.ID + " " + strings.Join(alternatives, "|"))
		}
	}
	if r.verdict == Allow && slices.ContainsFunc(r.words[0], func(w string) bool { return strings.Contains(w, "*") }) {
		return wrongRule("the rule %s allows programs that it does not name", r.ID)
	}
	return r.tryExamples()
}

// stringsOf is one word of a rule: a text, or a list of alternatives.
func stringsOf(item any) ([]string, error) {
	list, ok := item.([]any)
	if s, isString := item.(string); isString {
		return []string{s}, nil
	} else if !ok {
		return nil, wrongRule("a rule's words are strings or lists of strings, not %v", item)
	}
	var out []string
	for _, e := range list {
		s, ok := e.(string)
		if !ok {
			return nil, wrongRule("a rule's alternatives are strings, not %v", e)
		}
		out = append(out, s)
	}
	return out, nil
}

// tryExamples reads the rule's examples as command lines, wherever the server runs: in fixed
// surroundings, so that the same file is right on every machine.
func (r *Rule) tryExamples() error {
	around := effect.Surroundings{Grammar: cmdline.Bash, Dir: "/home/dev/project", Home: "/home/dev", Workspace: []string{"/home/dev/project"},
		Env: map[string]string{}}
	for i, example := range slices.Concat(r.Match, r.NotMatch) {
		report, wanted := effect.OfText(around, example), i < len(r.Match)
		matches := slices.ContainsFunc(report.Commands, func(c effect.Command) bool { return r.fits(c) == does })
		how := "matches it, though it should not"
		switch {
		case report.Unreadable != nil:
			how = "has an example that cannot be read"
		case matches == wanted:
			continue
		case wanted:
			how = "does not match it, though it should"
		}
		return fault.New(fault.Misconfigured, fmt.Sprintf("the rule %q %s: %s", r.ID, how, example), "Correct the rule or its examples").
			With("rule", r.ID).With("example", example).Because(report.Unreadable)
	}
	return nil
}

// fit says how a rule fits a command.
type fit int

const (
	doesNot fit = iota
	may         // a word that is not known before could make it fit
	does
)

// fits compares the rule with a command as it is written, and without the options before its first
// operand: "git push" is about git -C x push as well.
func (r *Rule) fits(c effect.Command) fit {
	return max(r.fitsWords(c.Argv), r.fitsWords(effect.Short(c.Argv)))
}

// fitsWords compares the rule with words. The program's name has to be known for a rule to fit; another
// word that is not known may be what the rule asks for.
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
	isThere := func(flag string) bool { // -r is in -rf as well
		letter := len(flag) == 2 && flag[0] == '-'
		return slices.ContainsFunc(argv[1:], func(a cmdline.Text) bool {
			letters := letter && len(a) > 1 && a[0] == '-' && a[1] != '-'
			return a == flag || strings.HasPrefix(a, flag+"=") || letters && strings.Contains(a[1:], flag[1:])
		})
	}
	if len(r.Flags) > 0 && !slices.ContainsFunc(r.Flags, isThere) {
		return doesNot
	}
	return result
}

// wordFits compares a word with a pattern in which * is any characters.
func wordFits(pattern, word string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == word
	}
	rest, ok := strings.CutPrefix(word, parts[0])
	for _, part := range parts[1 : len(parts)-1] {
		if _, after, found := strings.Cut(rest, part); ok && found {
			rest = after
		} else {
			return false
		}
	}
	return ok && strings.HasSuffix(rest, parts[len(parts)-1])
}

// ruleFor finds the rule that decides about a command: the longer rule counts, and of equals the stricter. A rule that
// only may fit asks, and one that allows does not cover a program from just anywhere: ./git of the workspace
// is not git.
func (p *Policy) ruleFor(c effect.Command) *Rule {
	weight := func(r *Rule) int { return 2*len(r.words) + min(len(r.Flags), 1) }
	var best *Rule
	for _, r := range p.rules {
		f := r.fits(c)
		if f == doesNot || r.verdict == Allow && (f == may || c.Local) {
			continue
		}
		if f == may {
			copied := *r
			copied.verdict, copied.Reason = Ask, "the rule "+r.ID+" may be about this"
			r = &copied
		}
		if best == nil || weight(r) > weight(best) || weight(r) == weight(best) && r.verdict > best.verdict {
			best = r
		}
	}
	return best
}

// matching is the first rule of a list that fits. In a list of blocked commands a rule that only may fit
// counts, in one of allowed commands it does not: what is not known is never in the command's favour.
func matching(list []*Rule, c effect.Command) *Rule {
	for _, r := range list {
		if f := r.fits(c); f == does && (r.verdict != Allow || !c.Local) || f == may && r.verdict != Allow {
			return r
		}
	}
	return nil
}
