package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/multiollama/mcp-server/file-read/internal/index"
	"github.com/multiollama/mcp-server/file-read/internal/match"
	"github.com/multiollama/mcp-server/file-read/internal/walk"
	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/text"
	"github.com/multiollama/mcp-server/shared/toolkit"
)

// search_content_in_files of document 002.
type searchIn struct {
	Path       string `json:"search_path" path:"read" doc:"File or directory."`
	Regex      string `json:"regex_pattern" doc:"RE2 regular expression."`
	Recursive  bool   `json:"recursive,omitempty" default:"false" doc:"Also below subdirectories."`
	MaxResults int    `json:"max_results,omitempty" default:"50" min:"1" max:"10000" doc:"Matching lines."`
	Glob       string `json:"glob,omitempty" doc:"Only these files, e.g. *.{ts,tsx}"`
	FoldCase   bool   `json:"case_insensitive,omitempty"`
	Fixed      bool   `json:"fixed_string,omitempty" doc:"The pattern is plain text."`
	Multiline  bool   `json:"multiline,omitempty" doc:"A match may span lines."`
	Context    int    `json:"context_lines,omitempty" min:"0" max:"20" doc:"Lines shown around a match."`
	Gitignore  bool   `json:"use_gitignore,omitempty" default:"true" doc:"Leave out what .gitignore excludes."`

	Output string `json:"output,omitempty" default:"lines" enum:"lines|files|count" doc:"files and count are complete, whatever max_results."`
}

type searchOut struct {
	Matches  []string `json:"matches" doc:"path:line:text; paths for files."`
	Hits     []hit    `json:"hits,omitempty"`
	Lines    int64    `json:"matchedLines"`
	Files    int      `json:"matchedFiles"`
	Searched int      `json:"filesSearched"`
	Skipped  counts   `json:"skipped"`
	Cut      bool     `json:"truncated"`

	note string
}

type hit struct {
	Path   string   `json:"path"`
	Line   int64    `json:"line"`
	Column int      `json:"column"`
	Text   string   `json:"text"`
	Before []string `json:"before,omitempty"`
	After  []string `json:"after,omitempty"`
}

func (r *reader) search(ctx context.Context, in searchIn) (searchOut, error) {
	p, err := r.scope.Parse(ctx, in.Path)
	if err != nil {
		return searchOut{}, err
	}
	s, err := r.newSearch(in)
	if err != nil {
		return searchOut{}, err
	}
	info, err := p.Stat()
	if err != nil {
		return searchOut{}, err
	}
	if info.Type == confine.Directory {
		err = r.searchDirectory(ctx, s, p, in)
	} else { // a file that the caller named; glob and ignore rules do not apply
		var f confine.Reader
		if err = p.OpenReader(&f); err == nil {
			var got found
			if got.result, err = s.run(ctx, &f); err == nil {
				s.take(func() confine.Path { return p }, got)
			}
		}
	}
	o := &s.out
	o.note = fmt.Sprintf("[matching lines: %d, in %d of %d files searched]", o.Lines, o.Files, o.Searched)
	switch {
	case o.Cut:
		o.note = fmt.Sprintf("[the first %d matching lines; more may follow: narrow the pattern, the path or glob, or raise max_results]",
			len(o.Hits))
	case o.Lines == 0 && info.Type == confine.Directory && !in.Recursive:
		o.note += " [only the files directly in the directory were searched: give recursive]"
	}
	if note := o.Skipped.note(); note != "" {
		o.note += "\n" + note
	}
	return s.out, err
}

// search is one call: the pattern, what is wanted of each file, and the answer
// as it grows. Only the goroutine that delivers touches the answer.
type search struct {
	pattern *match.Pattern
	glob    namePattern
	readers sync.Pool // of *confine.Reader
	want    match.Want
	output  string
	spans   bool // a match may span lines
	max     int  // matching lines
	budget  int  // bytes of text
	out     searchOut

	known           *index.View // of earlier searches; nil: nothing
	looked, unknown int         // files; of them, those of which known says nothing
	stopped         bool        // before the end of the tree
}

// found is the result of one file.
type found struct {
	result  match.Result
	err     error
	other   bool // the glob does not name it
	unknown bool // the index says nothing of it
}

func (r *reader) newSearch(in searchIn) (*search, error) {
	s := &search{output: in.Output, max: in.MaxResults, budget: r.maxBytes, spans: in.Multiline}
	s.readers.New = func() any { return new(confine.Reader) }
	s.out.Matches, s.out.Skipped = []string{}, counts{}
	options := match.Options{FoldCase: in.FoldCase, Fixed: in.Fixed, Multiline: in.Multiline, Buffers: r.buffers}
	var err error
	if s.pattern, err = match.Compile(in.Regex, options); err != nil {
		return nil, err
	}
	if in.Glob != "" {
		if s.glob, err = compileFind(in.Glob); err != nil {
			return nil, err
		}
	}
	switch in.Output {
	case "files":
		s.want = match.Want{FirstOnly: true}
	case "count":
		s.want = match.Want{CountOnly: true}
	default:
		s.want = match.Want{Context: in.Context, MaxHits: in.MaxResults}
	}
	return s, nil
}

