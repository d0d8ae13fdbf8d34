package index

// Marked is the runs that were taken in.
func (s *Sketch) Marked() []byte { return s.marks }
