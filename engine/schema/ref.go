package schema

import (
	"fmt"
	"strings"
)

// Ref names a resource, kind[name], or one value that it sends, kind[name].key. The
// name runs to the last closing bracket, so it may hold brackets itself. It is
// comparable, and may be the key of a map.
type Ref struct{ Kind, Name, Key string }

// ParseRef reads kind[name] or kind[name].key. Whether such a resource exists is not
// known here. A kind is not checked for its characters.
func ParseRef(s string) (Ref, error) {
	open, last := strings.IndexByte(s, '['), strings.LastIndexByte(s, ']')
	if open <= 0 || last < open {
		return Ref{}, fmt.Errorf("%q is not a reference, write kind[name]", s)
	}
	r := Ref{Kind: s[:open], Name: s[open+1 : last]}
	if r.Name == "" {
		return Ref{}, fmt.Errorf("%q names no resource, write kind[name]", s)
	}
	rest := s[last+1:]
	if rest == "" {
		return r, nil
	}
	key, ok := strings.CutPrefix(rest, ".")
	if !ok || key == "" {
		return Ref{}, fmt.Errorf("%q is not a reference: %q after the closing bracket, write kind[name].key", s, rest)
	}
	r.Key = key
	return r, nil
}

// ID returns kind[name], without the key.
func (r Ref) ID() string { return r.Kind + "[" + r.Name + "]" }

// AppendID appends ID to a text, for callers that need many ids and keep none.
func (r Ref) AppendID(to []byte) []byte {
	to = append(append(to, r.Kind...), '[')
	return append(append(to, r.Name...), ']')
}

// String returns the reference as it is written; a reference to nothing is empty.
func (r Ref) String() string {
	switch {
	case r.IsZero():
		return ""
	case r.Key == "":
		return r.ID()
	}
	return r.ID() + "." + r.Key
}

// IsZero reports whether r names nothing.
func (r Ref) IsZero() bool { return r == Ref{} }

// MarshalText writes the reference.
func (r Ref) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads the reference. Empty text names nothing. After an error r is
// empty.
func (r *Ref) UnmarshalText(b []byte) (err error) {
	if len(b) == 0 {
		*r = Ref{}
		return nil
	}
	*r, err = ParseRef(string(b))
	return err
}
