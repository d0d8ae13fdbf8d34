// Package policy decides whether a command may run: it is allowed, or the user is
// asked, or it is denied.
//
// It never starts anything and never decides by names: what package effect says a
// command does is what counts, and rules are exceptions for single commands. Only
// [Policy.Judge] makes a [Command] that can be started, by way of a [Decision] that
// allows it or that was confirmed. A policy is consent and early warning; it stops no
// attacker, which is what the sandbox is for. It accesses memory only.
package policy

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/multiollama/mcp-server/shell-exec/internal/cmdline"
	"github.com/multiollama/mcp-server/shell-exec/internal/effect"
)

// Policy says what is done about each effect and each command. The zero Policy denies
// everything (TestTheZeroValuesRefuse); Preset and Load make others. It does not change, so that
// several goroutines may use it; Tightened and Limited make a new one.
type Policy struct {
	name     string
	effects  map[effect.Kind]Verdict
	advice   map[effect.Kind]string
	unlisted Verdict // for programs that nothing is known about
	strict   bool    // for programs that are not listed
	listed   map[string]bool
	parts    map[string]bool // of the shell: never listed
	rules    []*Rule
	only     [][]*Rule // of each list one rule must match
	blocked  []*Rule
}

// Name is the preset that the policy comes from.
func (p *Policy) Name() string { return p.name }

// Effect is what the policy says to an effect. An effect that it does not list is denied: one that was
// added to package effect and forgotten here must not be allowed.
func (p *Policy) Effect(kind effect.Kind) Verdict {
	if v, ok := p.effects[kind]; ok {
		return v
	}
	return Deny
}

// Shell is the program that runs a text, and its grammar. The two have to agree: a text that is read as
// bash reads it must not be given to another shell (TestTheGrammarIsThatOfTheShellThatRuns).
type Shell struct {
	Path    string
	Grammar cmdline.Grammar
}

// Request is a command as it would be started. With Argv it is a program and its
// arguments, and no shell is involved; otherwise Text is a script for Shell. All of it is part
// of the decision's ID: a user who agreed to one request has not agreed to another.
type Request struct {
	Text      string
	Argv      []string
	Shell     Shell
	Dir       string            // the working directory
	Home      string            // the user's home directory
	Workspace []string          // the directories that may be worked in
	Env       map[string]string // the whole environment
	Input     string            // what is on standard input
	Links     effect.Links      // where links lead; may be nil
	Given     map[string]string // of Env, what the client chose
	Sandbox   Sandbox           // what it will run in

	// Terminal says that a shell that Argv names will be typed at, and that what is typed
	// will be checked: without options that run something it is no code of its own.
	Terminal bool
	// Typed says that Text is typed at the prompt of a shell that has a past. Dir is where
	// that shell is now, Env what it was started with; it may have changed every variable.
	Typed bool
	Past  []string // the texts typed at it before whose decisions were Lasting, oldest first
}

// steering variables change how the shell itself reads a script. They neither count nor pass: a command
// is judged and started without them, whoever has set them.
var steering = strings.Fields("BASH_ENV ENV SHELLOPTS BASHOPTS PROMPT_COMMAND PS4 CDPATH GLOBIGNORE IFS POSIXLY_CORRECT EXECIGNORE FIGNORE")

// environment is what the command gets, for its judgement as for its start.
func (r Request) environment() map[string]string {
	env := make(map[string]string, len(r.Env))
	for name, v := range r.Env {
		if !slices.Contains(steering, name) && !strings.HasPrefix(name, "BASH_FUNC_") {
			env[name] = v
		}
	}
	return env
}

