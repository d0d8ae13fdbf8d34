package effect

import (
	"slices"
	"strings"

	"github.com/multiollama/mcp-server/shell-exec/internal/cmdline"
)

// settings of git that make it run something; the first group names a command line.
var (
	commandSetting = late(`^(core\.(pager|editor|sshcommand|askpass|fsmonitor|gitproxy|alternaterefscommand)|pager\..*|sequence\.editor|diff\.external|diff\..*\.(command|textconv)|credential\.(.*\.)?helper|gpg\.(.*\.)?program|(browser|man|difftool|mergetool)\..*\.cmd|filter\..*\.(clean|smudge|process)|merge\..*\.driver|interactive\.difffilter|uploadpack\.packobjectshook|remote\..*\.(uploadpack|receivepack)|submodule\..*\.update)$`)
	otherSetting   = late(`^(core\.hookspath|ssh\.variant|remote\..*\.vcs|protocol\.(ext\.)?allow|include\.path|includeif\..*|init\.templatedir)$`)
)

func runsCode(key string) bool {
	return commandSetting().MatchString(key) || otherSetting().MatchString(key)
}

// harmlessSettings are values that run what git has itself, or what shows text.
var harmlessSettings = strings.Fields(`true false cat less delta vim vi nano emacs cache store manager osxkeychain libsecret checkout rebase merge none`)

// gitSetting is git -c key=value and git config key value.
func (r *reader) gitSetting(s *scope, c *call, key, v string) {
	lower := strings.ToLower(key)
	if name, ok := strings.CutPrefix(lower, "alias."); ok {
		if script, ok := strings.CutPrefix(v, "!"); ok {
			r.shell(s, cmdline.At(script, c.span), "git "+name)
		}
		return
	}
	if v == "" || v == "/dev/null" || slices.Contains(harmlessSettings, v) {
		return
	}
	switch {
	case commandSetting().MatchString(lower):
		r.shell(s, cmdline.At(strings.TrimPrefix(v, "!"), c.span), "git "+key)
		r.flag(s, RunHijacked, "git's "+key+" makes git run a program", c.span)
	case otherSetting().MatchString(lower):
		r.flag(s, RunHijacked, "git's "+key+" makes git run other programs", c.span)
	}
}

// git looks at the addresses that sub-commands are given.
func (r *reader) git(s *scope, c *call) {
	for _, w := range c.args.Operands {
		rest, ok := strings.CutPrefix(w.Text, "ext::")
		if !ok {
			continue
		}
		r.flag(s, RunHijacked, "an ext:: address makes git run a program", c.span)
		var argv []cmdline.Word // "% " is a blank within a word
		for _, field := range strings.Fields(strings.ReplaceAll(rest, "% ", "\x00")) {
			argv = append(argv, w.With(strings.ReplaceAll(field, "\x00", " ")))
		}
		r.call(s.within("git ext::"), argv, c.span)
	}
	if c.args.Has("--name-only") {
		s.output.add(flow{kind: names, root: s.dir, filtered: true})
	}
}

// gitAll: git checkout * and git rm * name every file.
func (r *reader) gitAll(s *scope, c *call) {
	for _, w := range c.args.Operands {
		if w.Text == string(cmdline.Star) {
			r.flag(s, Discard, c.row.Name+" "+cmdline.Show(w.Text)+" takes every file", c.span)
		}
	}
}

func (r *reader) gitConfig(s *scope, c *call) {
	operands := c.args.Operands
	if len(operands) > 0 && (operands[0].Text == "list" || operands[0].Text == "get") {
		return
	}
	if len(operands) > 0 && operands[0].Text == "set" {
		operands = operands[1:]
	}
	removes := c.args.Has("--unset", "--unset-all", "--remove-section", "--edit", "-e")
	if c.args.Has("-l", "--list", "--get", "--get-all", "--get-regexp", "--get-urlmatch") || len(operands) < 2 && !removes {
		return
	}
	if c.args.Has("--global", "--system") {
		r.flag(s, WriteStartup, "git config changes the user's settings", c.span)
	}
	if len(operands) >= 2 {
		r.gitSetting(s, c, operands[0].Text, operands[1].Text)
	}
}

func (r *reader) gitRoot(s *scope, c *call) {
	if c.args.Has("--git-dir", "--absolute-git-dir", "--git-common-dir") {
		s.output.add(flow{kind: literal, text: ".git\n"})
	}
	if c.args.Has("--show-toplevel", "--show-cdup") && len(r.world.Workspace) > 0 {
		s.output.add(flow{kind: literal, text: r.world.Workspace[0] + "\n"})
	}
}
