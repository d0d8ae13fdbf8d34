package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/multiollama/mcp-server/shared/fault"
	safe "github.com/multiollama/mcp-server/shared/text"
	"github.com/multiollama/mcp-server/shell-exec/internal/cmdline"
	"github.com/multiollama/mcp-server/shell-exec/internal/effect"
)

// Finding is one reason for a decision: an effect, a rule about a command, or the directory. Those that
// allow are findings too, since policy explain prints them.
type Finding struct {
	Verdict Verdict
	Rule    string      // the rule's id, or the effect's name
	Effect  effect.Kind // where an effect is the reason
	Why     string
	Do      string
	Argv    []string // the command, … where it is not known
	Via     []string // what wraps it
	Span    cmdline.Span

	Opens  string // the file that a yes opens for the command; "" for none
	Writes bool   // to be changed, not only read

	path    string // the one file that it is about, if that is known
	outside bool   // a directory is what is wrong
	vain    bool   // it would be asked, but a yes could not bring it about
}

// Decision is what is done about one request. The zero Decision refuses. It holds the request, so that what
// is started or shown later cannot be another one than the one that was judged.
type Decision struct {
	request  Request
	findings []Finding
	commands []effect.Command
	verdict  Verdict
	id       string

	incomplete, lasting bool
	dirs                []string

	alone  []string // the words, where it is one command and nothing else
	lifted bool     // a yes has it run outside the sandbox
}

func (d *Decision) add(f Finding) { d.findings = append(d.findings, f) }

// Verdict is what is done.
func (d Decision) Verdict() Verdict {
	if d.verdict == 0 {
		return Deny
	}
	return d.verdict
}

// Incomplete says that the text could not be read only because more of it is missing: a
// quote, a here-document or a loop is still open. The verdict is about what is there.
func (d Decision) Incomplete() bool { return d.incomplete }

// Lasting says that the text defines functions or aliases, or changes how a shell reads
// later lines: once typed, it is part of the past of what is typed next.
func (d Decision) Lasting() bool { return d.lasting }

// Dirs are the directories that the shell may change to; "" is one that is not known.
func (d Decision) Dirs() []string { return slices.Clone(d.dirs) }

// UnknownKeys is a text of a past of which nobody knows what it ran.
const UnknownKeys = "\x00"

// ID names the decision: the same command, in the same surroundings, asked for the same
// reasons, has the same ID. TestAQuestionIsAnsweredForExactlyOneDecision tries the ID of
// another command and that of another environment.
func (d Decision) ID() string { return d.id }

// Approved is the command, where it is allowed without asking. Otherwise the error says
// which rule denies it and what to do instead.
func (d Decision) Approved() (Command, error) {
	if d.Verdict() != Allow {
		return Command{}, d.fault()
	}
	return Command{request: d.request, approved: true}, nil
}

// Confirmed is the command of a decision to ask, after the user has agreed. id is the
// ID of the decision that the user was shown: it must be this one, as the command may have been judged
// again meanwhile. A refusal cannot be confirmed.
func (d Decision) Confirmed(id string) (Command, error) {
	if d.Verdict() != Ask {
		return d.Approved()
	}
	if id == "" || id != d.id {
		return Command{}, fault.New(fault.Forbidden, "the person has agreed to another command than this one", "Ask again for this one")
	}
	return Command{request: d.request, approved: true, alone: d.Lifted()}, nil
}

// fault is why the command cannot start: the strictest finding, and what to do instead. The rule that would
// allow it is named, so that the operator can copy it; the model that reads the error cannot set one
// (TestARefusalSaysWhichRuleWhereAndWhatInstead).
func (d Decision) fault() error {
	f := Finding{Verdict: Deny, Rule: "policy", Why: "nothing has judged the command"}
	if len(d.findings) > 0 {
		f = d.findings[0]
	}
	code, msg, do, allow := fault.DangerousCommand, "the command is refused: "+f.Why, f.Do, ""
	switch {
	case d.Verdict() == Ask:
		allow = f.allowingRule()
		if d.lifted || f.Opens != "" {
			allow = "a confirmation" // a rule would let it start, and the sandbox would stop it
		}
		code, msg = fault.Forbidden, "the command needs the person's consent: "+f.Why
		do = cmp.Or(f.Do, "Do it another way") + ", or ask the person who runs this server to allow it with " + allow
	case f.vain:
		code = fault.Forbidden
	case f.outside:
		code = fault.OutsideAllowed
	}
	e := fault.New(code, msg, do).With("rule", f.Rule).With("span", []int{f.Span.Start, f.Span.End})
	if f.Effect != "" {
		e = e.With("effect", string(f.Effect))
	}
	if len(f.Argv) > 0 {
		e = e.With("command", f.Argv)
	}
	if f.Do != "" {
		e = e.With("instead", f.Do)
	}
	if allow != "" {
		e = e.With("allow_with", allow)
	}
	return e
}

