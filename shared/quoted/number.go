package quoted

// Number is how many bytes at the start of b are a number of JSON (RFC 8259, 6):
// -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?. Where it is none, size is up to where
// it stops being one.
func Number(b []byte) (size int, ok bool) {
	if at(b, size) == '-' {
		size++
	}
	if at(b, size) == '0' {
		size++
	} else if size, ok = digits(b, size); !ok {
		return size, false
	}
	if at(b, size) == '.' {
		if size, ok = digits(b, size+1); !ok {
			return size, false
		}
	}
	if c := at(b, size); c != 'e' && c != 'E' {
		return size, true
	}
	size++
	if c := at(b, size); c == '+' || c == '-' {
		size++
	}
	return digits(b, size)
}

// digits is where the digits at i end, of which there must be one.
func digits(b []byte, i int) (end int, ok bool) {
	for end = i; end < len(b) && '0' <= b[end] && b[end] <= '9'; end++ {
	}
	return end, end > i
}

// at is a byte of b, 0 behind its end.
func at(b []byte, i int) byte {
	if i < len(b) {
		return b[i]
	}
	return 0
}
