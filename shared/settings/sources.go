package settings

import (
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/multiollama/mcp-server/shared/fault"
)

// Variable is the name of the variable in the environment for a flag: "allow-path" is
// MCP_FILE_READ_ALLOW_PATH.
func (s *Set) Variable(flag string) string { return s.prefix + variable(flag) }

// variable is the part of a variable's name for a flag or a server.
func variable(name string) string { return strings.ToUpper(strings.ReplaceAll(name, "-", "_")) }

// foldVariable makes names comparable: on Windows, Path and PATH are one variable.
func foldVariable(goos, name string) string {
	if goos == "windows" {
		return strings.ToUpper(name)
	}
	return name
}

// fromEnvironment reads the variables of this server, and rejects one that belongs to no
// flag. Paths and patterns are separated as in PATH, other words by commas; in a variable
// that others have published, everything by commas.
func (s *Set) fromEnvironment(environ []string) (map[string]raw, error) {
	own, published := map[string]Flag{}, map[string]Flag{}
	for _, f := range s.flags {
		own[s.Variable(f.Name)] = f
		if f.Variable != "" {
			published[f.Variable] = f
		}
	}
	out := map[string]raw{}
	for _, entry := range environ {
		name, word, _ := strings.Cut(entry, "=")
		name = foldVariable(runtime.GOOS, name)
		f, known := own[name]
		other, ofOthers := published[name]
		switch {
		case ofOthers:
			f = other
		case known:
		case strings.HasPrefix(name, s.prefix):
			return nil, unknown("the variable "+name, name, slices.Sorted(maps.Keys(own)))
		default:
			continue
		}
		if other, twice := out[f.Name]; twice && other.source != name {
			return nil, fault.New(fault.Misconfigured, "the variables "+other.source+" and "+name+" say the same thing twice", "Set one of them").
				With("setting", f.Name)
		}
		out[f.Name] = raw{words: f.fromVariable(word, ofOthers), source: name}
	}
	return out, nil
}

// fromVariable gives the words of a variable, which may be one that others have published.
func (f Flag) fromVariable(word string, ofOthers bool) []string {
	switch {
	case f.Kind == List && (ofOthers || !f.Dir):
		return strings.Split(word, ",")
	case f.Repeats() && !ofOthers:
		return strings.Split(word, string(os.PathListSeparator))
	}
	return []string{word}
}

// Home is the home directory of the user on that system. Empty: none.
func Home(goos string, environ []string) string {
	if goos == "windows" {
		return Lookup(goos, environ, "USERPROFILE")
	}
	return Lookup(goos, environ, "HOME")
}

// Lookup is the value of a variable, as that system finds it in the form of os.Environ: the
// last one of that name. Empty: none.
func Lookup(goos string, environ []string, name string) string {
	found := ""
	for _, entry := range environ {
		if key, word, _ := strings.Cut(entry, "="); foldVariable(goos, key) == foldVariable(goos, name) {
			found = word
		}
	}
	return found
}

// fileFlag is the name of the flag that names the file. The file itself cannot name another one.
const fileFlag = "config"

// fromFile reads a regular file of TOML.
func (s *Set) fromFile(path string) (map[string]raw, error) {
	content, _, err := ReadRegular(path, 1<<20, "")
	if err != nil {
		e := fault.From(err)
		return nil, fault.New(fault.Misconfigured, fmt.Sprintf("the file %s cannot be read: %s", path, e.Msg),
			"Name a TOML file with --"+fileFlag).
			Because(e.Err)
	}
	var tree map[string]any
	if err := toml.Unmarshal(content, &tree); err != nil {
		words := err.Error()
		if at, ok := err.(*toml.DecodeError); ok {
			line, column := at.Position()
			words += fmt.Sprintf(" (line %d, column %d)", line, column)
		}
		return nil, fault.New(fault.Misconfigured, fmt.Sprintf("the file %s is no TOML: %s", path, words), "Correct it").Because(err)
	}
	if len(tree) == 0 {
		return nil, fault.New(fault.Misconfigured, fmt.Sprintf("the file %s sets nothing", path), "Write settings into it, or do not name it")
	}

	flags := map[string]Flag{}
	for _, f := range s.flags {
		flags[f.Name] = f
	}
	delete(flags, fileFlag)
	source := "file " + path
	out := map[string]raw{}
	for _, key := range slices.Sorted(maps.Keys(tree)) {
		f, known := flags[key]
		if !known {
			return nil, unknown(fmt.Sprintf("the key %s in %s", key, source), key, slices.Sorted(maps.Keys(flags)))
		}
		words, ok := f.fromTOML(tree[key])
		if !ok {
			wanted := "a text in quotes"
			switch f.Kind {
			case Bool:
				wanted = "true or false, without quotes"
			case List, Globs:
				wanted = `a list such as ["a", "b"]`
			case Count:
				wanted = "a whole number, without quotes"
			case Size:
				wanted = `a whole number, or a text such as "128KiB"`
			}
			return nil, invalid(f, raw{source: source}, "has the wrong type", "Write "+wanted)
		}
		out[key] = raw{words, source, filepath.Dir(path)}
	}
	return out, nil
}

// ReadRegular reads a regular file of at most so many bytes, a whole number of MiB. Another
// kind is not opened: a pipe would block. do is the advice for a file that is none of these.
func ReadRegular(path string, maxBytes int64, do string) ([]byte, fs.FileInfo, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, fault.New(fault.Misconfigured, "it is no regular file", do)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err == nil && int64(len(text)) > maxBytes {
		err = fault.New(fault.LimitReached, fmt.Sprintf("it is larger than %d MiB", maxBytes>>20), do)
	}
	return text, info, err
}

// fromTOML gives the words of a value; ok is false for a type that f does not have. A Bool
// is not a string and a string is not a Bool: "false" must not pass for true.
func (f Flag) fromTOML(v any) (words []string, ok bool) {
	switch v := v.(type) {
	case bool:
		return []string{strconv.FormatBool(v)}, f.Kind == Bool
	case int64:
		return []string{strconv.FormatInt(v, 10)}, f.Kind == Count || f.Kind == Size
	case string:
		return []string{v}, f.Kind != Bool && f.Kind != Count
	case []any:
		for _, element := range v {
			word, isText := element.(string)
			if !isText {
				return nil, false
			}
			words = append(words, word)
		}
		return words, f.Repeats()
	}
	return nil, false
}

// unknown rejects a name that belongs to no flag, with the nearest that does.
func unknown(what, name string, known []string) error {
	do := "Remove it"
	if near := Nearest(name, known); near != "" {
		do = fmt.Sprintf("Did you mean %s? If not, remove it", near)
	}
	return fault.New(fault.Misconfigured, what+" belongs to no setting of this server", do).With("unknown", name)
}
