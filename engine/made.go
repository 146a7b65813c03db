package engine

import "github.com/reactivegraph/mgmt/engine/schema"

// MadeWith returns the changes that follow a Change that says Created, for Init.Change:
// each value that the thing is created with, from none. The values are those of r that
// differ from the defaults of its kind, in the order of its type. Parameters, which say
// how the thing is made, are not among them, and empty texts neither. A secret stays one.
// The list is empty if r can't be encoded.
func MadeWith(r Res) (list []Change) {
	t, err := schema.TypeOf(r)
	if err != nil {
		return nil
	}
	values, err := schema.EncodeChanged(r, r.Default())
	if err != nil {
		return nil
	}
	for _, f := range t.Fields {
		v, ok := values[f.Key]
		if ok && v != nil && v != "" && (f.Role == schema.RoleState || f.Role == schema.RoleInit) {
			list = append(list, Change{Field: f.Key, To: v})
		}
	}
	return list
}
