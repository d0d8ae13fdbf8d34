package effect

import (
	"cmp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"github.com/multiollama/mcp-server/shell-exec/internal/cmdline"
)

const (
	hole = string(cmdline.Hole)
	gap  = string(cmdline.Gap)
)

// piece is a part of a word after expansion.
type piece struct {
	text  string
	split bool     // unquoted: blanks in it end the word
	items []string // "${a[@]}": a word each
	list  bool
}

func (r *reader) words(s *scope, all []*syntax.Word) []cmdline.Word {
	var out []cmdline.Word
	for _, w := range all {
		out = append(out, r.word(s, w)...)
	}
	return out
}

// word expands one word as far as it is known: to several words, or to none. What it
// may become is there with all that it may become instead.
func (r *reader) word(s *scope, w *syntax.Word) []cmdline.Word {
	return slices.Concat(r.readings(s, w)...)
}

// readings are what a word may become, each of them several words, or none.
func (r *reader) readings(s *scope, w *syntax.Word) [][]cmdline.Word {
	if !r.spend(s, 1) {
		return [][]cmdline.Word{{cmdline.At(gap, s.span(w))}}
	}
	hasBrace := func(p syntax.WordPart) bool { l, ok := p.(*syntax.Lit); return ok && strings.Contains(l.Value, "{") }
	if s.grammar == cmdline.Bash && slices.ContainsFunc(w.Parts, hasBrace) {
		if braces := (&syntax.Word{Parts: slices.Clone(w.Parts)}); syntax.SplitBraces(braces) {
			return [][]cmdline.Word{r.braces(s, braces, s.span(w))}
		}
	}
	return r.expansions(s, w.Parts, s.span(w))
}

func (r *reader) braces(s *scope, w *syntax.Word, span cmdline.Span) []cmdline.Word {
	unknown := cmdline.At(gap, span)
	for i, p := range w.Parts[1:] { // $x{a,b}: the shell expands the braces first, to $xa $xb
		_, brace := p.(*syntax.BraceExp)
		if before, ok := w.Parts[i].(*syntax.ParamExp); brace && ok && before.Short {
			return []cmdline.Word{unknown}
		}
	}
	var out []cmdline.Word
	n := 0
	for part, err := range expand.BracesSeq(nil, w) {
		if n++; err != nil || n > maxWords {
			return append(out, unknown)
		}
		out = append(out, r.expand(s, part.Parts, span)...)
	}
	return out
}

func (r *reader) expand(s *scope, parts []syntax.WordPart, span cmdline.Span) []cmdline.Word {
	return slices.Concat(r.expansions(s, parts, span)...)
}

// expansions are what the parts of a word may become. Each is a list of words, where what is not quoted has split.
func (r *reader) expansions(s *scope, parts []syntax.WordPart, span cmdline.Span) [][]cmdline.Word {
	quoted := false
	for _, p := range parts {
		switch p.(type) {
		case *syntax.SglQuoted, *syntax.DblQuoted:
			quoted = true
		}
	}
	var all [][]cmdline.Word
	for _, pieces := range r.pieces(s, parts, false) {
		all = append(all, wordsAt(s.fields(pieces, quoted), span))
	}
	if len(parts) == 1 && len(all) == 1 && len(all[0]) == 1 && s.exact {
		all[0][0].Verbatim = s.verbatim(parts[0], all[0][0].Text)
	}
	return all
}

// verbatim is where a word's text is written letter by letter, or -1.
func (s *scope) verbatim(p syntax.WordPart, text string) int {
	switch p := p.(type) {
	case *syntax.SglQuoted:
		if !p.Dollar {
			return s.base + int(p.Pos().Offset()) + 1
		}
	case *syntax.DblQuoted:
		if len(p.Parts) == 1 && !p.Dollar {
			return s.verbatim(p.Parts[0], text)
		}
	case *syntax.Lit:
		if p.Value == text {
			return s.base + int(p.Pos().Offset())
		}
	}
	return -1
}

