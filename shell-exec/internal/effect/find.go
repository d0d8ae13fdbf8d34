package effect

import (
	"slices"
	"strings"

	"github.com/multiollama/mcp-server/shell-exec/internal/cmdline"
	"github.com/multiollama/mcp-server/shell-exec/internal/pathclass"
)

// filters are find's tests that leave something out; bare ones take no value.
var (
	filters = strings.Fields(`-name -iname -path -ipath -wholename -regex -iregex -newer -newermt -mtime -mmin -atime -amin -ctime -cmin
		-size -user -group -perm -samefile -inum -lname`)
	bareFilters = strings.Fields(`-empty -nouser -nogroup`)
)

// search is a find command line taken apart.
type search struct {
	roots    []cmdline.Word
	filtered bool   // not everything beneath the roots is found
	name     string // what -name asks for, if that is one name
	deletes  bool
	execs    [][]cmdline.Word
	writes   []cmdline.Word
}

func (r *reader) find(s *scope, c *call) {
	f := readSearch(c)
	for _, w := range f.writes {
		r.write(s, w, "find")
	}
	for _, root := range f.roots {
		r.found(s, c, f, root)
	}
	if root := s.join(f.roots[0].Text); len(f.execs) == 0 && !f.deletes && len(f.roots) == 1 && root != "" {
		s.output.add(flow{kind: names, root: root, filtered: f.filtered, hint: f.name})
	}
}

// found follows what happens to the files beneath one root.
func (r *reader) found(s *scope, c *call, f search, root cmdline.Word) {
	one := r.oneOf(s, f, root)
	if f.deletes {
		all := one
		if !f.filtered {
			all = strings.TrimSuffix(root.Text, "/") + "/" + string(cmdline.Star)
		}
		r.delete(s, root.With(all), true, "find -delete", c.span)
	}
	for _, argv := range f.execs {
		inner := s.within("find -exec")
		inner.input = flow{kind: something}
		r.call(inner, replaced(argv, "{}", one), c.span)
		s.output.add(inner.output)
	}
}

// oneOf is the file that find hands on: the root itself where nothing is left out.
func (r *reader) oneOf(s *scope, f search, root cmdline.Word) string {
	if !f.filtered {
		return root.Text
	}
	dir := root.Text
	if p, _, ok := pathclass.Absolute(s.dir, dir); ok && pathclass.IsSystem(p) {
		dir = "/usr/lib" // something of the system
	} else if f.name == ".git" {
		return strings.TrimSuffix(dir, "/") + "/.git"
	}
	return strings.TrimSuffix(dir, "/") + "/" + hole
}

func readSearch(c *call) search {
	var f search
	words := skipGlobal(c.words)
	for len(words) > 0 && !isExpression(words[0].Text) {
		f.roots, words = append(f.roots, words[0]), words[1:]
	}
	if len(f.roots) == 0 {
		f.roots = []cmdline.Word{cmdline.At(".", c.span)}
	}
	f.expression(words)
	return f
}

func skipGlobal(words []cmdline.Word) []cmdline.Word {
	for len(words) > 0 {
		switch t := words[0].Text; {
		case t == "-H" || t == "-L" || t == "-P" || strings.HasPrefix(t, "-O"):
			words = words[1:]
		case t == "-D" && len(words) > 1:
			words = words[2:]
		default:
			return words
		}
	}
	return words
}

func isExpression(t string) bool { return t == "" || t[0] == '-' || t == "(" || t == "!" }

// expression reads tests and actions. A test counts as a filter only where it is
// neither negated nor one side of an "or".
func (f *search) expression(words []cmdline.Word) {
	depth, either := 0, false
	for len(words) > 0 {
		t := words[0].Text
		words = words[1:]
		switch {
		case t == "(":
			depth++
		case t == ")":
			depth--
		case (t == "-o" || t == "-or" || t == ",") && depth == 0:
			either = true
		case (t == "!" || t == "-not") && len(words) > 1 && slices.Contains(filters, words[0].Text):
			words = words[2:]
		case (t == "!" || t == "-not") && len(words) > 0 && slices.Contains(bareFilters, words[0].Text):
			words = words[1:]
		case slices.Contains(bareFilters, t):
			f.filtered = true
		case slices.Contains(filters, t) && len(words) > 0:
			v := words[0].Text
			if f.name = ""; (t == "-name" || t == "-iname") && !strings.ContainsAny(v, "*?[") {
				f.name = v
			}
			f.filtered = f.filtered || strings.Trim(v, "*./") != "" && !cmdline.Unknown(v)
			words = words[1:]
		default:
			words = f.action(t, words)
		}
	}
	f.filtered = f.filtered && !either
}

func (f *search) action(t string, words []cmdline.Word) []cmdline.Word {
	switch t {
	case "-delete":
		f.deletes = true
	case "-fprint", "-fls", "-fprint0", "-fprintf":
		if len(words) > 0 {
			f.writes, words = append(f.writes, words[0]), words[1:]
		}
	case "-exec", "-execdir", "-ok", "-okdir":
		end := slices.IndexFunc(words, func(w cmdline.Word) bool { return w.Text == ";" || w.Text == "+" })
		if end < 0 {
			end = len(words)
		}
		f.execs = append(f.execs, words[:end])
		return words[min(end+1, len(words)):]
	}
	return words
}

// fd runs a command for what it finds.
func (r *reader) fd(s *scope, c *call) {
	for i, w := range c.words {
		if !slices.Contains([]string{"-x", "--exec", "-X", "--exec-batch"}, w.Text) {
			continue
		}
		argv := c.words[i+1:]
		if end := slices.IndexFunc(argv, func(w cmdline.Word) bool { return w.Text == ";" }); end >= 0 {
			argv = argv[:end]
		}
		one := fdFinds(c.words[:i])
		if !slices.ContainsFunc(argv, func(w cmdline.Word) bool { return strings.Contains(w.Text, "{}") }) {
			argv = append(argv[:len(argv):len(argv)], cmdline.At("{}", c.span))
		}
		r.call(s.within("fd -x"), replaced(argv, "{}", one), c.span)
		return
	}
	s.output.add(flow{kind: names, root: s.dir, filtered: true})
}

// fdFinds is a file that fd hands on: its operands are a pattern and where to look.
func fdFinds(words []cmdline.Word) string {
	var operands []string
	for _, w := range words {
		if !strings.HasPrefix(w.Text, "-") {
			operands = append(operands, w.Text)
		}
	}
	if len(operands) < 2 {
		return "./" + hole
	}
	root := strings.TrimSuffix(operands[len(operands)-1], "/")
	if strings.Trim(operands[0], ".*") == "" && !strings.ContainsFunc(root, cmdline.IsMark) {
		return root + "/"
	}
	return root + "/" + hole
}