// How many files may be searched before those that come first are: with lines, what
// was found in them is kept meanwhile, and perhaps for nothing.
const (
	aheadForLines  = 256
	aheadForCounts = 4096
)

// searchDirectory searches the files of a directory, except those that the index knows
// to have no match. What it does not know it gets to know after the search.
func (r *reader) searchDirectory(ctx context.Context, s *search, p confine.Path, in searchIn) error {
	known, done := r.indexing.view(s.pattern)
	defer done()
	s.known = known
	options := walk.Options{Recursive: in.Recursive, Hidden: true, Gitignore: in.Gitignore, Ahead: aheadForCounts}
	if s.output == "lines" {
		options.Ahead = aheadForLines
	}
	if known != nil {
		options.Recall = known.Recall
	}
	delivered := 0
	skipped, err := walk.Each(ctx, p, options, s.look, func(f walk.File, got found) bool {
		if delivered++; delivered%500 == 0 {
			toolkit.Progress(ctx, float64(delivered), 0, fmt.Sprintf("%d files searched, %d lines found", delivered, s.out.Lines))
		}
		s.stopped = !s.take(f.Path, got)
		return !s.stopped
	})
	for reason, n := range countsOf(skipped) {
		s.out.Skipped.add(reason, n)
	}
	if err == nil && !s.stopped && s.unknown > s.looked/64 { // few are not worth it
		r.indexing.fill(p, options, s.glob.matches)
	}
	return err
}

// look searches one file, unless the index knows the result; many run at once. The index
// is asked only in a directory that is as it was: the stamp of a file costs a good part
// of what it costs to open it.
func (s *search) look(ctx context.Context, f walk.File) found {
	if !s.glob.matches(f) {
		return found{other: true}
	}
	got := found{unknown: !f.Recalled()}
	if s.known.Selective() && f.Recalled() {
		verdict := index.Maybe
		switch stamp, kind, err := f.Stamp(); {
		case err != nil || kind != confine.File:
			verdict = index.Unknown
		case !s.spans || stamp.Size <= match.MaxSpan/utf8.UTFMax: // as UTF-8 a larger one may be too large to be searched
			verdict = s.known.File(stamp)
		}
		switch verdict {
		case index.Unknown:
			got.unknown = true
		case index.Never:
			return got
		case index.NeverABinary:
			got.result.Binary = true
			return got
		}
	}
	r := s.readers.Get().(*confine.Reader)
	defer s.readers.Put(r)
	if got.err = f.OpenReader(r); got.err == nil {
		got.result, got.err = s.run(ctx, r)
	}
	return got
}

// run searches an open file and closes it.
func (s *search) run(ctx context.Context, r *confine.Reader) (match.Result, error) {
	defer r.Close()
	return s.pattern.Search(ctx, r, s.want)
}

// take adds the result of the file at path to the answer, until max_results or the size
// of an answer is reached, and reports whether more is wanted.
func (s *search) take(path func() confine.Path, got found) bool {
	if got.other {
		return true
	}
	s.looked++
	if got.unknown {
		s.unknown++
	}
	switch {
	case got.err != nil:
		s.out.Skipped.add("unreadable", 1)
		return true
	case got.result.Binary && got.result.Lines == 0:
		s.out.Skipped.add("binary", 1)
		return true
	case got.result.Binary: // text up to a NUL far inside; what came before it counts
		s.out.Skipped.add("binary", 1)
	case got.result.TooLarge:
		s.out.Skipped.add("tooLarge", 1)
		return true
	}
	s.out.Searched++
	if got.result.Lines == 0 {
		return true
	}
	s.out.Files++
	s.out.Lines += got.result.Lines
	switch s.output {
	case "files":
		s.out.Matches = append(s.out.Matches, path().String())
		return true
	case "count":
		return true
	}
	name := path().String()
	for _, h := range got.result.Hits {
		line := fmt.Sprintf("%s:%d:%s", text.Escape(name), h.Line, h.Text)
		size := len(line)
		for _, l := range slices.Concat(h.Before, h.After) {
			size += len(l)
		}
		if len(s.out.Hits) == s.max || size > s.budget {
			s.out.Cut = true
			return false
		}
		s.budget -= size
		s.out.Matches = append(s.out.Matches, line)
		s.out.Hits = append(s.out.Hits, hit{name, h.Line, h.Column, h.Text, h.Before, h.After})
	}
	s.out.Cut = s.out.Cut || got.result.More
	return !s.out.Cut
}

// Text is the matching lines as grep writes them, with context lines where they
// were asked for, and the summary.
func (o searchOut) Text() string {
	var b strings.Builder
	if o.Hits == nil {
		for _, m := range o.Matches {
			b.WriteString(text.Escape(m) + "\n")
		}
	}
	for _, h := range o.Hits {
		path := text.Escape(h.Path)
		for i, l := range h.Before {
			fmt.Fprintf(&b, "%s-%d-%s\n", path, h.Line-int64(len(h.Before)-i), l)
		}
		fmt.Fprintf(&b, "%s:%d:%s\n", path, h.Line, h.Text)
		for i, l := range h.After {
			fmt.Fprintf(&b, "%s-%d-%s\n", path, h.Line+int64(i)+1, l)
		}
		if h.Before != nil || h.After != nil {
			b.WriteString("--\n")
		}
	}
	b.WriteString(o.note)
	return b.String()
}
