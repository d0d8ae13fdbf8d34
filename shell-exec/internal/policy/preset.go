package policy

import (
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

//go:embed presets.toml
var presetsSource string

// Verdict is what is done about a command. The zero Verdict is none of the three, and
// is treated as Deny.
type Verdict int

// The verdicts, from the mildest.
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

type preset struct {
	About    string                  `toml:"about"`
	Extends  string                  `toml:"extends"`
	Unlisted Verdict                 `toml:"unlisted"`
	Strict   bool                    `toml:"strict"`
	Listed   string                  `toml:"listed"`
	Effects  map[effect.Kind]Verdict `toml:"effects"`
}

type presetFile struct {
	Advice map[effect.Kind]string `toml:"advice"`
	Preset map[string]preset      `toml:"preset"`
	Limit  map[string]preset      `toml:"limit"`
	Shell  struct {
		Parts string `toml:"parts"`
	} `toml:"shell"`
}

var presets = sync.OnceValues(func() (presetFile, error) {
	var f presetFile
	d := toml.NewDecoder(strings.NewReader(presetsSource))
	if err := d.DisallowUnknownFields().Decode(&f); err != nil {
		return presetFile{}, fault.New(fault.Internal, "the presets cannot be read", "").Because(err)
	}
	return f, nil
})

// Presets lists the names of the presets.
func Presets() []string { return []string{"development", "production", "sandbox", "minimal"} }

// Preset is the policy of that name.
func Preset(name string) (*Policy, error) {
	f, err := presets()
	if err != nil {
		return nil, err
	}
	p := &Policy{name: name, effects: map[effect.Kind]Verdict{}, advice: f.Advice, parts: setOf(f.Shell.Parts)}
	if err := p.extend(f, name); err != nil {
		return nil, err
	}
	return p, nil
}

// extend applies the preset on the one that it extends.
func (p *Policy) extend(f presetFile, name string) error {
	row, ok := f.Preset[name]
	if !ok {
		return fault.New(fault.Misconfigured, "there is no preset "+name, "Choose one of "+strings.Join(Presets(), ", ")).With("preset", name)
	}
	if row.Extends != "" {
		if err := p.extend(f, row.Extends); err != nil {
			return err
		}
	}
	maps.Copy(p.effects, row.Effects)
	p.unlisted, p.strict = row.Unlisted, row.Strict
	if row.Listed != "" {
		p.listed = setOf(row.Listed)
	}
	return nil
}

func setOf(words string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(words) {
		set[w] = true
	}
	return set
}

// Limited is p with a limit of presets.toml over it: "agent" is the only one.
func (p *Policy) Limited(name string) (*Policy, error) {
	f, err := presets()
	if err != nil {
		return nil, err
	}
	limit, ok := f.Limit[name]
	if !ok {
		return nil, fault.New(fault.Misconfigured, "there is no limit "+name, "Use agent").With("limit", name)
	}
	c := p.clone()
	for kind, verdict := range limit.Effects {
		c.effects[kind] = max(c.effects[kind], verdict)
	}
	return c, nil
}

func (p *Policy) clone() *Policy {
	c := *p
	c.effects = maps.Clone(p.effects)
	c.rules, c.only, c.blocked = slices.Clone(p.rules), slices.Clone(p.only), slices.Clone(p.blocked)
	return &c
}
