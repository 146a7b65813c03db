package database

import (
	"github.com/reactivegraph/mgmt/idl"
)

// A Snapshot is a cluster as it was.
type Snapshot struct {
	idl.NamedResource
	Of   *Cluster `lumi:"replaces"`
	Made *string  `lumi:"out"`
}
