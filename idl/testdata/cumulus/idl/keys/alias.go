package keys

import (
	"github.com/reactivegraph/mgmt/idl"
)

// An Alias is a second name of a key.
type Alias struct {
	idl.NamedResource
	Key *Key
}
