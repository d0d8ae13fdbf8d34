package effect

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/multiollama/mcp-server/shell-exec/internal/cmdline"
	"github.com/multiollama/mcp-server/shell-exec/internal/pathclass"
)

// target is a file that a statement's output goes to.
type target struct {
	path    string
	appends bool
}

// connection stands for the path of what goes to another machine.
const connection = "/dev/tcp"

// redirects reads a statement's redirections: what is written and read, and what the
// command finds on its standard input.
func (r *reader) redirects(s *scope, st *syntax.Stmt) []target {
	var targets []target
	for _, d := range st.Redirs {
		if d.N != nil && strings.HasPrefix(d.N.Value, "{") {
			r.sets(s, strings.Trim(d.N.Value, "{}"), false, s.span(d))
		}
		switch d.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			text := r.document(s, d)
			if d.N == nil || d.N.Value == "0" {
				s.input = flow{kind: literal, text: text}
			}
		case syntax.WordHdoc:
			s.input = flow{kind: literal, text: cmdline.Plain(r.flat(s, d.Word)[0]) + "\n"}
		case syntax.DplIn, syntax.DplOut:
			r.duplicate(s, st, d)
		case syntax.RdrIn:
			r.inputFile(s, d)
		default:
			targets = append(targets, r.outputFile(s, d)...)
		}
	}
	return targets
}

// document is a here-document's text as the program reads it.
func (r *reader) document(s *scope, d *syntax.Redirect) string {
	if d.Hdoc == nil {
		return ""
	}
	if isQuoted(d.Word) {
		var b strings.Builder
		for _, p := range d.Hdoc.Parts {
			if l, ok := p.(*syntax.Lit); ok {
				b.WriteString(l.Value)
				continue
			}
			b.WriteString(flatText(r.pieces(s, []syntax.WordPart{p}, true)[0]))
		}
		return b.String()
	}
	return flatText(r.pieces(s, d.Hdoc.Parts, true)[0])
}

func isQuoted(delimiter *syntax.Word) bool {
	for _, p := range delimiter.Parts {
		switch p := p.(type) {
		case *syntax.SglQuoted, *syntax.DblQuoted:
			return true
		case *syntax.Lit:
			if strings.Contains(p.Value, `\`) {
				return true
			}
		}
	}
	return false
}

// duplicate is >&1, >&- or >& file.
func (r *reader) duplicate(s *scope, st *syntax.Stmt, d *syntax.Redirect) {
	span := s.span(d)
	for _, t := range r.flat(s, d.Word) {
		switch {
		case len(t) > 1 && t[0] == '-':
			r.glued(s, st, t[1:], span)
		case t == "" || t == "-" || isNumber(strings.TrimSuffix(t, "-")):
		case r.network(s, t, span):
		case d.Op == syntax.DplOut:
			r.write(s, cmdline.At(t, span), ">")
		}
	}
}

// glued is a word right after >&-: bash takes it for another word, maybe the program.
func (r *reader) glued(s *scope, st *syntax.Stmt, t string, span cmdline.Span) {
	var rest []cmdline.Word
	if c, ok := st.Cmd.(*syntax.CallExpr); ok {
		rest = r.words(s, c.Args)
	}
	r.advise(s, Unreadable, "a word directly after >&-, which the shell takes for a part of the command", "Put a blank after >&-", span)
	word := cmdline.At(t, span)
	r.call(s, append([]cmdline.Word{word}, rest...), span)
	r.call(s, append(rest[:len(rest):len(rest)], word), span)
}

func (r *reader) inputFile(s *scope, d *syntax.Redirect) {
	r.lastProcess = nil
	for _, t := range r.flat(s, d.Word) {
		word := cmdline.At(t, s.span(d))
		s.input = flow{kind: content}
		if known, ok := r.file(s, t); ok {
			s.input = known
		}
		if r.network(s, t, word.Span) {
			s.input = flow{kind: download}
		}
		s.input.secret = r.read(s, word)
	}
	if r.lastProcess != nil {
		s.input = r.processes[r.lastProcess]
	}
}

// outputFile is > >> >| &> &>> and <>.
func (r *reader) outputFile(s *scope, d *syntax.Redirect) []target {
	var targets []target
	r.lastProcess = nil
	for _, t := range r.flat(s, d.Word) {
		span := s.span(d)
		if r.network(s, t, span) {
			targets = append(targets, target{path: connection})
			continue
		}
		if r.lastProcess != nil {
			continue
		}
		r.write(s, cmdline.At(t, span), d.Op.String())
		p, _, ok := pathclass.Absolute(s.dir, t)
		if ok && (d.N == nil || d.N.Value == "1") && d.Op != syntax.RdrInOut {
			targets = append(targets, target{p, d.Op == syntax.AppOut || d.Op == syntax.AppAll})
		}
	}
	return targets
}

// network opens /dev/tcp/… and /dev/udp/…, which are bash's own.
func (r *reader) network(s *scope, t string, span cmdline.Span) bool {
	host, ok := strings.CutPrefix(t, "/dev/tcp/")
	if !ok {
		host, ok = strings.CutPrefix(t, "/dev/udp/")
	}
	if !ok {
		return false
	}
	if host, _, _ = strings.Cut(host, "/"); isLocal(host) {
		return true
	}
	r.connected = true
	r.flag(s, ConnectRaw, "opens a connection to "+cmdline.Show(host), span)
	return true
}

func isLocal(host string) bool { return host == "localhost" || host == "127.0.0.1" || host == "::1" }

func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// remember keeps what the script wrote to a file, so that running it can be judged.
func (r *reader) remember(t target, f flow) {
	if t.appends {
		old, ok := r.files[t.path]
		if !ok {
			old = flow{kind: something}
			if f.kind == literal {
				old = flow{} // what is appended is known at least
			}
		}
		old.add(f)
		f = old
	}
	r.files[t.path] = f
	if name, local := programName(f.root); f.kind == content && !local && strings.Contains(f.root, "/") {
		r.renamed[t.path] = name
		delete(r.files, t.path)
	}
}

// file is what the script wrote to a file before.
func (r *reader) file(s *scope, name string) (flow, bool) {
	p, _, ok := pathclass.Absolute(s.dir, name)
	if !ok {
		return flow{}, false
	}
	f, ok := r.files[p]
	return f, ok && f.kind != nothing
}
