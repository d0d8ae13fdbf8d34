//go:build unix

package fault

import "syscall"

var platformCauses = []cause{
	{syscall.EACCES, PermissionDenied, "the operating system refuses permission (EACCES)", "Ask the person who runs this server"},
	{syscall.EPERM, PermissionDenied, "the operating system refuses permission (EPERM)", "Ask the person who runs this server"},
	{syscall.EROFS, PermissionDenied, "the file system is read-only (EROFS)", "Ask the person who runs this server"},
	{syscall.ENOTDIR, ParamInvalid, "a part of the path is a file, not a directory", "List the parent directory to see what is there"},
	{syscall.EISDIR, ParamInvalid, "that is a directory, not a file", "Name a file in it"},
	{syscall.ENOTEMPTY, Exists, "the directory is not empty", "Remove what is in it first"},
	{syscall.ENAMETOOLONG, ParamInvalid, "the name is longer than the file system allows", "Use a shorter name"},
	{syscall.ELOOP, Forbidden, "the path goes through a symbolic link", "Name the file itself, without the link"},
	{syscall.EXDEV, OutsideAllowed, "the path leaves the allowed directories", "Use a path beneath an allowed directory"},
	{syscall.ENOSPC, DiskFull, "there is no space left on the disk (ENOSPC)", "Free some space, then try again"},
	{syscall.EDQUOT, DiskFull, "the disk quota is used up (EDQUOT)", "Free some space, then try again"},
	{syscall.EFBIG, LimitReached, "the file would be larger than the system allows (EFBIG)", "Write less"},
	{syscall.ENOMEM, OutOfMemory, "the system has no memory left for this (ENOMEM)", "Try again later, or ask for less at once"},
	{syscall.EMFILE, LimitReached, "this server has too many files open (EMFILE)", "Try again when other calls have ended"},
	{syscall.ENFILE, LimitReached, "the system has too many files open (ENFILE)", "Try again later"},
	{syscall.EAGAIN, Unavailable, "the resource is busy (EAGAIN)", "Try again"},
	{syscall.EBUSY, Unavailable, "the resource is busy (EBUSY)", "Try again"},
	{syscall.EIO, Unavailable, "the device reports an input/output error (EIO)",
		"Try again, or ask the person who runs this server to check the disk"},
	{syscall.ESTALE, NotFound, "the file vanished from the network file system (ESTALE)", "Try again"},
	{syscall.ETIMEDOUT, TimedOut, "the device or network did not answer in time (ETIMEDOUT)", "Try again"},
	{syscall.ENOSYS, Unavailable, "this system lacks the needed function (ENOSYS)", ""},
	{syscall.EOPNOTSUPP, Unavailable, "this file system lacks the needed function (EOPNOTSUPP)", ""},
}
