// Package settings turns the command line, the environment and a TOML file
// into one checked value.
//
// The command line beats the environment, the environment beats the file, and
// the file beats the default. The package refuses to guess: an unknown key or
// variable, an empty or impossible value, an empty or broken file is
// fault.Misconfigured with the name of where it came from, before anything is
// served. It never drops a setting it does not understand, since that setting
// may have been the one that keeps something closed.
package settings

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/multiollama/mcp-server/shared/fault"
)

// Set holds the settings of one server. Load fills it. Every getter before that panics, as
// does one that asks for another kind than the table has: both are bugs of the program.
type Set struct {
	prefix string // of variables in the environment: "MCP_FILE_READ_"
	flags  []Flag
	line   map[string]raw // from the command line
	values map[string]value
	// Where the process was started: its working and its home directory.
	dir, home string
}

// raw is a setting as it was written.
type raw struct {
	words  []string
	source string
	base   string // the directory that relative paths mean; empty: the working directory
}

// value is a setting after it was checked.
type value struct {
	raw
	parsed any // nil: no value
}

// New is the settings of server ("file-read"). It panics on a table that makes
// no sense: two flags of one name, no kind, a default that is not valid.
func New(server string, flags ...Flag) *Set {
	s := &Set{
		prefix: "MCP_" + variable(server) + "_",
		flags:  slices.Clone(flags),
		line:   map[string]raw{},
	}
	seen := map[string]bool{}
	for _, f := range flags {
		if f.Name == "" || seen[f.Name] {
			panic(fmt.Sprintf("settings: the flag %q has no name or stands twice", f.Name))
		}
		seen[f.Name] = true
		f.mustAccept(f.Default)
	}
	return s
}

// mustAccept panics on a default that is not a value of f.
func (f Flag) mustAccept(word string) {
	if f.Kind <= 0 || f.Kind > Level {
		panic(fmt.Sprintf("settings: the flag %q has no kind", f.Name))
	}
	if word == "" {
		return
	}
	if _, wanted, ok := f.parse([]string{word}); !ok {
		panic(fmt.Sprintf("settings: %q is no default of %q: %s", word, f.Name, wanted))
	}
}

// Flags are the rows of the table, in its order.
func (s *Set) Flags() []Flag { return slices.Clone(s.flags) }

// Bind registers every flag of the table. Words of the command line are stored as they
// are written, and checked by Load.
func (s *Set) Bind(fs *pflag.FlagSet) {
	for _, f := range s.flags {
		p := fs.VarPF(written{s, f}, f.Name, "", f.Doc)
		p.DefValue = f.Default
		if f.Kind == Bool {
			p.NoOptDefVal = "true"
		}
	}
}

// Load checks everything. environ is in the form of os.Environ; of it only the
// variables of this server and the home directory are looked at.
func (s *Set) Load(environ []string) error {
	s.dir, _ = os.Getwd() // a directory that is gone: relative paths stay relative and are refused when opened
	s.home = Home(runtime.GOOS, environ)
	env, err := s.fromEnvironment(environ)
	if err != nil {
		return err
	}
	var file map[string]raw
	if i := s.index(fileFlag); i >= 0 {
		named, err := s.check(s.flags[i], s.line, env)
		if err != nil {
			return err
		}
		if path, ok := named.parsed.(string); ok {
			if file, err = s.fromFile(path); err != nil {
				return err
			}
		}
	}
	values := make(map[string]value, len(s.flags))
	for _, f := range s.flags {
		if values[f.Name], err = s.check(f, s.line, env, file); err != nil {
			return err
		}
	}
	s.values = values
	return nil
}

func (s *Set) index(name string) int {
	return slices.IndexFunc(s.flags, func(f Flag) bool { return f.Name == name })
}

const byDefault = "default"

// check gives the value of f from the first layer that has one, or its default.
func (s *Set) check(f Flag, layers ...map[string]raw) (value, error) {
	r := raw{source: byDefault}
	for _, layer := range layers {
		if given, ok := layer[f.Name]; ok {
			r = given
			break
		}
	}
	if r.source == byDefault {
		if f.Default == "" {
			return value{raw: r}, nil
		}
		if f.Dir && f.Default == "." && filepath.Dir(s.dir) == s.dir {
			return value{}, fault.New(fault.Misconfigured,
				fmt.Sprintf("the server was started in %s, which would allow the whole file system", s.dir),
				fmt.Sprintf("Name the directories with --%s", f.Name)).With("setting", f.Name)
		}
		r.words = f.split(f.Default)
	}
	if len(r.words) == 0 || slices.Contains(r.words, "") {
		return value{}, invalid(f, r, "is empty", "Give it a value, or leave it out")
	}
	hasControl := func(word string) bool {
		return strings.ContainsFunc(word, func(c rune) bool { return c < ' ' || c == 0x7f })
	}
	if i := slices.IndexFunc(r.words, hasControl); i >= 0 {
		return value{}, invalid(f, r, fmt.Sprintf("is %q, which holds a control character", r.words[i]), "Remove that character")
	}
	if f.Dir {
		r.words = s.absolute(f, r)
	}
	parsed, wanted, ok := f.parse(r.words)
	if !ok {
		return value{}, invalid(f, r, fmt.Sprintf("is %q, which is no value for it", r.words[len(r.words)-1]), wanted)
	}
	return value{r, parsed}, nil
}

