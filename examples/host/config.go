package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
)

// server is how one server is started.
type server struct {
	Name     string            `json:"name"`
	Type     string            `json:"type"` // "" or "stdio"; this host speaks nothing else
	Command  string            `json:"command"`
	Args     []string          `json:"args"`
	Env      map[string]string `json:"env"` // added to the host's own environment
	Dir      string            `json:"cwd"`
	URL      string            `json:"url"`
	Disabled bool              `json:"disabled"`
}

// errConfig marks mistakes in the configuration file.
var errConfig = errors.New("the configuration cannot be used")

// readConfig reads the servers of a configuration file, in the order of the
// file where it has one, else by name. It knows three forms:
//
//	{"servers": [{"name": n, "command": c, "args": […]}]}
//	{"servers": {n: {"command": c, …}}}             (VS Code)
//	{"mcpServers": {n: {"command": c, …}}}          (most others)
//
// Fields that it does not know are for other hosts and are ignored.
func readConfig(file string, lookup func(string) (string, bool)) ([]server, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errConfig, err)
	}
	servers, err := parseConfig(text)
	if err == nil {
		err = prepare(servers, lookup)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", errConfig, file, err)
	}
	return slices.DeleteFunc(servers, func(s server) bool { return s.Disabled }), nil
}

func parseConfig(text []byte) ([]server, error) {
	var forms struct {
		Servers    json.RawMessage   `json:"servers"`
		MCPServers map[string]server `json:"mcpServers"`
	}
	if err := json.Unmarshal(text, &forms); err != nil {
		return nil, err
	}
	switch {
	case forms.Servers != nil && forms.MCPServers != nil:
		return nil, errors.New(`both "servers" and "mcpServers" are there; keep one`)
	case forms.MCPServers != nil:
		return named(forms.MCPServers), nil
	case forms.Servers == nil:
		return nil, errors.New(`neither "servers" nor "mcpServers" is there`)
	}
	if forms.Servers[0] == '[' {
		var list []server
		return list, json.Unmarshal(forms.Servers, &list)
	}
	var object map[string]server
	err := json.Unmarshal(forms.Servers, &object)
	return named(object), err
}

// named are the servers of an object form, by name.
func named(object map[string]server) []server {
	var list []server
	for _, name := range slices.Sorted(maps.Keys(object)) {
		s := object[name]
		s.Name = name
		list = append(list, s)
	}
	return list
}

// prepare checks the servers and replaces variables by their values in everything that is
// text.
func prepare(servers []server, lookup func(string) (string, bool)) error {
	seen := map[string]bool{}
	for i := range servers {
		s := &servers[i]
		switch {
		case s.Name == "":
			return fmt.Errorf("server %d has no name", i+1)
		case seen[s.Name]:
			return fmt.Errorf("two servers are named %q", s.Name)
		case s.URL != "" || (s.Type != "" && s.Type != "stdio"):
			return fmt.Errorf("server %q is not on stdio, and this host speaks nothing else", s.Name)
		case s.Command == "":
			return fmt.Errorf("server %q has no command", s.Name)
		}
		seen[s.Name] = true

		e := expansion{lookup: lookup}
		s.Command, s.Dir = e.expand(s.Command), e.expand(s.Dir)
		for i := range s.Args {
			s.Args[i] = e.expand(s.Args[i])
		}
		for name, value := range s.Env {
			s.Env[name] = e.expand(value)
		}
		if e.err != nil {
			return fmt.Errorf("server %q: %w", s.Name, e.err)
		}
	}
	return nil
}

var variable = regexp.MustCompile(`\$\{[^}]*\}`)

// expansion replaces ${NAME}, ${NAME:-default} and ${env:NAME}, and VS Code's
// ${workspaceFolder} and ${userHome}. A variable without a value is an error: a
// server started with an empty path in its arguments might serve anything.
type expansion struct {
	lookup func(string) (string, bool)
	err    error // the first
}

func (e *expansion) expand(text string) string {
	return variable.ReplaceAllStringFunc(text, func(found string) string {
		name := found[2 : len(found)-1]
		var value string
		var err error
		switch name {
		case "workspaceFolder":
			value, err = os.Getwd()
		case "userHome":
			value, err = os.UserHomeDir()
		default:
			name, alternative, hasAlternative := strings.Cut(strings.TrimPrefix(name, "env:"), ":-")
			var ok bool
			if value, ok = e.lookup(name); !ok {
				value = alternative
				if !hasAlternative {
					err = fmt.Errorf("${%s} has no value here", name)
				}
			}
		}
		if e.err == nil {
			e.err = err
		}
		return value
	})
}