// allowingRule is the rule that would make the question unnecessary: the narrowest, about the program and its
// sub-command, then one about the effect. Of the floor there is none, and of a program that is not known.
func (f Finding) allowingRule() string {
	if len(f.Argv) > 0 && !isFloor(f.Effect) && !strings.Contains(f.Argv[0], "…") {
		words := f.Argv[:1]
		if len(f.Argv) > 1 && !strings.ContainsAny(f.Argv[1], "-/…*.") {
			words = f.Argv[:2]
		}
		return `the rule {command = "` + strings.Join(words, " ") + `", decision = "allow"}`
	}
	if f.Effect != "" && !isFloor(f.Effect) {
		return `the effect "` + string(f.Effect) + `" = "allow"`
	}
	return "a confirmation"
}

// Command is a command that may be started. The zero Command cannot be, and no other package can make
// another one: that nothing runs unjudged rests on this.
type Command struct {
	request  Request
	approved bool
	alone    []string // started as it is, without a shell, outside the sandbox
}

// Launch is what to start, and where.
type Launch struct {
	Argv  []string
	Dir   string
	Env   map[string]string
	Input string
}

// Launch says how the command is started: exactly what was judged, with a shell that
// reads no files at its start, which could define functions or aliases under the names that were judged
// (TestAnAllowedCommandStartsAsItWasJudged).
func (c Command) Launch() (Launch, error) {
	if !c.approved {
		return Launch{}, fault.New(fault.Forbidden, "nobody has approved the command", "Report this: the server should have judged it first")
	}
	r := c.request
	if r.Typed {
		return Launch{}, fault.New(fault.Forbidden, "what is typed at a prompt is not started by itself", "Type it, or ask for a command")
	}
	argv := r.Argv
	if len(c.alone) > 0 {
		argv = c.alone
	}
	if len(argv) == 0 {
		switch {
		case r.Shell.Path == "":
			return Launch{}, fault.New(fault.Unavailable, "there is no shell to run the command", "Give a program and its arguments instead")
		case r.Shell.Grammar == cmdline.Bash:
			argv = []string{r.Shell.Path, "--noprofile", "--norc", "-c", r.Text}
		case r.Shell.Grammar == cmdline.Zsh:
			argv = []string{r.Shell.Path, "-f", "-c", r.Text}
		case r.Shell.Grammar == cmdline.Fish:
			argv = []string{r.Shell.Path, "--no-config", "-c", r.Text}
		default:
			argv = []string{r.Shell.Path, "-c", r.Text}
		}
	}
	return Launch{Argv: slices.Clone(argv), Dir: r.Dir, Env: r.environment(), Input: r.Input}, nil
}

// Text is the command as it is shown to the user: what could hide in it is escaped, so that what the user
// agrees to is what runs (TestHiddenCharactersAreShownToThePerson).
func (d Decision) Text() string {
	if len(d.request.Argv) > 0 {
		return visible(fmt.Sprintf("%q", d.request.Argv))
	}
	return visible(d.request.Text)
}

// visible escapes control characters, and those that reorder or hide text.
func visible(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r == '\n' || r == '\t' || !safe.Hides(r) {
			b.WriteRune(r)
			continue
		}
		fmt.Fprintf(&b, "\\u{%x}", r)
	}
	return b.String()
}

// Explain says in lines of text what was decided and why: for each reason the rule, what
// the command does, where that is written, and what to do instead. It is what policy explain prints.
func (d Decision) Explain() string {
	var b strings.Builder
	fmt.Fprintln(&b, strings.ToUpper(d.Verdict().String()))
	for _, f := range d.findings {
		if f.Verdict == Allow && f.Rule == string(f.Effect) {
			continue
		}
		fmt.Fprintf(&b, "  %-5s %s: %s%s\n", f.Verdict, f.Rule, f.Why, through(f.Via))
		b.WriteString(d.markedLine(f))
		if f.Do != "" && f.Verdict != Allow {
			fmt.Fprintf(&b, "        try: %s\n", f.Do)
		}
	}
	if len(d.commands) > 0 {
		b.WriteString("commands:\n")
	}
	for _, c := range d.commands {
		fmt.Fprintf(&b, "  %s%s\n", visible(fmt.Sprintf("%q", shown(c.Argv))), through(c.Via))
	}
	return b.String()
}

// through names what wraps a command, outermost first.
func through(via []string) string {
	if len(via) == 0 {
		return ""
	}
	return " (via " + strings.Join(via, " > ") + ")"
}

// markedLine is the line that a finding is in, with the place marked under it.
func (d Decision) markedLine(f Finding) string {
	text := d.request.Text
	if len(d.request.Argv) > 0 {
		text = strings.Join(d.request.Argv, " ")
	}
	from, to := f.Span.Start, f.Span.End
	if from < 0 || to > len(text) || from >= to {
		return ""
	}
	start := strings.LastIndexByte(text[:from], '\n') + 1
	end := len(text)
	if n := strings.IndexByte(text[from:], '\n'); n >= 0 {
		end = from + n
	}
	before, marked := len([]rune(visible(text[start:from]))), len([]rune(visible(text[from:min(to, end)])))
	markers := strings.Repeat(" ", before) + strings.Repeat("^", max(1, marked))
	return fmt.Sprintf("        %s\n        %s\n", visible(text[start:end]), markers)
}