// Judge decides about a command. It asks no one, starts nothing, and is the only origin of a Command:
// what it has put into the request here is what Launch starts later, to the letter.
func (p *Policy) Judge(r Request) Decision {
	r.Text = strings.ReplaceAll(r.Text, "\r\n", "\n")
	r.Env = r.environment()
	d := Decision{request: r}

	// What is typed runs where its shell is by now. That may be anywhere, and the effects say what it does there.
	if r.Dir != "" && !r.Typed && !within(r.Dir, r.Workspace) {
		d.add(Finding{Verdict: Deny, Rule: "workspace", outside: true, Why: "the working directory " + r.Dir + " is not in the workspace",
			Do: "Work in " + strings.Join(r.Workspace, " or ")})
	}

	// The effects of the command in the surroundings that it will run in.
	around := effect.Surroundings{Grammar: r.Shell.Grammar, Dir: r.Dir, Home: r.Home, Workspace: r.Workspace, Env: r.Env, Input: r.Input,
		Links: r.Links, Typed: r.Typed, Past: r.Past, Terminal: r.Terminal}
	var report effect.Report
	if len(r.Argv) > 0 {
		report = effect.OfArgv(around, r.Argv)
	} else {
		report = effect.OfText(around, r.Text)
	}
	unreadable, ok := errors.AsType[*cmdline.Unreadable](report.Unreadable)
	d.incomplete = ok && unreadable.Incomplete
	d.commands, d.lasting, d.dirs = report.Commands, report.Lasting, report.Dirs
	d.alone, d.lifted = report.Alone, r.lifted(report.Alone)

	// Verdicts, then the questions that would be asked in vain, then the order and the ID.
	p.judgeEffects(&d, report)
	d.denyVainQuestions()
	rank := func(f Finding) int { // what is asked in vain comes after what is denied in any case
		if f.vain {
			return 2*int(f.Verdict) - 1
		}
		return 2 * int(f.Verdict)
	}
	slices.SortStableFunc(d.findings, func(a, b Finding) int { return rank(b) - rank(a) })
	d.verdict = Allow
	if len(d.findings) > 0 {
		d.verdict = max(Allow, d.findings[0].Verdict)
	}
	data, err := json.Marshal([]any{r.Text, r.Argv, r.Shell, r.Dir, r.Home, r.Workspace, r.Env, r.Input, r.Terminal, r.Typed, r.Past, r.Given,
		r.Sandbox, d.lifted, d.Asked()})
	if err == nil { // strings and maps of strings can always be written
		sum := sha256.Sum256(data)
		d.id = hex.EncodeToString(sum[:])
	}
	return d
}

// within says that dir is one of the roots or in one.
func within(dir string, roots []string) bool {
	return slices.ContainsFunc(roots, func(root string) bool { return effect.Under(dir, root) })
}

// judgeEffects gives each effect its verdict, and each command that of its rule. A rule that allows a command
// answers the questions about that command's effects, and no denial of one. Each command of a text
// is weighed, so that nothing hides behind something that is allowed (FuzzARefusedCommandIsRefusedAfterAnything,
// TestEveryDangerousCoreIsRefusedWhateverWrapsIt).
func (p *Policy) judgeEffects(d *Decision, report effect.Report) {
	ruled := make([]*Rule, len(report.Commands))
	for i, c := range report.Commands {
		ruled[i] = p.ruleFor(c)
		p.judgeCommand(d, c, ruled[i])
	}
	for _, e := range report.Effects {
		f := Finding{Verdict: p.Effect(e.Kind), Rule: string(e.Kind), Effect: e.Kind, Why: e.Why, Do: cmp.Or(e.Do, p.advice[e.Kind]), Via: e.Via,
			Span: e.Span, path: e.Path, outside: e.Kind == effect.WriteOutside || e.Kind == effect.DeleteOutside}
		if e.Command >= 0 {
			f.Argv = shown(report.Commands[e.Command].Argv)
			if rule := ruled[e.Command]; f.Verdict == Ask && rule != nil && rule.verdict == Allow && !isFloor(e.Kind) {
				continue // the rule is about this very command; a denial stays
			}
		}
		d.add(f)
	}
}

// judgeCommand adds what a rule, a restriction or the lack of either says.
func (p *Policy) judgeCommand(d *Decision, c effect.Command, rule *Rule) {
	name := c.Argv[0]
	add := func(verdict Verdict, rule, why, do string) {
		d.add(Finding{Verdict: verdict, Rule: rule, Why: why, Do: do, Argv: shown(c.Argv), Via: c.Via, Span: c.Span})
	}
	if b := matching(p.blocked, c); b != nil {
		add(Deny, b.ID, "a restriction blocks "+b.ID, "Do it another way")
		return
	}
	for _, list := range p.only {
		if matching(list, c) == nil && (len(list) == 0 || !p.parts[name]) {
			add(Deny, "allowed_commands", cmdline.Show(name)+" is not among the allowed commands", "Use one of those")
			return
		}
	}
	if rule != nil {
		add(rule.verdict, rule.ID, cmp.Or(rule.Reason, "a rule about "+rule.ID), rule.Do)
	} else if p.unlisted > Allow && !p.parts[name] && (!c.Known || c.Local || p.strict && !p.listed[name]) {
		add(p.unlisted, "unlisted", "no rule allows "+cmdline.Show(name), "Use a listed program, or ask the person to add a rule")
	}
}

// shown are words for people, … where they are not known.
func shown(argv []cmdline.Text) []string {
	out := make([]string, len(argv))
	for i, a := range argv {
		out[i] = cmdline.Show(a)
	}
	return out
}
