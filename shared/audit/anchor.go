package audit

import (
	"os"
	"path/filepath"
)

// openAnchor opens the anchor and takes what it says for what is known of the log. It stays open:
// a restricted process could not open it again.
func (l *Log) openAnchor(path string) error {
	if path == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	var err error
	if l.anchor, err = openHead(path); err != nil {
		return err
	}
	raw, err := readHead(l.anchor, l.room())
	if err != nil {
		return err
	}
	if h, ok := parseHead(raw); ok {
		l.state = h
	}
	return nil
}

// drop writes down how far the log has come. The caller holds the lock.
func (l *Log) drop() error {
	if l.anchor == nil {
		return nil
	}
	raw, err := l.state.record(l.room())
	if err != nil {
		return err
	}
	_, err = l.anchor.WriteAt(raw, 0)
	return err
}
