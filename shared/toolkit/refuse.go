package toolkit

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/multiollama/mcp-server/shared/fault"
)

// wrongType says what was wanted, what came, and how to write it instead.
func (s *shape) wrongType(n node, at where) *fault.Error {
	what := fmt.Sprintf("the parameter %s must be %s, not %s", quote(at.String()), s.wanted(), n.said(at.quiet))
	return fault.New(fault.ParamMalformed, what, s.remedy(n, at)).
		With("parameter", at.String()).With("wanted", s.wanted()).With("got", n.kind.said())
}

func (s *shape) remedy(n node, at where) string {
	bare := ""
	if n.kind == kindText && !at.quiet {
		bare = unquote(n.raw)
	}
	_, notNumber := strconv.ParseFloat(bare, 64)
	switch {
	case (s.form == whole || s.form == real) && bare != "" && notNumber == nil && len(bare) < 32:
		return "Send " + bare + " without quotation marks"
	case s.form == flag && (bare == "true" || bare == "false"):
		return "Send " + bare + " without quotation marks"
	case s.form == text && (n.kind == kindNumber || n.kind == kindBool):
		return "Put it in quotation marks"
	case s.form == list:
		return "Send a list in brackets, even for one value"
	}
	return "Send " + s.wanted()
}

// within holds a number against min and max.
func (f *field) within(v float64, n node, at where) *fault.Error {
	if (f.low.text == "" || v >= f.low.value) && (f.high.text == "" || v <= f.high.value) {
		return nil
	}
	return f.rangeTold(tooLarge(n, at))
}

// rangeTold adds the range to an error about it.
func (f *field) rangeTold(e *fault.Error) *fault.Error {
	words := f.rangeWords()
	if e.Code != fault.ParamInvalid || words == "" {
		return e
	}
	c := *e
	c.Msg = strings.TrimSuffix(c.Msg, ", which is out of range") + ", but must be " + words
	c.Do = "Send a number that is " + words
	out := &c
	if f.low.text != "" {
		out = out.With("min", f.low.value)
	}
	if f.high.text != "" {
		out = out.With("max", f.high.value)
	}
	return out
}

func (f *field) rangeWords() string {
	switch {
	case f.low.text != "" && f.high.text != "":
		return "between " + f.low.text + " and " + f.high.text
	case f.low.text != "":
		return "at least " + f.low.text
	case f.high.text != "":
		return "at most " + f.high.text
	}
	return ""
}

// among holds a text against the enum.
func (f *field) among(v string, at where) *fault.Error {
	if len(f.enum) == 0 || slices.Contains(f.enum, v) {
		return nil
	}
	words := strings.Join(f.enum, ", ")
	e := fault.New(fault.ParamInvalid, fmt.Sprintf("the parameter %s is %s, but must be one of %s", quote(at.String()), told(v, at.quiet), words), "Choose one of "+words).
		With("parameter", at.String()).With("allowed", f.enum)
	if meant := nearest(v, f.enum); meant != "" && !at.quiet {
		e = e.With("did_you_mean", meant)
	}
	return e
}

// items holds a list against minItems and maxItems, and its texts against enum.
func (f *field) items(v reflect.Value, at where) *fault.Error {
	n := v.Len()
	if n < f.minItems || f.maxItems > 0 && n > f.maxItems {
		words := f.itemWords()
		return fault.New(fault.ParamInvalid, fmt.Sprintf("the list %s has %d values, but must have %s", quote(at.String()), n, words), "Send "+words).
			With("parameter", at.String()).With("count", n)
	}
	if len(f.enum) == 0 {
		return nil
	}
	for i := range n {
		if err := f.among(v.Index(i).String(), where{outer: &at, index: i, quiet: at.quiet}); err != nil {
			return err
		}
	}
	return nil
}

func (f *field) itemWords() string {
	switch {
	case f.maxItems == 0:
		return fmt.Sprintf("at least %d", f.minItems)
	case f.minItems == 0:
		return fmt.Sprintf("at most %d", f.maxItems)
	}
	return fmt.Sprintf("%d to %d", f.minItems, f.maxItems)
}

// said is a value in the words of an error message: short, on one line, and
// only its kind where it is quiet.
func (n node) said(quiet bool) string {
	switch {
	case n.kind == kindText:
		return "the text " + told(unquote(n.raw), quiet)
	case n.kind == kindNumber && !quiet:
		return "the number " + clip(string(n.raw))
	case n.kind == kindBool && !quiet:
		return string(n.raw)
	}
	return n.kind.said()
}

func told(v string, quiet bool) string {
	if quiet {
		return "that was sent"
	}
	return quote(v)
}

// quote shows text from the client so that it cannot forge a line.
func quote(s string) string { return strconv.QuoteToGraphic(clip(s)) }

const maxTold = 60 // bytes of a value repeated in an error

func clip(s string) string {
	if len(s) <= maxTold {
		return s
	}
	end := maxTold
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}
