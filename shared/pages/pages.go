// Package pages takes the memory that every start needs from the kernel in one call,
// where it would come page by page, each with a fault of its own. Half of a start are
// such faults, most of them in the initialization of packages: so this one does its
// work in an init, and imports next to nothing, to be there before them. And it has
// room for what is large, in pages that are large too.
//
// It refuses to change what the memory is or how much there may be: where the kernel
// does not know the call, everything is as before.
package pages
