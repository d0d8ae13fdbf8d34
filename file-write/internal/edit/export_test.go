package edit

import "github.com/multiollama/mcp-server/shared/text"

// Work looks for the nearest place of a text, and for the text itself, and gives
// the steps each took.
func Work(file, given string) (nearestSteps, findSteps int) {
	n := nearest{file: file, given: given}
	n.find()
	a := newAutomaton([]byte(given))
	for range matches(a, file, true) {
	}
	return n.work, a.steps
}

// WholeUnits says that the bytes and the characters of valid content are told
// apart alike.
func WholeUnits(content string, enc text.Encoding) bool {
	p, err := openPage([]byte(content), enc)
	return err == nil && newTracker(p).complete()
}
