package confine

// Stamp is what tells one version of a file or directory from another: as long as it
// stays the same so does what is there, as far as time stamps can tell. That of a
// directory changes when an entry comes, goes or is renamed. Times are in nanoseconds
// since 1970.
type Stamp struct {
	Dev, Ino          uint64
	Size              int64
	Modified, Changed int64
}

// SameFile says that both are of one file or directory, in whatever versions.
func (s Stamp) SameFile(other Stamp) bool { return s.Dev == other.Dev && s.Ino == other.Ino }
