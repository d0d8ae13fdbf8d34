package command

import (
	"slices"
	"strings"

	"github.com/multiollama/mcp-server/shared/settings"
	"github.com/multiollama/mcp-server/shared/toolkit"
)

// reach says in plain words what a model can touch through these tools: what it
// can read and change, start, and connect to. Of the allowed directories it tells those
// that this user was seen to reach. unheld says that commands are not held to them.
func (a *app) reach(set *settings.Set, tools []toolkit.Tool, refuses []string, unheld bool) string {
	has := func(e toolkit.Effect) bool {
		return slices.ContainsFunc(tools, func(t toolkit.Tool) bool { return t.Effect == e })
	}
	reads, writes, runs := has(toolkit.Reads), has(toolkit.Writes), has(toolkit.Runs)
	var can []string
	switch place := a.place(set, runs, writes && !runs); {
	case runs && unheld:
		can = append(can, "can start the programs that its policy allows, and through them read and change all that this user can: the sandbox does not hold them")
	case runs:
		can = append(can, "can start the programs that its policy allows, and through them read and change "+place)
	case reads && writes:
		can = append(can, "can read and change "+place+spared(refuses))
	case writes:
		can = append(can, "can change "+place+spared(refuses))
	case reads:
		can = append(can, "can read "+place, "can change nothing")
	default:
		can = append(can, "can read and change nothing")
	}
	if !runs {
		can = append(can, "can start no program")
	}
	if slices.ContainsFunc(tools, func(t toolkit.Tool) bool { return t.OpenWorld }) && !offline(set) {
		can = append(can, "can reach the network")
	} else {
		can = append(can, "cannot reach the network")
	}
	return strings.Join(can, "; ")
}

// secrets are what --deny-secrets denies.
const secrets = "secrets (.env files, keys, credential files)"

// place is what the settings, and the system, leave to the tools. Commands are held to
// directories, so that no deny rule holds for them.
func (a *app) place(set *settings.Set, runs, writes bool) string {
	if a.Pathless {
		return "what the server itself keeps or fetches, and no file by its path"
	}
	dirs := slices.DeleteFunc(slices.Clone(set.List("allow-path")), func(dir string) bool {
		return readable(dir) != nil || writes && writable(dir) != nil
	})
	if len(dirs) == 0 {
		return "nothing: this user cannot use the allowed directories"
	}
	words := "everything beneath " + listed(dirs)
	if runs {
		return words
	}
	except := set.List("deny-path")
	if set.Bool("deny-secrets") {
		except = append(except, secrets)
	}
	if len(except) > 0 {
		words += ", except " + listed(except)
	}
	return words
}

// spared is what no tool changes wherever it lies.
func spared(refuses []string) string {
	if len(refuses) == 0 {
		return ""
	}
	return ", but never " + listed(refuses)
}

// listed is "a", "a and b", "a, b and c".
func listed(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

// offline says that a server that could connect was told not to.
func offline(set *settings.Set) bool {
	return slices.ContainsFunc(set.Flags(), func(f settings.Flag) bool {
		return f.Name == "network" && f.Kind == settings.Bool
	}) && !set.Bool("network")
}
