package fault

import "golang.org/x/sys/windows"

var platformCauses = []cause{
	{windows.ERROR_ACCESS_DENIED, PermissionDenied, "the operating system refuses permission", "Ask the person who runs this server"},
	{windows.ERROR_SHARING_VIOLATION, Unavailable, "another program holds the file open", "Try again"},
	{windows.ERROR_DIRECTORY, ParamInvalid, "a part of the path is a file, not a directory",
		"List the parent directory to see what is there"},
	{windows.ERROR_INVALID_NAME, ParamMalformed, "the name is not allowed on Windows", "Use another name"},
	{windows.ERROR_FILENAME_EXCED_RANGE, ParamInvalid, "the name is longer than the file system allows", "Use a shorter name"},
	{windows.ERROR_DISK_FULL, DiskFull, "there is no space left on the disk", "Free some space, then try again"},
	{windows.ERROR_NOT_ENOUGH_QUOTA, DiskFull, "the quota is used up", "Free some space, then try again"},
	{windows.ERROR_NOT_ENOUGH_MEMORY, OutOfMemory, "the system has no memory left for this", "Try again later, or ask for less at once"},
	{windows.ERROR_TOO_MANY_OPEN_FILES, LimitReached, "this server has too many files open", "Try again when other calls have ended"},
}
