package pages

import "unsafe"

// Text is b as text, without a copy. Nobody may change b as long as anybody has the text.
func Text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
