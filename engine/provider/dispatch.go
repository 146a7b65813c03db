package provider

import (
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// Dispatch is a type whose resources are those of other types: an attribute says of
// which.
type Dispatch struct {
	Attribute string            // the attribute that chooses
	To        map[string]string // kinds, by its values
	Options   string            // the attribute, a Hash, whose entries are attributes of the chosen kind too; may be empty
}

// dispatch adds the kind.
func (f *file) dispatch(*engine.Registry) (ds schema.Diagnostics) {
	ds.Errorf(f.def.Pos, "%s: dispatch is not there yet", f.def.Name)
	return ds
}
