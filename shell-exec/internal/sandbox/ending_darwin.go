package sandbox

// awaitEnd is left to who asks for the status: that call waits.
func awaitEnd(int) {}
