package hosts

import (
	"fmt"
	"maps"
	"slices"
)

// pointer names an entry in a file, or one member of it.
type pointer struct {
	under  []string // keys, outermost first
	name   string
	list   bool   // the value of these keys is a list of objects that have the name as a member
	member string // empty: the whole entry
}

// keys are all keys to follow, outermost first.
func (p pointer) keys() []string {
	keys := append(slices.Clone(p.under), p.name)
	if p.member != "" {
		keys = append(keys, p.member)
	}
	return keys
}

// at follows keys into the value of a parser.
func at(v any, keys ...string) (any, bool) {
	for _, key := range keys {
		m, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		if v, ok = m[key]; !ok {
			return nil, false
		}
	}
	return v, true
}

// in is the entry in v.
func (p pointer) in(v any) (any, bool) {
	v, ok := at(v, p.under...)
	if !ok || !p.list {
		return at(v, p.name)
	}
	list, _ := v.([]any)
	if i := p.index(list); i >= 0 {
		return list[i], true
	}
	return nil, false
}

// index is the first element of that name.
func (p pointer) index(list []any) int {
	return slices.IndexFunc(list, func(e any) bool {
		name, ok := at(e, "name")
		return ok && name == p.name
	})
}

// without is a copy of v without the entry, and without what is empty along the keys.
func (p pointer) without(v any, keys []string) any {
	switch v := v.(type) {
	case []any:
		if i := p.index(v); len(keys) == 0 && p.list && i >= 0 {
			return slices.Delete(slices.Clone(v), i, i+1)
		}
	case map[string]any:
		v = maps.Clone(v)
		if len(keys) == 0 && !p.list {
			delete(v, p.name)
		}
		if len(keys) > 0 {
			v[keys[0]] = p.without(v[keys[0]], keys[1:])
			if isEmpty(v[keys[0]]) {
				delete(v, keys[0])
			}
		}
		return v
	}
	return v
}

func isEmpty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}

// equal compares values of parsers. Numbers of any kind are equal when they are printed
// alike; NaN equals itself.
func equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, equal)
	case map[any]any:
		b, ok := b.(map[any]any)
		return ok && maps.EqualFunc(a, b, equal)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equal)
	case string:
		return a == b
	}
	if _, isText := b.(string); isText || b == nil || a == nil {
		return a == b
	}
	return fmt.Sprint(a) == fmt.Sprint(b)
}
