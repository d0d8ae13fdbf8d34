package fault

import (
	"context"
	"io/fs"
	"os"
)

// cause is one row of the only table in this project that maps errors of the
// operating system to codes. The first row whose error is in the chain wins.
type cause struct {
	is   error
	code Code
	msg  string
	do   string
}

// portable rows hold on every platform; platformCauses, by file, come first
// because they are more exact.
var portable = []cause{
	{context.Canceled, TimedOut, "the call was cancelled", ""},
	{context.DeadlineExceeded, TimedOut, "the call took longer than it may", "Ask for less at once"},
	{os.ErrDeadlineExceeded, TimedOut, "the operation took longer than it may", "Ask for less at once"},
	{fs.ErrNotExist, NotFound, "there is no such file or directory", "List the parent directory to see what is there"},
	{fs.ErrExist, Exists, "there is already something under that name", "Choose another name, or ask to overwrite"},
	{fs.ErrPermission, PermissionDenied, "the operating system refuses permission", "Ask the person who runs this server"},
	{fs.ErrInvalid, ParamInvalid, "the operating system rejects the value", ""},
}