// absolute makes every path absolute. ~ and ~/ are the home directory, because
// neither a file nor a host's configuration has a shell that would expand it.
func (s *Set) absolute(f Flag, r raw) []string {
	base := r.base
	if base == "" {
		base = s.dir
	}
	out := slices.Clone(r.words)
	for i, path := range out {
		if slices.Contains(f.Choices, path) {
			continue
		}
		if rest, found := strings.CutPrefix(path, "~"); found && s.home != "" && (rest == "" || os.IsPathSeparator(rest[0])) {
			path = filepath.Join(s.home, rest)
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(base, path)
		}
		out[i] = filepath.Clean(path)
	}
	return out
}

func invalid(f Flag, r raw, what, do string) error {
	return fault.New(fault.Misconfigured, fmt.Sprintf("the setting %s (%s) %s", f.Name, r.source, what), do).
		With("setting", f.Name).With("source", r.source)
}

// SetDefault changes what name is where nobody said otherwise, before or after
// Load. It panics on a name that is not in the table and on a value that is
// none.
func (s *Set) SetDefault(name, word string) {
	i := s.index(name)
	if i < 0 {
		panic(fmt.Sprintf("settings: there is no flag %q", name))
	}
	s.flags[i].mustAccept(word)
	s.flags[i].Default = word
	if s.values == nil || s.Given(name) {
		return
	}
	v, err := s.check(s.flags[i])
	if err != nil {
		panic(err)
	}
	s.values[name] = v
}

func (s *Set) of(name string) value {
	v, ok := s.values[name]
	if !ok {
		panic(fmt.Sprintf("settings: %q is not in the table, or nothing is loaded", name))
	}
	return v
}

func as[T any](s *Set, name string) T {
	v := s.of(name)
	if v.parsed == nil {
		return *new(T)
	}
	return v.parsed.(T)
}

// Text is the value of a Text or Choice; a path is absolute. Empty: none.
func (s *Set) Text(name string) string { return as[string](s, name) }

// Bool is the value of a Bool.
func (s *Set) Bool(name string) bool { return as[bool](s, name) }

// List is the value of a List or Globs; paths are absolute. Nil: none.
func (s *Set) List(name string) []string { return slices.Clone(as[[]string](s, name)) }

// Size is the value of a Size, in bytes.
func (s *Set) Size(name string) int64 { return as[int64](s, name) }

// Count is the value of a Count.
func (s *Set) Count(name string) int { return as[int](s, name) }

// Duration is the value of a Duration, never negative.
func (s *Set) Duration(name string) time.Duration { return as[time.Duration](s, name) }

// Rate is the value of a Rate: so many calls in so much time. Zero: off.
func (s *Set) Rate(name string) (calls int, per time.Duration) {
	r := as[rate](s, name)
	return r.calls, r.per
}

// Level is the value of a Level.
func (s *Set) Level(name string) slog.Level { return as[slog.Level](s, name) }

// Given says that somebody set name: it is not its default.
func (s *Set) Given(name string) bool { return s.Source(name) != byDefault }

// Source is where the value of name is from: "flag --x", "MCP_FILE_READ_X",
// "file x.toml", "default".
func (s *Set) Source(name string) string { return s.of(name).source }

// Words are the value of name as it could be written on a command line, one
// element each time the flag is given; paths are absolute. Nil: none.
func (s *Set) Words(name string) []string { return slices.Clone(s.of(name).words) }

// written is what pflag writes to. For pflag, only "bool" has no value to show in usage.
type written struct {
	set  *Set
	flag Flag
}

func (w written) String() string { return strings.Join(w.set.line[w.flag.Name].words, ",") }

func (w written) Type() string {
	if w.flag.Kind == Bool {
		return "bool"
	}
	return w.flag.Shape()
}

func (w written) Set(word string) error {
	r := raw{words: w.flag.split(word), source: "flag --" + w.flag.Name}
	if w.flag.Repeats() {
		r.words = append(w.set.line[w.flag.Name].words, r.words...)
	}
	w.set.line[w.flag.Name] = r
	return nil
}

// split gives the elements of a word. Paths and patterns may hold a comma.
func (f Flag) split(word string) []string {
	if f.Kind == List && !f.Dir {
		return strings.Split(word, ",")
	}
	return []string{word}
}
