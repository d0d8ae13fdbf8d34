package settings

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/multiollama/mcp-server/shared/fault"
)

// variable is the part of a variable's name that stands for a flag or server:
// "allow-path" is ALLOW_PATH.
func variable(name string) string {
	return strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// Variable is the name of the variable in the environment for a flag.
func (s *Set) Variable(flag string) string { return s.prefix + variable(flag) }

// fromEnvironment reads the variables of this server and refuses one that
// belongs to no flag.
func (s *Set) fromEnvironment(environ []string) (map[string]raw, error) {
	flags, published := s.variables()
	out := map[string]raw{}
	for _, entry := range environ {
		name, word, _ := strings.Cut(entry, "=")
		name = foldVariable(runtime.GOOS, name)
		f, known := flags[name]
		words := f.splitVariable
		if g, ok := published[name]; ok {
			f, known, words = g, true, g.splitPublished
		}
		switch {
		case !known && strings.HasPrefix(name, s.prefix):
			return nil, unknown("the variable "+name, name, keys(flags))
		case !known:
			continue
		}
		if other, twice := out[f.Name]; twice && other.source != name {
			return nil, fault.New(fault.Misconfigured, "the variables "+other.source+" and "+name+" say the same thing twice", "Set one of them").
				With("setting", f.Name)
		}
		out[f.Name] = raw{words: words(word), source: name}
	}
	return out, nil
}

// variables are the flags by the names of their variables, ours and those that others
// have published.
func (s *Set) variables() (own, published map[string]Flag) {
	own, published = make(map[string]Flag, len(s.flags)), map[string]Flag{}
	for _, f := range s.flags {
		own[s.Variable(f.Name)] = f
		if f.Variable != "" {
			published[f.Variable] = f
		}
	}
	return own, published
}

// foldVariable makes names comparable: Windows takes Path and PATH for one.
func foldVariable(goos, name string) string {
	if goos == "windows" {
		return strings.ToUpper(name)
	}
	return name
}

// splitVariable gives the elements of a variable: paths and patterns are
// separated as in PATH, other words by commas.
func (f Flag) splitVariable(word string) []string {
	if f.Kind == Globs || f.Kind == List && f.Dir {
		return strings.Split(word, string(os.PathListSeparator))
	}
	return f.split(word)
}

// splitPublished gives the elements of a variable that others have published.
func (f Flag) splitPublished(word string) []string {
	if f.Kind == List {
		return strings.Split(word, ",")
	}
	return []string{word}
}

func placeOf(environ []string) place {
	dir, _ := os.Getwd() // a directory that is gone: relative paths stay relative and are refused when opened
	return place{dir, Home(runtime.GOOS, environ)}
}

// Home is the home directory of the user on that system. Empty: none.
func Home(goos string, environ []string) string {
	if goos == "windows" {
		return Lookup(goos, environ, "USERPROFILE")
	}
	return Lookup(goos, environ, "HOME")
}

// Lookup is the value of a variable, as that system finds it in what os.Environ gave: the
// last one where it stands twice. Empty: none.
func Lookup(goos string, environ []string, name string) string {
	found := ""
	for _, entry := range environ {
		if key, word, _ := strings.Cut(entry, "="); foldVariable(goos, key) == foldVariable(goos, name) {
			found = word
		}
	}
	return found
}

func keys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// unknown refuses a name that belongs to no flag, with the nearest that does.
func unknown(what, name string, known []string) error {
	do := "Remove it"
	if near := Nearest(name, known); near != "" {
		do = fmt.Sprintf("Did you mean %s? If not, remove it", near)
	}
	return fault.New(fault.Misconfigured, what+" belongs to no setting of this server", do).With("unknown", name)
}
