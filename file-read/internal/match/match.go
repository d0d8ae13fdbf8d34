// Package match finds the lines of a stream that a regular expression matches.
//
// It never opens files, starts goroutines only for a large file that it can read at any
// offset, and runs nothing whose time is not linear in the text: expressions are RE2, so
// \d, \w and \b know ASCII only, and there is no lookaround and no backreference. It
// never holds a whole file in memory, except where a pattern may span lines, and then at
// most [MaxSpan] bytes of it.
//
// Text is searched as UTF-8. Other encodings are detected from the first 64 KiB and
// decoded on the way; a NUL marks a file as binary, as it does for ripgrep.
// A line ends at a line feed; a carriage return right before it belongs to the
// line end, not to the line, so that $ matches before both. Only a pattern that
// names \r itself is matched against lines that still have it.
package match

import (
	"regexp"
	"sync"

	"github.com/multiollama/mcp-server/file-read/internal/dfa"
	"github.com/multiollama/mcp-server/shared/text"
)

// Limits of what is compiled and searched, in bytes unless they say otherwise.
const (
	MaxExpr    = 8 << 10  // of an expression
	MaxLine    = 1 << 20  // of a line that is matched whole
	MaxSpan    = 16 << 20 // of a file (as UTF-8) whose lines a pattern may span
	DefaultCut = 500      // of a matching line that is shown

	maxInstructions = 10_000 // of a compiled expression; each costs time per byte
)

// Options say how an expression is read. The zero value is a regular expression
// that is case-sensitive and is matched line by line.
type Options struct {
	FoldCase  bool // a letter also matches its other cases
	Fixed     bool // the expression is plain text
	Multiline bool // a match may span lines; . still needs (?s) to match a line feed

	Buffers *Buffers // shared with other patterns; nil: with none
}

// Pattern is a compiled expression. Any number of goroutines may search with it
// at once.
type Pattern struct {
	whole  *regexp.Regexp    // on text that begins and ends at line borders
	pieces [4]*regexp.Regexp // on parts of a line, see pieceOf
	onward *regexp.Regexp    // with spans: from within a line, see matches.advance

	literals []Literal    // one of them stands in every match
	exact    bool         // and is the match
	seek     seeker       // what is looked for first
	prog     *dfa.Program // within a line; nil with spans, and where it is too large

	spans  bool // a match may contain a line feed
	keepCR bool // the expression names \r
	sizes  sizes
	utf8   text.Encoding

	patience int // bytes that one call of the regexp package may take
	step     int // bytes of lines that one such call is given

	buffers *Buffers
	idle    sync.Pool // of *search: states of the program
}

// sizes are how much is handled at a time, in bytes. Tests have smaller ones.
type sizes struct {
	head  int // what an encoding is detected from
	block int // what is searched at a time
	run   int // what the program is run over at a time
	chunk int // what is searched at the same time as other parts of a file

	trial int // what the seeker may cost beyond what it spares, see lookout
	alone int // what the machine is run over alone, before the seeker is tried again
}

var defaultSizes = sizes{head: 64 << 10, block: 256 << 10, run: 64 << 10, chunk: 1 << 20, trial: 16 << 10, alone: 4 << 20}

// Want says how much of what matches is returned. The zero value wants every
// matching line.
type Want struct {
	Context   int  // lines returned before and after each hit
	MaxHits   int  // hits returned; 0 means all of them
	CountOnly bool // return no hits, count lines
	FirstOnly bool // stop at the first hit
	MaxText   int  // bytes of a line that are returned; 0 means DefaultCut
}

// Hit is a matching line; where a match spans lines, all the lines it touches.
type Hit struct {
	Line   int64    // number of the (first) line, from 1
	Column int      // where the match begins: in bytes of the line as UTF-8, from 1
	Text   string   // without its line end; invalid bytes are shown as U+FFFD
	Before []string // up to Want.Context lines right before, in file order
	After  []string // up to Want.Context lines right after
	Cut    bool     // Text is a window of Want.MaxText bytes around the match
}

// Result is what one stream contains. Lines in Before and After that are longer
// than Want.MaxText end in "…".
type Result struct {
	Hits     []Hit
	Lines    int64  // matching lines that were looked at
	Encoding string // of the stream, as in package text; empty for binary ones
	Binary   bool   // a NUL was found: nothing is returned from the line it is in
	More     bool   // there are hits beyond Want.MaxHits
	TooLarge bool   // the pattern spans lines and the file is over MaxSpan: not searched
	Windowed bool   // a line over MaxLine was matched in overlapping windows
}
