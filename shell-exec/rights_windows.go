package main

// gainsRoot: no program of Windows does.
func gainsRoot(string) bool { return false }
