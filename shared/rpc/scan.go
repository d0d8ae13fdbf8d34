package rpc

import (
	"bytes"
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/multiollama/mcp-server/shared/quoted"
)

// scan reads a message that is an ordinary request or notification, in one pass and
// without copying. Whatever is out of the ordinary (a member that stands twice or is
// spelt in other letters, an escape in a name, an answer, what is no JSON) it leaves to
// encoding/json: where it says ok, both read the same.
func scan(line []byte) (m Message, ok bool) {
	s := scanner{b: line}
	ok = s.once(func(name []byte) bool {
		switch string(name) {
		case "jsonrpc":
			return s.value(0)
		case "id":
			m.ID = Usable(s.of(s.value))
			return m.ID != nil
		case "method":
			method, ok := s.text()
			m.Method = string(method)
			return ok
		case "params":
			return s.params(&m)
		}
		return false
	})
	s.space()
	if !ok || s.at < len(line) || m.Method == "" {
		return Message{}, false
	}
	m.Key = Key(m.ID)
	return m, true
}

// params reads what the transport has to know of them: the version of a request of
// 2026-07-28.
func (s *scanner) params(m *Message) bool {
	return s.once(func(name []byte) bool {
		switch string(name) {
		case "_meta":
			return s.meta(m)
		case "arguments":
			return s.value(0)
		case "requestId":
			return false
		}
		return s.named(1)
	})
}

func (s *scanner) meta(m *Message) bool {
	return s.once(func(name []byte) bool {
		if string(name) != mcp.MetaKeyProtocolVersion {
			return s.named(1)
		}
		version, ok := s.text()
		m.Version = string(version)
		m.Modern = mcp.IsModernProtocol(m.Version)
		return ok
	})
}

// manyNames is up to how many names of an object are compared with each other here.
const manyNames = 12

// once reads an object in which each name appears once, and as the protocol spells it.
func (s *scanner) once(member func(name []byte) bool) bool {
	var seen [manyNames][]byte
	count := 0
	return s.object(func(name []byte) bool {
		if count == manyNames || !ordinaryName(name) {
			return false
		}
		for _, other := range seen[:count] {
			if bytes.EqualFold(other, name) {
				return false
			}
		}
		seen[count] = name
		count++
		return member(name)
	})
}

// named reads a value in whose objects each name appears once. Lists of objects are left
// to encoding/json.
func (s *scanner) named(depth int) bool {
	s.space()
	switch {
	case s.at == len(s.b) || depth > maxNested || s.b[s.at] == '[':
		return false
	case s.b[s.at] == '{':
		return s.once(func([]byte) bool { return s.named(depth + 1) })
	}
	return s.value(depth)
}

// scanner is a place in a message. Its methods say false where what stands there is not
// what they read, or not JSON.
type scanner struct {
	b  []byte
	at int
}

// maxNested is how deep values may be nested; encoding/json judges what is deeper.
const maxNested = 64

func (s *scanner) space() {
	for s.at < len(s.b) && (s.b[s.at] == ' ' || s.b[s.at] == '\t' || s.b[s.at] == '\r' || s.b[s.at] == '\n') {
		s.at++
	}
}

// take reads c, and the space before it.
func (s *scanner) take(c byte) bool {
	s.space()
	if s.at == len(s.b) || s.b[s.at] != c {
		return false
	}
	s.at++
	return true
}

// of is what read goes over.
func (s *scanner) of(read func(depth int) bool) json.RawMessage {
	s.space()
	start := s.at
	if !read(0) {
		return nil
	}
	return s.b[start:s.at]
}

// object reads an object; member reads the value of each name.
func (s *scanner) object(member func(name []byte) bool) bool {
	if !s.take('{') {
		return false
	}
	if s.take('}') {
		return true
	}
	for {
		name, ok := s.text()
		if !ok || !s.take(':') || !member(name) {
			return false
		}
		if !s.take(',') {
			return s.take('}')
		}
	}
}

// text reads a text without escapes.
func (s *scanner) text() ([]byte, bool) {
	s.space()
	start := s.at
	if !s.quoted() {
		return nil, false
	}
	inner := s.b[start+1 : s.at-1]
	return inner, quoted.Plain(inner) == len(inner)
}

func (s *scanner) quoted() bool {
	if s.at == len(s.b) || s.b[s.at] != '"' {
		return false
	}
	size, wrong := quoted.Valid(s.b[s.at:])
	s.at += size
	return wrong == 0
}

// value reads a value of any kind.
func (s *scanner) value(depth int) bool {
	s.space()
	if s.at == len(s.b) || depth > maxNested {
		return false
	}
	switch c := s.b[s.at]; {
	case c == '"':
		return s.quoted()
	case c == '{':
		return s.object(func([]byte) bool { return s.value(depth + 1) })
	case c == '[':
		return s.list(depth)
	case c == '-' || '0' <= c && c <= '9':
		return s.number()
	}
	return s.word("true") || s.word("false") || s.word("null")
}

func (s *scanner) word(w string) bool {
	end := s.at + len(w)
	if end > len(s.b) || string(s.b[s.at:end]) != w {
		return false
	}
	s.at = end
	return true
}

func (s *scanner) list(depth int) bool {
	s.at++
	if s.take(']') {
		return true
	}
	for s.value(depth + 1) {
		if !s.take(',') {
			return s.take(']')
		}
	}
	return false
}

func (s *scanner) number() bool {
	size, ok := quoted.Number(s.b[s.at:])
	s.at += size
	return ok
}
