package match

import (
	"context"
	"io"
	"regexp"
	"unicode/utf8"
)

// find is where re first matches in text, or nil. Text that would keep the
// regexp package busy for long is handed to it rune by rune, so that it stops
// when ctx ends; what it answers then means nothing.
func (p *Pattern) find(ctx context.Context, re *regexp.Regexp, text []byte) []int {
	if len(text) <= p.patience {
		return re.FindIndex(text)
	}
	return re.FindReaderIndex(&runes{ctx: ctx, text: text})
}

// runes is an io.RuneReader over text that ends early when ctx does.
type runes struct {
	ctx  context.Context
	text []byte
	at   int
	read int
}

func (r *runes) ReadRune() (rune, int, error) {
	if r.read++; r.read%256 == 0 && r.ctx.Err() != nil {
		return 0, 0, io.EOF
	}
	if r.at == len(r.text) {
		return 0, 0, io.EOF
	}
	if c := r.text[r.at]; c < utf8.RuneSelf {
		r.at++
		return rune(c), 1, nil
	}
	c, size := utf8.DecodeRune(r.text[r.at:])
	r.at += size
	return c, size, nil
}
