package policy

import (
	"cmp"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shell-exec/internal/effect"
)

// Verdict is what is done about a command. The zero Verdict is none of the three, and
// is treated as Deny.
type Verdict int

// The verdicts, from the mildest: of several, the greatest counts.
const (
	_ Verdict = iota
	Allow
	Ask
	Deny
)

var verdictNames = map[Verdict]string{Allow: "allow", Ask: "ask", Deny: "deny"}

func (v Verdict) String() string {
	if name, ok := verdictNames[v]; ok {
		return name
	}
	return "deny"
}

// UnmarshalText reads allow, ask and deny.
func (v *Verdict) UnmarshalText(text []byte) error {
	for verdict, name := range verdictNames {
		if name == string(text) {
			*v = verdict
			return nil
		}
	}
	return fmt.Errorf("a decision is allow, ask or deny, not %q", text)
}

//go:embed presets.toml
var presetsSource string

// preset is a table of presets.toml. One that extends another has only what it does differently.
type preset struct {
	About    string                  `toml:"about"`
	Extends  string                  `toml:"extends"`
	Unlisted Verdict                 `toml:"unlisted"`
	Strict   bool                    `toml:"strict"`
	Listed   string                  `toml:"listed"`
	Effects  map[effect.Kind]Verdict `toml:"effects"`
}

// presetFile is presets.toml. A limit is laid over a preset and only makes it stricter.
type presetFile struct {
	Advice map[effect.Kind]string `toml:"advice"`
	Preset map[string]preset      `toml:"preset"`
	Limit  map[string]preset      `toml:"limit"`
	Shell  struct {
		Parts string `toml:"parts"`
	} `toml:"shell"`
}

// presets are those of presets.toml. That it can be read is a test's matter.
var presets = sync.OnceValue(func() presetFile {
	var f presetFile
	if err := toml.NewDecoder(strings.NewReader(presetsSource)).DisallowUnknownFields().Decode(&f); err != nil {
		panic(err)
	}
	return f
})

// Presets lists the names of the presets.
func Presets() []string { return []string{"development", "production", "sandbox", "minimal"} }

// Preset is the policy of that name. TestEveryPresetAnswersEveryEffect requires that none leaves an
// effect to the default, which is to deny it.
func Preset(name string) (*Policy, error) {
	f := presets()
	if _, ok := f.Preset[name]; !ok {
		return nil, fault.New(fault.Misconfigured, "there is no preset "+name, "Choose one of "+strings.Join(Presets(), ", ")).
			With("preset", name)
	}
	p := &Policy{name: name, effects: map[effect.Kind]Verdict{}, advice: f.Advice, parts: setOf(f.Shell.Parts)}
	p.extend(f, name)
	return p, nil
}

// extend applies a preset on the one that it extends. Lists of programs are replaced, not joined: a
// stricter preset must not inherit what a milder one lists.
func (p *Policy) extend(f presetFile, name string) {
	row := f.Preset[name]
	if row.Extends != "" {
		p.extend(f, row.Extends)
	}
	maps.Copy(p.effects, row.Effects)
	p.unlisted, p.strict = row.Unlisted, row.Strict
	if row.Listed != "" {
		p.listed = setOf(row.Listed)
	}
}

func setOf(words string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(words) {
		set[w] = true
	}
	return set
}

// Config is what the operator writes about the policy. Only this and the presets can allow
// something; a client reaches no more than Restrictions.
type Config struct {
	Version int                     `toml:"version"`
	Preset  string                  `toml:"preset"`  // development where empty
	Mode    string                  `toml:"mode"`    // permissive, restrictive or custom
	Default Verdict                 `toml:"default"` // for programs that nothing is known about
	Effects map[effect.Kind]Verdict `toml:"effects"`
	Rules   []*Rule                 `toml:"rule"`
	Allowed *[]string               `toml:"allowed_commands"` // nil: there is no such list
	Blocked []string                `toml:"blocked_commands"`
}

// floor are effects that may be asked for, never allowed unasked: they cannot be undone, or give the
// machine away. No mode, setting or rule lowers them (TestASlipInThePolicyFileIsNotAPermission,
// TestARuleNeverLowersARefusal).
var floor = []effect.Kind{effect.DeleteVital, effect.DeleteSystem, effect.DestroyDisk, effect.Power, effect.ForkBomb, effect.KillAll,
	effect.WriteAccounts, effect.ConnectShell}

func isFloor(kind effect.Kind) bool { return slices.Contains(floor, kind) }

const correctFile = "Correct the policy file"

// Load reads a policy file. What it does not understand, and a rule whose examples
// fail, is fault.Misconfigured: a slip must not become a permission.
func Load(data string) (*Policy, error) {
	var c Config
	if err := toml.NewDecoder(strings.NewReader(data)).DisallowUnknownFields().Decode(&c); err != nil {
		return nil, fault.New(fault.Misconfigured, "the policy file cannot be read: "+err.Error(), correctFile).Because(err)
	}
	return New(c)
}

