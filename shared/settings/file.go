package settings

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/pelletier/go-toml/v2"

	"github.com/multiollama/mcp-server/shared/fault"
)

// maxFile is the largest configuration file that is read, in bytes.
const maxFile = 1 << 20

// fileFlag is the name of the flag that names the file. The file itself cannot
// name another one.
const fileFlag = "config"

// fromFile reads the file that the command line or the environment names.
func (s *Set) fromFile(env map[string]raw) (map[string]raw, error) {
	for _, f := range s.flags {
		if f.Name != fileFlag {
			continue
		}
		v, err := s.check(f, s.line, env)
		if err != nil || v.parsed == nil {
			return nil, err
		}
		return s.readFile(v.parsed.(string))
	}
	return nil, nil
}

func (s *Set) readFile(path string) (map[string]raw, error) {
	content, err := readRegular(path)
	if err != nil {
		return nil, err
	}
	var tree map[string]any
	if err := toml.Unmarshal(content, &tree); err != nil {
		return nil, fault.New(fault.Misconfigured, fmt.Sprintf("the file %s is no TOML: %s", path, inWords(err)), "Correct it").Because(err)
	}
	if len(tree) == 0 {
		return nil, fault.New(fault.Misconfigured, fmt.Sprintf("the file %s sets nothing", path), "Write settings into it, or do not name it")
	}
	return s.fromTree(tree, "file "+path, filepath.Dir(path))
}

// readRegular reads a regular file of at most maxFile bytes.
func readRegular(path string) ([]byte, error) {
	unreadable := func(why string, err error) error {
		return fault.New(fault.Misconfigured, fmt.Sprintf("the file %s cannot be read: %s", path, why), "Name a TOML file with --"+fileFlag).Because(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, unreadable(fault.From(err).Msg, err)
	}
	if !info.Mode().IsRegular() {
		return nil, unreadable("it is no regular file", nil)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, unreadable(fault.From(err).Msg, err)
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, unreadable(fault.From(err).Msg, err)
	}
	if len(content) > maxFile {
		return nil, unreadable("it is larger than 1 MiB", nil)
	}
	return content, nil
}

// inWords adds where the error is; the library's text is about the file alone.
func inWords(err error) string {
	if at, ok := err.(*toml.DecodeError); ok {
		line, column := at.Position()
		return fmt.Sprintf("%s (line %d, column %d)", at.Error(), line, column)
	}
	return err.Error()
}

func (s *Set) fromTree(tree map[string]any, source, base string) (map[string]raw, error) {
	flags := map[string]Flag{}
	for _, f := range s.flags {
		if f.Name != fileFlag {
			flags[f.Name] = f
		}
	}
	out := map[string]raw{}
	for _, key := range keys(tree) {
		f, known := flags[key]
		if !known {
			return nil, unknown(fmt.Sprintf("the key %s in %s", key, source), key, keys(flags))
		}
		words, ok := f.fromTOML(tree[key])
		if !ok {
			return nil, wrong(f, raw{source: source}, "has the wrong type", "Write "+f.typeInTOML())
		}
		out[key] = raw{words, source, base}
	}
	return out, nil
}

// fromTOML gives the words of a value; ok is false for a type that f has not.
// A Bool is no string and a string is no Bool: "false" must not pass for true.
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

func (f Flag) typeInTOML() string {
	switch f.Kind {
	case Bool:
		return "true or false, without quotes"
	case List, Globs:
		return `a list such as ["a", "b"]`
	case Count:
		return "a whole number, without quotes"
	case Size:
		return `a whole number, or a text such as "128KiB"`
	}
	return "a text in quotes"
}
