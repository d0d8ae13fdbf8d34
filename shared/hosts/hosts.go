// Package hosts is the table of programs that start MCP servers, and how a
// server is put into the configuration file of each and taken out again.
//
// It changes no byte but those of the one entry: other entries, comments and white
// space stay as they are. Before a new text is returned, it is parsed again and compared
// with what was intended, so a file is changed correctly or not at all. A file that does not
// parse, or is written in a way that this package does not understand, is rejected. The
// package never starts anything, and it is for the user at the command line: nothing that
// serves a client may import it.
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
	value any // as parsed; nil for white space
	shape shape
}

// Parse reads the file at that path. A text that does not parse is rejected.
func (h Host) Parse(path string, text []byte) (Document, error) {
	d := Document{host: h, in: h.language(path), text: text}
	if rest, found := bytes.CutPrefix(text, mark); found {
		d.mark, d.text = text[:len(mark)], rest
	}
	var err error
	if d.value, err = d.decode(d.text); err != nil {
		return Document{}, err
	}
	// The last shape whose keys are there, or the first one. An object with a command is an
	// entry, not a container of entries.
	d.shape = h.shapes[0]
	for _, s := range slices.Backward(h.shapes) {
		within, there := at(d.value, s.under...)
		if m, isMap := within.(map[string]any); there && (!isMap || m["command"] == nil) {
			d.shape = s
			break
		}
	}
	return d, nil
}

// decode is the value of a text; nil for a text of white space.
func (d Document) decode(text []byte) (any, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, nil
	}
	return d.in.decode(text)
}

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
// already leaves it as it is. One of the same server gets new values, and keeps its other
// members. One that starts something else is replaced only if replace is set.
func (d Document) Put(e Entry, replace bool) ([]byte, error) {
	if len(bytes.TrimSpace(d.text)) == 0 {
		return slices.Concat(d.mark, []byte(d.in.print(d.host.whole(e)))), nil
	}
	p := pointer{d.shape.under, e.Name, d.shape.list, ""}
	members := d.shape.entry(e)
	wanted := loose(members).(map[string]any)
	was, there := p.in(d.value)
	now := registered(e.Name, was)
	text := d.text
	var err error
	switch {
	case now.Is(e.Program, e.Command):
		old := was.(map[string]any)
		for _, m := range members {
			if is, there := old[m.key]; there && equal(is, wanted[m.key]) || err != nil {
				continue
			}
			p.member = m.key
			text, err = d.in.put(text, p, m.value)
		}
		p.member = ""
		old = maps.Clone(old)
		maps.Copy(old, wanted)
		wanted = old
	case there && !replace:
		return nil, fault.New(fault.Exists, fmt.Sprintf("%s is there already and starts something else", e.Name),
			"Choose another name with --name, or write --replace").With("command", now.Command)
	default:
		text, err = d.in.put(text, p, members)
	}
	return d.checked(text, err, p, wanted)
}

// Take is the text without the entry, and whether there was one. An entry that
// starts another program is an error.
func (d Document) Take(name, program, command string) ([]byte, bool, error) {
	p := pointer{d.shape.under, name, d.shape.list, ""}
	was, there := p.in(d.value)
	if !there {
		return slices.Concat(d.mark, d.text), false, nil
	}
	if r := registered(name, was); !r.Is(program, command) {
		return nil, false, fault.New(fault.Exists, fmt.Sprintf("%s starts something else than %s", name, program),
			"Remove it by hand, or name another entry with --name").With("command", r.Command)
	}
	text, err := d.in.take(d.text, p)
	text, err = d.checked(text, err, p, nil)
	return text, true, err
}

// checked is text, if it parses to the value of the document but for the entry, which is as
// wanted; nil: there is none. An empty container may be there or not. err is the error of
// whoever wrote text; one that does not explain itself becomes one that does.
func (d Document) checked(text []byte, err error, p pointer, wanted map[string]any) ([]byte, error) {
	if _, explained := errors.AsType[*fault.Error](err); explained {
		return nil, err
	}
	var got any
	if err == nil {
		got, err = d.decode(text)
	}
	entry, there := p.in(got)
	container, _ := at(d.value, p.under...)
	_, isList := container.([]any)
	_, isMap := container.(map[string]any)
	fits := container == nil || p.list && isList || !p.list && isMap
	asWanted := there == (wanted != nil) && (!there || equal(entry, wanted))
	rest, was := p.without(got, p.under), p.without(d.value, p.under)
	if err == nil && fits && asWanted && (equal(rest, was) || isEmpty(rest) && isEmpty(was)) {
		return slices.Concat(d.mark, text), nil
	}
	odd := fault.New(fault.Misconfigured, "the file is written in a way that cannot be changed safely",
		fmt.Sprintf("Change it by hand: config %s prints the entry", d.host.Name))
	if err != nil {
		odd = odd.Because(err)
	}
	return nil, odd
}
