package schema

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// seg is one step of a path: a key, or an index into a list. It is comparable, and a
// slice of them is a path.
type seg struct {
	key   string
	index int
	list  bool
}

// plainKey reports whether a key can stand in a path without quotes.
func plainKey(key string) bool {
	for i := range len(key) {
		c := key[i]
		if c != '_' && c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return key != ""
}

// formatPath writes a.b[0].c; a key of a map that is not plain is quoted: env["a.b"].
// The usual path of one key costs no allocation.
func formatPath(segs []seg) string {
	if len(segs) == 1 && !segs[0].list && plainKey(segs[0].key) {
		return segs[0].key
	}
	var b []byte
	for _, s := range segs {
		switch {
		case s.list:
			b = strconv.AppendInt(append(b, '['), int64(s.index), 10)
			b = append(b, ']')
		case !plainKey(s.key):
			b = append(strconv.AppendQuote(append(b, '['), s.key), ']')
		case len(b) > 0:
			b = append(append(b, '.'), s.key...)
		default:
			b = append(b, s.key...)
		}
	}
	return string(b)
}

// parsePath is the inverse of formatPath. A key in quotes may hold every character. An
// index has at most 31 bits.
func parsePath(path string) ([]seg, error) {
	if path == "" {
		return nil, fmt.Errorf("an empty path names nothing")
	}
	var segs []seg
	for rest := path; rest != ""; {
		var s seg
		var ok bool
		if rest[0] == '[' {
			s, rest, ok = bracket(rest)
		} else {
			if len(segs) > 0 {
				if rest[0] != '.' {
					return nil, fmt.Errorf("%q is not a path: a dot is missing before %q", path, rest)
				}
				rest = rest[1:]
			}
			end := strings.IndexAny(rest, ".[")
			if end < 0 {
				end = len(rest)
			}
			s, rest, ok = seg{key: rest[:end]}, rest[end:], end > 0
		}
		if !ok {
			return nil, fmt.Errorf("%q is not a path, write it as a.b[0].c", path)
		}
		segs = append(segs, s)
	}
	return segs, nil
}

// bracket reads [0] or ["key"] from the front of s.
func bracket(s string) (part seg, rest string, ok bool) {
	if quoted, err := strconv.QuotedPrefix(s[1:]); err == nil {
		rest, ok = strings.CutPrefix(s[1+len(quoted):], "]")
		key, err := strconv.Unquote(quoted)
		return seg{key: key}, rest, ok && err == nil
	}
	num, rest, ok := strings.Cut(s[1:], "]")
	n, err := strconv.ParseUint(num, 10, 31)
	return seg{index: int(n), list: true}, rest, ok && err == nil
}

// At returns the type at a path such as content, env.TOKEN or a.b[0].c, and the
// top-level field that the path begins with. A key of a map that is not made of
// letters, digits, _ and - is written env["a.b"]. The error names the nearest key.
func (t *Type) At(path string) (*Type, *Field, error) {
	segs, err := parsePath(path)
	if err != nil {
		return nil, nil, err
	}
	var top *Field
	cur := t
	for i, s := range segs {
		next, f, err := cur.step(s)
		if err != nil {
			return nil, nil, fmt.Errorf("%s%w", pathPrefix(segs[:i]), err)
		}
		if i == 0 {
			top = f
		}
		cur = next
	}
	return cur.Resolved(), top, nil
}

// pathPrefix begins a message about the part below a path; nothing for the whole.
func pathPrefix(segs []seg) string {
	if len(segs) == 0 {
		return ""
	}
	return formatPath(segs) + ": "
}

// anyType is what is found below a KindAny.
var anyType = &Type{Kind: KindAny}

// step goes one step down. The Field is nil unless t is a KindStruct. A step below any
// value is never an error here: the value decides later.
func (t *Type) step(s seg) (*Type, *Field, error) {
	switch {
	case t.Kind == KindAny:
		return anyType, nil, nil
	case !s.list && t.Kind == KindMap && len(t.Enum) > 0 && !slices.Contains(t.Enum, s.key):
		return nil, nil, unknownKey(s.key, t.Enum)
	case s.list && t.Kind == KindList, !s.list && t.Kind == KindMap:
		return t.Elem, nil, nil
	case !s.list && t.Kind == KindStruct:
		if f := t.Field(s.key); f != nil {
			return f.Type, f, nil
		}
		return nil, nil, unknownKey(s.key, t.Keys())
	case s.list:
		return nil, nil, fmt.Errorf("[%d] needs a list, this is %s", s.index, t)
	default:
		return nil, nil, fmt.Errorf("%s has no keys, so none named %q", t, s.key)
	}
}

// unknownKey is the error for a key that a type does not have, with the nearest one.
func unknownKey(key string, known []string) error {
	if near := Nearest(key, known); near != "" {
		return fmt.Errorf("unknown key %q (did you mean %q?)", key, near)
	}
	return fmt.Errorf("unknown key %q", key)
}
