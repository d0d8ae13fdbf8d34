package confine

// Local says that d lies in a file system of this machine that is known to change the
// stamp of what is changed, and to tell the new one at once. False means not known.
func (d *Dir) Local() bool { return d.place.local }

// Local is [Dir.Local] of the file that is open.
func (r *Reader) Local() bool { return r.open && r.file.place.local }
