// Package audit keeps one JSON line for every event, chained by SHA-256 so that
// a line that was changed, removed, inserted or moved is found and named.
//
// It refuses to store what it was not given masked: [MaskArguments] replaces
// file contents, long values and whatever looks like a credential, and
// [Log.Record] masks paths, rules and causes once more. It refuses to grow one
// line over [MaxLine] bytes, to overwrite a rotated file, to follow a symbolic
// link in place of its file, and to lose an event silently: what could not be
// stored is an error.
//
// It does not claim more than a chain without a key can: anyone who can write to
// the directory can rewrite the whole log. Copy [Result.Head] elsewhere now and
// then, and a rewritten past no longer leads to it. Nor does it call fsync for
// each event: an event survives the death of the process, not of the machine;
// what a power failure took from the end is found by [Verify].
//
// In addition to name.jsonl there are name.jsonl.head, a record of 512 bytes with the last
// sequence number, its hash and the size of the log (it is the lock between
// processes, too), and the rotated files name.000001.jsonl, name.000002.jsonl …
// in the order they were written. All of them stay in one directory, so that a
// process confined to it can keep rotating.
package audit

// Recorder stores events. A nil error means that the event is stored.
type Recorder interface {
	Record(Event) error
}

// Discard is the Recorder of --audit-log off: it stores nothing.
var Discard Recorder = discard{}

type discard struct{}

func (discard) Record(Event) error { return nil }
