package schema

// hush returns a value of any shape with each text in it as a Secret: the value of a
// KindAny that is secret. It may alter v. Numbers and truth values stay as they are,
// since a Secret is text.
func hush(v any) any {
	switch v := v.(type) {
	case string:
		return NewSecret(v)
	case []any:
		for i := range v {
			v[i] = hush(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = hush(v[key])
		}
	}
	return v
}

// anyOf is any for a type, which may call the texts in it secret. The value is new, so
// that hush may alter it.
func (d *decoder) anyOf(t *Type, n *Node) (any, bool) {
	v, ok := d.any(n, 0)
	if ok && t.Secret {
		v = hush(v)
	}
	return v, ok
}
