package hosts

import (
	"fmt"
	"maps"
	"slices"
)

// where is the place of an entry in a file, or of one member of it.
type where struct {
	under  []string // keys, outermost first
	name   string
	list   bool   // what lies beneath the keys is a list of objects that have the name
	member string // empty: the whole entry
}

// keys are all keys to follow, outermost first.
func (p where) keys() []string {
	keys := append(slices.Clone(p.under), p.name)
	if p.member != "" {
		keys = append(keys, p.member)
	}
	return keys
}

// at follows keys into what a parser gave.
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

// in is the entry.
func (p where) in(v any) (any, bool) {
	v, ok := at(v, p.under...)
	if !ok || !p.list {
		return at(v, p.name)
	}
	list, _ := v.([]any)
	i := p.index(list)
	if i < 0 {
		return nil, false
	}
	return list[i], true
}

// index is the first element of that name.
func (p where) index(list []any) int {
	return slices.IndexFunc(list, func(e any) bool {
		name, ok := at(e, "name")
		return ok && name == p.name
	})
}

// with is a copy of v that has the entry; false where there is no room for one.
func (p where) with(v any, entry any) (any, bool) {
	return changed(v, p.under, func(within any) (any, bool) {
		if p.list {
			list, ok := within.([]any)
			list = slices.Clone(list)
			if i := p.index(list); i >= 0 {
				list[i] = entry
				return list, true
			}
			return append(list, entry), ok || within == nil
		}
		m, ok := within.(map[string]any)
		if m = maps.Clone(m); m == nil {
			m = map[string]any{}
		}
		m[p.name] = entry
		return m, ok || within == nil
	})
}

// without is a copy of v that has no such entry.
func (p where) without(v any) (any, bool) {
	return changed(v, p.under, func(within any) (any, bool) {
		if list, ok := within.([]any); ok && p.list {
			i := p.index(list)
			return slices.Delete(slices.Clone(list), i, i+1), true
		}
		m, ok := within.(map[string]any)
		m = maps.Clone(m)
		delete(m, p.name)
		return m, ok
	})
}

// changed is a copy of v in which what lies beneath the keys is changed.
func changed(v any, keys []string, change func(any) (any, bool)) (any, bool) {
	if len(keys) == 0 {
		return change(v)
	}
	m, ok := v.(map[string]any)
	if !ok && v != nil {
		return nil, false
	}
	if m = maps.Clone(m); m == nil {
		m = map[string]any{}
	}
	m[keys[0]], ok = changed(m[keys[0]], keys[1:], change)
	return m, ok
}

// pruned is a copy of v without what is empty along the keys.
func pruned(v any, keys []string) any {
	m, ok := v.(map[string]any)
	if !ok || len(keys) == 0 {
		return v
	}
	m = maps.Clone(m)
	m[keys[0]] = pruned(m[keys[0]], keys[1:])
	if empty(m[keys[0]]) {
		delete(m, keys[0])
	}
	return m
}

func empty(v any) bool {
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

// equal compares what parsers gave. Numbers of any kind are the same when they
// are written alike; NaN is itself.
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