// pieces are the alternatives of what the parts become.
func (r *reader) pieces(s *scope, parts []syntax.WordPart, quoted bool) [][]piece {
	alternatives := [][]piece{nil}
	for i, p := range parts {
		options := r.part(s, p, quoted, i == 0 && !quoted)
		if len(options) == 1 {
			for k := range alternatives {
				alternatives[k] = append(alternatives[k], options[0]...) // each has its own memory
			}
			continue
		}
		var next [][]piece
		for _, a := range alternatives {
			for _, o := range options {
				if len(next) < maxTexts {
					next = append(next, slices.Concat(a, o))
				}
			}
		}
		alternatives = next
	}
	return alternatives
}

// fields splits pieces into words.
func (s *scope) fields(pieces []piece, quoted bool) []string {
	hasText := func(p piece) bool { return p.text != "" || len(p.items) > 0 }
	isList := func(p piece) bool { return p.list }
	if slices.ContainsFunc(pieces, isList) && !slices.ContainsFunc(pieces, hasText) {
		return nil // "$@" without parameters is no word at all
	}
	f := fields{have: quoted}
	for _, p := range pieces {
		switch {
		case p.list:
			for i, item := range p.items {
				if i > 0 {
					f.end()
				}
				f.current.WriteString(item)
				f.have = true
			}
		case !p.split:
			f.current.WriteString(p.text)
			f.have = f.have || p.text != ""
		case s.splitting && s.separators == "" && p.text != "":
			f.current.WriteString(gap)
			f.have = true
		case s.splitting:
			f.split(p.text, s.separators)
		default:
			f.split(p.text, " \t\n")
		}
	}
	if f.current.Len() > 0 || (f.have || quoted) && len(f.out) == 0 {
		f.end()
	}
	return f.out
}

type fields struct {
	out     []string
	current strings.Builder
	have    bool // the current word exists though it may be empty
}

func (f *fields) end() {
	f.out = append(f.out, f.current.String())
	f.current.Reset()
}

func (f *fields) split(text, separators string) {
	for text != "" {
		at := strings.IndexAny(text, separators)
		if at < 0 {
			f.current.WriteString(text)
			f.have = true
			return
		}
		f.current.WriteString(text[:at])
		if f.current.Len() > 0 {
			f.end()
		}
		f.have, text = false, text[at+1:]
	}
}

// onePiece is a part that can only become this text.
func onePiece(text string) [][]piece { return [][]piece{{{text: text}}} }

// part expands one part of a word.
func (r *reader) part(s *scope, p syntax.WordPart, quoted, first bool) [][]piece {
	switch p := p.(type) {
	case *syntax.Lit:
		if first && strings.HasPrefix(p.Value, "~") {
			if expanded := r.tilde(s, p.Value[1:]); expanded != nil {
				return expanded
			}
		}
		return onePiece(cmdline.Unescape(p.Value, quoted))
	case *syntax.SglQuoted:
		if p.Dollar {
			return onePiece(cmdline.Decode(p.Value))
		}
		return onePiece(p.Value)
	case *syntax.DblQuoted:
		return r.pieces(s, p.Parts, true)
	case *syntax.ParamExp:
		return parameterPieces(r.parameter(s, p), quoted)
	case *syntax.CmdSubst:
		text := r.substitution(s, p)
		if !quoted {
			text = cmdline.Patterned(cmdline.Unquoted(text))
		}
		return [][]piece{{{text: text, split: !quoted}}}
	case *syntax.ArithmExp:
		r.arithmetic(s, p.X)
		return onePiece("1")
	case *syntax.ProcSubst: // <( … ) becomes a name for a pipe; an empty one is no word at all
		r.flag(s, Substitution, "process substitution", s.span(p))
		if len(p.Stmts) == 0 {
			return [][]piece{{{split: true}}}
		}
		inner := s.sub()
		inner.depth++
		r.statements(inner, p.Stmts)
		if inner.output.kind == nothing {
			inner.output.kind = something
		}
		r.lastProcess = &inner.output
		return onePiece(pipeName)
	case *syntax.ExtGlob:
		return onePiece(string(cmdline.Star))
	}
	return [][]piece{{{text: gap, split: true}}}
}