// New is the policy of a Config.
func New(c Config) (*Policy, error) {
	name := cmp.Or(c.Preset, "development")
	if c.Mode == "restrictive" {
		name = "minimal"
	}
	p, err := Preset(name)
	if err != nil {
		return nil, err
	}

	// A mode changes the preset as a whole, before the single settings.
	switch c.Mode {
	case "", "restrictive", "custom":
	case "permissive":
		p.unlisted = Allow
		for kind, verdict := range p.effects {
			if verdict == Ask && !isFloor(kind) {
				p.effects[kind] = Allow
			}
		}
	default:
		return nil, fault.New(fault.Misconfigured, "a mode is permissive, restrictive or custom, not "+c.Mode, correctFile).With("mode", c.Mode)
	}
	if c.Default != 0 {
		p.unlisted = c.Default
	}

	// An effect that is misspelled would keep the verdict that the operator meant to change.
	for kind, verdict := range c.Effects {
		wrong := ""
		switch {
		case !kind.Valid():
			wrong = "there is no effect " + string(kind)
		case isFloor(kind) && verdict == Allow:
			wrong = "the effect " + string(kind) + " can be ask or deny, not allow"
		}
		if wrong != "" {
			return nil, fault.New(fault.Misconfigured, wrong, correctFile).With("effect", string(kind))
		}
		p.effects[kind] = verdict
	}
	for _, given := range c.Rules {
		r := *given
		if err := r.compile(); err != nil {
			return nil, err
		}
		p.rules = append(p.rules, &r)
	}
	return p, p.restrict(c.Allowed, c.Blocked)
}

// restrict adds lists of allowed and of blocked commands. Each list of allowed commands stays: a
// command has to be on all of them, so that a later list takes back nothing of an earlier one.
func (p *Policy) restrict(allowed *[]string, blocked []string) error {
	if allowed != nil {
		list, err := prefixes(*allowed, Allow)
		if err != nil {
			return err
		}
		p.only = append(p.only, list)
	}
	list, err := prefixes(blocked, Deny)
	p.blocked = append(p.blocked, list...)
	return err
}

// prefixes are rules about the commands that begin with the given words.
func prefixes(commands []string, verdict Verdict) ([]*Rule, error) {
	list := []*Rule{}
	for _, c := range commands {
		r := &Rule{Command: c, Decision: verdict}
		if err := r.compile(); err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, nil
}

// Restrictions make a policy stricter. They are what a client may ask for, which may have been talked
// into something: nothing in them can allow what was denied or asked before.
type Restrictions struct {
	Preset  string    // at least as strict as that one; "": none
	Allowed *[]string // only commands that begin like one of these; nil: no such list
	Blocked []string  // no command that begins like one of these
	Effects map[effect.Kind]Verdict
}

// Tightened is p with restrictions. What would loosen it is fault.Forbidden: a caller
// may bind itself, only the operator may untie. TestRestrictionsOnlyTighten compares the verdicts
// before and after.
func (p *Policy) Tightened(r Restrictions) (*Policy, error) {
	c := p.clone()
	if r.Preset != "" {
		if err := c.meet(r.Preset); err != nil {
			return nil, err
		}
	}
	for kind, verdict := range r.Effects {
		if !kind.Valid() || verdict < Allow || verdict > Deny {
			return nil, fault.New(fault.ParamInvalid, fmt.Sprintf("there is no effect %s or no such decision", kind),
				"Use the names that policy show lists")
		}
		if verdict < c.Effect(kind) {
			return nil, fault.New(fault.Forbidden, fmt.Sprintf("%s is %s, and cannot be made %s from here", kind, c.Effect(kind), verdict),
				"Ask the person who runs this server to change the policy file").With("rule", string(kind))
		}
		c.effects[kind] = verdict
	}
	if err := c.restrict(r.Allowed, r.Blocked); err != nil {
		return nil, fault.New(fault.ParamInvalid, "a list of commands has an entry that is no command",
			"Write the program's name and its first words").Because(err)
	}
	return c, nil
}

// meet makes p as strict as another preset where that one is stricter. Rules that allow
// something are gone: the other preset has none. Of two lists of programs, what is on both remains.
func (p *Policy) meet(name string) error {
	other, err := Preset(name)
	if err != nil {
		return fault.New(fault.ParamInvalid, "there is no preset "+name, "Use one of "+strings.Join(Presets(), ", ")).
			With("parameter", "security_preset")
	}
	for kind, verdict := range other.effects {
		p.effects[kind] = max(p.Effect(kind), verdict)
	}
	p.unlisted = max(p.unlisted, other.unlisted)
	p.rules = slices.DeleteFunc(p.rules, func(r *Rule) bool { return r.verdict == Allow })
	if other.strict && p.strict {
		p.listed = maps.Clone(p.listed)
		maps.DeleteFunc(p.listed, func(program string, _ bool) bool { return !other.listed[program] })
	} else if other.strict {
		p.strict, p.listed = true, other.listed
	}
	return nil
}

// Limited is p with a limit of presets.toml over it: "agent" is the only one.
func (p *Policy) Limited(name string) (*Policy, error) {
	limit, ok := presets().Limit[name]
	if !ok {
		return nil, fault.New(fault.Misconfigured, "there is no limit "+name, "Use agent").With("limit", name)
	}
	c := p.clone()
	for kind, verdict := range limit.Effects {
		c.effects[kind] = max(c.effects[kind], verdict)
	}
	return c, nil
}

// clone is a copy that can be changed. A policy that is in use never is: commands are judged while
// restrictions are set.
func (p *Policy) clone() *Policy {
	c := *p
	c.effects = maps.Clone(p.effects)
	c.rules, c.only, c.blocked = slices.Clone(p.rules), slices.Clone(p.only), slices.Clone(p.blocked)
	return &c
}
