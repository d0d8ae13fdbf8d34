// Package hosts is the table of programs that start MCP servers, and how a
// server is put into the configuration file of each and taken out again.
//
// It refuses to touch any byte but those of the one entry: what others wrote,
// comments and white space stay as they are. What was written is parsed again
// and compared with what was meant before it is given back, so that a file is
// changed rightly or not at all; a file that does not parse, or is written in a
// way that this package does not understand, is refused. It never starts
// anything, and it is for the person at the command line: nothing that serves a
// client may import it.
package hosts

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/multiollama/mcp-server/shared/fault"
)

// Registered is an entry as a file has it.
type Registered struct {
	Name    string
	Command string
	Args    []string
	Env     map[string]string
	Dir     string // where the host starts it; empty: not said
	Off     bool   // the host does not start it
}

// Is says that the entry starts the server of that name, or that binary.
func (r Registered) Is(program, command string) bool {
	base := strings.ToLower(path.Base(strings.ReplaceAll(r.Command, `\`, "/")))
	return r.Command != "" && (strings.TrimSuffix(base, ".exe") == program || r.Command == command)
}

// mark is the byte-order mark that editors on Windows write.
var mark = []byte("\ufeff")

// Document is the text of a configuration file.
type Document struct {
	host  Host
	in    language
	mark  []byte
	text  []byte
	value any // as parsed; nil for a text that holds nothing
	shape shape
}

// Parse reads the file at that path. A text that does not parse is refused.
func (h Host) Parse(path string, text []byte) (Document, error) {
	d := Document{host: h, in: h.language(path), text: text}
	if rest, found := bytes.CutPrefix(text, mark); found {
		d.mark, d.text = text[:len(mark)], rest
	}
	if len(bytes.TrimSpace(d.text)) > 0 {
		var err error
		if d.value, err = d.in.decode(d.text); err != nil {
			return Document{}, err
		}
	}
	d.shape = h.shapeOf(d.value)
	return d, nil
}

// shapeOf is the last shape whose keys are there, or the first one. What has a
// command is an entry, not what holds entries.
func (h Host) shapeOf(value any) shape {
	for _, s := range slices.Backward(h.shapes) {
		within, there := at(value, s.under...)
		m, isMap := within.(map[string]any)
		if there && (!isMap || m["command"] == nil) {
			return s
		}
	}
	return h.shapes[0]
}

// path is where the entry of that name lies.
func (d Document) path(name string) where { return where{d.shape.under, name, d.shape.list, ""} }

// Entries are all servers of the file that are programs.
func (d Document) Entries() []Registered {
	within, _ := at(d.value, d.shape.under...)
	var all []Registered
	switch within := within.(type) {
	case map[string]any:
		for name, v := range within {
			all = append(all, registered(name, v))
		}
	case []any:
		for _, v := range within {
			name, _ := at(v, "name")
			all = append(all, registered(fmt.Sprint(name), v))
		}
	}
	all = slices.DeleteFunc(all, func(r Registered) bool { return r.Command == "" })
	slices.SortFunc(all, func(a, b Registered) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// registered reads an entry in any of the ways in which hosts write it.
func registered(name string, v any) Registered {
	r := Registered{Name: name}
	m, ok := v.(map[string]any)
	if !ok {
		return r
	}
	line := words(m["command"])
	if line == nil {
		line = words(m["cmd"])
	}
	if line = append(line, words(m["args"])...); len(line) > 0 {
		r.Command, r.Args = line[0], line[1:]
	}
	r.Dir, _ = m["cwd"].(string)
	r.Off = m["disabled"] == true || m["enabled"] == false
	for _, key := range []string{"env", "envs", "environment"} {
		if vars, ok := m[key].(map[string]any); ok {
			r.Env = map[string]string{}
			for k, v := range vars {
				r.Env[k] = fmt.Sprint(v)
			}
		}
	}
	return r
}

// words is a string or a list of them.
func words(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var all []string
		for _, word := range v {
			all = append(all, fmt.Sprint(word))
		}
		return all
	}
	return nil
}

// Put is the text with the entry in it. An entry of that name that is the same
// already leaves it as it is; one of the same server gets new values, and keeps
// what else stands in it; one that starts something else is replaced only where
// that was asked for.
func (d Document) Put(e Entry, replace bool) ([]byte, error) {
	if d.value == nil && len(bytes.TrimSpace(d.text)) == 0 {
		return d.marked([]byte(d.in.print(d.host.whole(e)))), nil
	}
	p := d.path(e.Name)
	meant := d.shape.entry(e)
	entry := loose(meant).(map[string]any)
	was, there := p.in(d.value)
	now := registered(e.Name, was)
	var text []byte
	var err error
	switch {
	case now.Is(e.Program, e.Command):
		old := maps.Clone(was.(map[string]any))
		maps.Copy(old, entry)
		entry = old
		text, err = d.merge(p, was, meant)
	case there && !replace:
		return nil, fault.New(fault.Exists, fmt.Sprintf("%s is there already and starts something else", e.Name),
			"Choose another name with --name, or write --replace").With("command", now.Command)
	default:
		text, err = d.in.put(d.text, p, meant)
	}
	if err != nil {
		return nil, d.refusal(err)
	}
	wanted, ok := p.with(d.value, entry)
	if !ok {
		return nil, d.odd()
	}
	return d.means(text, wanted)
}

// merge changes the members that are other than meant.
func (d Document) merge(p where, was any, meant tree) ([]byte, error) {
	text := d.text
	for _, m := range meant {
		if now, there := at(was, m.key); there && equal(now, loose(m.value)) {
			continue
		}
		p.member = m.key
		var err error
		if text, err = d.in.put(text, p, m.value); err != nil {
			return nil, err
		}
	}
	return text, nil
}

// Take is the text without the entry, and whether there was one. An entry that
// starts another program is refused.
func (d Document) Take(name, program, command string) ([]byte, bool, error) {
	p := d.path(name)
	was, there := p.in(d.value)
	if !there {
		return d.marked(d.text), false, nil
	}
	if r := registered(name, was); !r.Is(program, command) {
		return nil, false, fault.New(fault.Exists, fmt.Sprintf("%s starts something else than %s", name, program),
			"Remove it by hand, or name another entry with --name").With("command", r.Command)
	}
	text, err := d.in.take(d.text, p)
	if err != nil {
		return nil, false, d.refusal(err)
	}
	wanted, ok := p.without(d.value)
	if !ok {
		return nil, false, d.odd()
	}
	text, err = d.means(text, wanted)
	return text, true, err
}

// means is text, if it parses to what is wanted. A container that has become
// empty may be there or not.
func (d Document) means(text []byte, wanted any) ([]byte, error) {
	var got any
	if len(bytes.TrimSpace(text)) > 0 {
		var err error
		if got, err = d.in.decode(text); err != nil {
			return nil, d.odd().Because(err)
		}
	}
	if got == nil {
		got = map[string]any{} // nothing at all
	}
	under := d.shape.under
	if !equal(pruned(got, under), pruned(wanted, under)) {
		return nil, d.odd()
	}
	return d.marked(text), nil
}

func (d Document) marked(text []byte) []byte { return slices.Concat(d.mark, text) }

// refusal is err, where that says what is wrong.
func (d Document) refusal(err error) error {
	if _, ok := errors.AsType[*fault.Error](err); ok {
		return err
	}
	return d.odd().Because(err)
}

// odd refuses a text that this package would not change rightly.
func (d Document) odd() *fault.Error {
	return fault.New(fault.Misconfigured, "the file is written in a way that cannot be changed safely",
		fmt.Sprintf("Change it by hand: config %s prints the entry", d.host.Name))
}
