package identity

import (
	"github.com/reactivegraph/mgmt/idl"
)

// A Group is a set of users with the same rights.
type Group struct {
	idl.NamedResource
	Policies *[]*Policy `lumi:"optional"`
}
