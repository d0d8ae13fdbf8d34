package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shell-exec/internal/effect"
)

// Config is what a person writes about the policy.
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

// floor are effects that may be asked for, never allowed unasked.
var floor = []effect.Kind{effect.DeleteVital, effect.DeleteSystem, effect.DestroyDisk, effect.Power, effect.ForkBomb, effect.KillAll, effect.WriteAccounts, effect.ConnectShell}

func isFloor(kind effect.Kind) bool {
	for _, k := range floor {
		if k == kind {
			return true
		}
	}
	return false
}

// Load reads a policy file. What it does not understand, and a rule whose examples
// fail, is fault.Misconfigured: a slip must not become a permission.
func Load(data string) (*Policy, error) {
	var c Config
	d := toml.NewDecoder(strings.NewReader(data))
	if err := d.DisallowUnknownFields().Decode(&c); err != nil {
		return nil, misconfigured("the policy file cannot be read: " + err.Error()).Because(err)
	}
	return New(c)
}

func misconfigured(what string) *fault.Error {
	return fault.New(fault.Misconfigured, what, "Correct the policy file")
}

// New is the policy of a Config.
func New(c Config) (*Policy, error) {
	if c.Preset == "" {
		c.Preset = "development"
	}
	if c.Mode == "restrictive" {
		c.Preset = "minimal"
	}
	p, err := Preset(c.Preset)
	if err != nil {
		return nil, err
	}
	if err := p.mode(c.Mode); err != nil {
		return nil, err
	}
	if c.Default != 0 {
		p.unlisted = c.Default
	}
	for kind, verdict := range c.Effects {
		if err := p.setEffect(kind, verdict); err != nil {
			return nil, err
		}
	}
	if err := p.addRules(c.Rules); err != nil {
		return nil, err
	}
	return p, p.restrict(c.Allowed, c.Blocked)
}

func (p *Policy) mode(mode string) error {
	switch mode {
	case "", "restrictive", "custom":
	case "permissive":
		p.unlisted = Allow
		for kind, verdict := range p.effects {
			if verdict == Ask && !isFloor(kind) {
				p.effects[kind] = Allow
			}
		}
	default:
		return misconfigured("a mode is permissive, restrictive or custom, not "+mode).With("mode", mode)
	}
	return nil
}

func (p *Policy) setEffect(kind effect.Kind, verdict Verdict) error {
	switch {
	case !kind.Valid():
		return misconfigured("there is no effect "+string(kind)).With("effect", string(kind))
	case isFloor(kind) && verdict == Allow:
		return misconfigured("the effect "+string(kind)+" can be ask or deny, not allow").With("effect", string(kind))
	}
	p.effects[kind] = verdict
	return nil
}

func (p *Policy) addRules(rules []*Rule) error {
	for _, given := range rules {
		r := *given
		r.ID = given.ID
		if err := r.compile(); err != nil {
			return misconfigured(err.Error()).Because(err)
		}
		if err := r.proven(); err != nil {
			return err
		}
		p.rules = append(p.rules, &r)
	}
	return nil
}

// restrict adds lists of allowed and of blocked commands.
func (p *Policy) restrict(allowed *[]string, blocked []string) error {
	if allowed != nil {
		list, err := prefixes(*allowed, Allow)
		if err != nil {
			return err
		}
		p.only = append(p.only, list)
	}
	list, err := prefixes(blocked, Deny)
	if err != nil {
		return err
	}
	p.blocked = append(p.blocked, list...)
	return nil
}

func prefixes(commands []string, verdict Verdict) ([]*Rule, error) {
	list := []*Rule{}
	for _, c := range commands {
		r := &Rule{Command: c, Decision: verdict}
		if err := r.compile(); err != nil {
			return nil, misconfigured(err.Error()).Because(err)
		}
		list = append(list, r)
	}
	return list, nil
}

// Restrictions make a policy stricter.
type Restrictions struct {
	Preset  string    // at least as strict as that one; "": none
	Allowed *[]string // only commands that begin like one of these; nil: no such list
	Blocked []string  // no command that begins like one of these
	Effects map[effect.Kind]Verdict
}

// Tightened is p with restrictions. What would loosen it is fault.Forbidden: a caller
// may bind itself, only the operator may untie.
func (p *Policy) Tightened(r Restrictions) (*Policy, error) {
	c := p.clone()
	if r.Preset != "" {
		if err := c.meet(r.Preset); err != nil {
			return nil, err
		}
	}
	for kind, verdict := range r.Effects {
		if !kind.Valid() || verdict < Allow || verdict > Deny {
			return nil, fault.New(fault.ParamInvalid, fmt.Sprintf("there is no effect %s or no such decision", kind), "Use the names that policy show lists")
		}
		if verdict < c.Effect(kind) {
			return nil, fault.New(fault.Forbidden, fmt.Sprintf("%s is %s, and cannot be made %s from here", kind, c.Effect(kind), verdict),
				"Ask the person who runs this server to change the policy file").With("rule", string(kind))
		}
		c.effects[kind] = verdict
	}
	if err := c.restrict(r.Allowed, r.Blocked); err != nil {
		return nil, fault.New(fault.ParamInvalid, "a list of commands has an entry that is no command", "Write the program's name and its first words").Because(err)
	}
	return c, nil
}

// meet makes p as strict as another preset where that one is stricter. Rules that allow
// what it does not are gone.
func (p *Policy) meet(name string) error {
	other, err := Preset(name)
	if err != nil {
		return fault.New(fault.ParamInvalid, "there is no preset "+name, "Use one of "+strings.Join(Presets(), ", ")).With("parameter", "security_preset")
	}
	for kind, verdict := range other.effects {
		p.effects[kind] = max(p.Effect(kind), verdict)
	}
	p.unlisted = max(p.unlisted, other.unlisted)
	p.rules = slices.DeleteFunc(p.rules, func(r *Rule) bool { return r.verdict == Allow })
	if !other.strict {
		return nil
	}
	if p.strict {
		listed := map[string]bool{}
		for program := range p.listed {
			listed[program] = other.listed[program]
		}
		p.listed = listed
	} else {
		p.strict, p.listed = true, other.listed
	}
	return nil
}
