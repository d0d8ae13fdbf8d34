package dfa

// runPortable takes every stream up to n bytes on, and stops behind the first
// byte where one of them comes to a state with flags. It says behind how many
// bytes that is; where the streams are in the text is not changed.
func runPortable(class *[256]uint8, table []uint32, text []byte, s *[streams]stream, n int) int {
	a, b, c, d := text[s[0].at:][:n], text[s[1].at:][:n], text[s[2].at:][:n], text[s[3].at:][:n]
	at0, at1, at2, at3 := s[0].state, s[1].state, s[2].state, s[3].state
	i := 0
	for i < n {
		at0 = table[at0+uint32(class[a[i]])]
		at1 = table[at1+uint32(class[b[i]])]
		at2 = table[at2+uint32(class[c[i]])]
		at3 = table[at3+uint32(class[d[i]])]
		i++
		if at0|at1|at2|at3 >= unknown {
			break
		}
	}
	s[0].state, s[1].state, s[2].state, s[3].state = at0, at1, at2, at3
	return i
}
