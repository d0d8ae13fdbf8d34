package match

// Literal is text, one byte of it at least.
type Literal struct {
	Text []byte
	Fold bool // ASCII letters of Text, which are lower case, match both cases
}

// Required are literals one of which stands in every match; nil says that
// nothing is known.
func (p *Pattern) Required() []Literal {
	if len(p.needle.text) == 0 {
		return nil
	}
	return []Literal{{p.needle.text, p.needle.fold}}
}
