// Package output keeps and shows what commands wrote: as a terminal would show it ([screen.Render]), within a budget
// (Capture), as the newest lines (Newest), and to the last byte, on disk (Store). A store is a directory of its own, which several
// processes may share:
//
//	lock                 locked while a run begins or goes
//	PROJECT/RUN.about    lines of JSON: that the run began, notes about it, that it ended; locked by who writes the outputs
//	PROJECT/RUN.stdout   what came, as it came; likewise RUN.stderr and RUN.log
//	PROJECT/RUN.order    where stdout and stderr took turns, if both said something
//
// A Store lists, reads and removes the runs of its own project only. The limits are for all projects together, so what is
// over them goes wherever it lies.
//
// It refuses to open what a client names: an id is taken apart into random letters and one of a few words, and every file
// is opened through the store's directory. It refuses to let a command fail, wait or fill the disk because of its output:
// what is not kept is counted.
//
// Crashes: files only grow, and in the order in which they are read, so that a run can be read at whatever moment a
// process is killed; that it was cut off shows in that it has no end and nobody holds its lock. Nothing is synced: after
// the power went, outputs of the last seconds may be missing, and no others.
package output
