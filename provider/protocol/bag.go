package protocol

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
)

// Bag is the properties of a resource by their keys: bool, int64, float64, string, []any and map[string]any. A
// reference to a resource is the text kind[name]. A property that is absent has no key.
type Bag map[string]any

// UnmarshalJSON reads an object. Whole numbers become int64, and nulls are left out.
func (b *Bag) UnmarshalJSON(text []byte) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return err
	}
	m, ok := v.(map[string]any)
	if !ok && v != nil {
		return fmt.Errorf("properties are an object, not %s", bytes.TrimSpace(text[:min(len(text), 20)]))
	}
	*b = nil
	if m == nil {
		return nil
	}
	plain, err := plainOf(m)
	if err != nil {
		return err
	}
	*b = plain.(map[string]any)
	return nil
}

// plainOf puts numbers in the place of their texts, and leaves out null.
func plainOf(v any) (_ any, err error) {
	switch v := v.(type) {
	case json.Number:
		return number(v)
	case []any:
		for i := range v {
			if v[i], err = plainOf(v[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for key, e := range v {
			if e == nil {
				delete(v, key)
			} else if v[key], err = plainOf(e); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

func number(n json.Number) (any, error) {
	if !strings.ContainsAny(n.String(), ".eE") {
		if i, err := n.Int64(); err == nil {
			return i, nil
		}
	}
	f, err := n.Float64()
	if err != nil || math.IsInf(f, 0) {
		return nil, fmt.Errorf("the number %.40s is too large", n)
	}
	return f, nil
}

// BagOf returns a struct, or a pointer to one, as a bag, by its JSON names.
func BagOf(v any) (Bag, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var b Bag
	return b, json.Unmarshal(text, &b)
}

// To fills a struct by its JSON names. Keys that it lacks are left out.
func (b Bag) To(v any) error {
	text, err := json.Marshal(b)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, v)
}