// pipeName is what a process substitution becomes.
const pipeName = "/dev/fd/63"

func parameterPieces(v value, quoted bool) [][]piece {
	var out [][]piece
	if v.list {
		for _, l := range v.lists() {
			if all := slices.Concat(l...); quoted {
				out = append(out, []piece{{items: all, list: true}})
			} else {
				out = append(out, []piece{{text: strings.Join(all, " "), split: true}})
			}
		}
		return out
	}
	for _, t := range v.texts {
		if !quoted {
			t = cmdline.Patterned(cmdline.Unquoted(t))
		}
		out = append(out, []piece{{text: t, split: !quoted}})
	}
	if out == nil {
		return [][]piece{{{split: !quoted}}}
	}
	return out
}

// tilde is what ~text becomes; nil where the ~ is an ordinary character.
func (r *reader) tilde(s *scope, text string) [][]piece {
	user, tail, inside := strings.Cut(text, "/")
	if inside {
		tail = cmdline.Unescape("/"+tail, false)
	}
	homes := []string{hole}
	switch {
	case user == "":
		if known := r.lookup(s, "HOME").texts; len(known) > 0 {
			homes = known
		}
	case user == "+" && s.dir != "":
		homes[0] = s.dir
	case user == "+" || user == "-":
	case user == "root":
		homes[0] = "/root"
	case syntax.ValidName(strings.ReplaceAll(user, "-", "_")):
		homes[0] = "/home/" + user
	default:
		return nil
	}
	var out [][]piece
	for _, home := range homes {
		out = append(out, []piece{{text: cmp.Or(home, hole) + tail}})
	}
	return out
}

// substitution is what $( … ) becomes.
func (r *reader) substitution(s *scope, p *syntax.CmdSubst) string {
	r.flag(s, Substitution, "command substitution", s.span(p))
	if s.depth > maxDepth {
		r.flag(s, Unreadable, "substitutions are nested too deeply", s.span(p))
		return hole
	}
	inner := s.sub()
	inner.depth++
	r.statements(inner, p.Stmts)
	if len(p.Stmts) == 1 && p.Stmts[0].Cmd == nil { // $(<file) is what the script has written to the file
		inner.output = flow{kind: something}
		for _, d := range p.Stmts[0].Redirs {
			if d.Op != syntax.RdrIn {
				continue
			}
			if known, found := r.file(s, r.flat(s, d.Word)[0]); found {
				inner.output = known
				break
			}
		}
	}
	out := inner.output
	r.secret = r.secret || out.secret
	switch out.kind {
	case literal:
		text := strings.TrimRight(out.text, "\n")
		if out.decoded && len(text) > 2 {
			r.decodedTexts[text] = true
		}
		return text
	case something:
		if out.hint != "" && len(r.hints) < maxTexts {
			r.hints = append(r.hints, out.hint)
		}
	case decoding:
		r.decoded = true
	case download:
		r.downloaded = true
	}
	return hole
}

// flat are the texts of a word where it cannot split: in an assignment, a redirection, a test.
func (r *reader) flat(s *scope, w *syntax.Word) []string {
	if w == nil {
		return []string{""}
	}
	var out []string
	for _, pieces := range r.pieces(s, w.Parts, false) {
		out = append(out, cmdline.Quoted(flatText(pieces)))
	}
	return out
}

func flatText(pieces []piece) string {
	var b strings.Builder
	for _, p := range pieces {
		b.WriteString(p.text)
		b.WriteString(strings.Join(p.items, " "))
	}
	return b.String()
}
