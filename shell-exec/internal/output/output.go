// Package output keeps and shows what commands wrote: as a terminal would show it (Render), within a budget (Capture),
// as the newest lines (Newest), and to the last byte, on disk (Store).
package output
