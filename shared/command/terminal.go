package command

import (
	"io"
	"os"
)

// isTerminal says that r is a character device other than the null device: the
// same question on every platform, and wrong only about devices nobody serves
// on.
func isTerminal(r io.Reader) bool {
	f, ok := r.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}
