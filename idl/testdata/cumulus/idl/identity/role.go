package identity

import (
	"github.com/reactivegraph/mgmt/idl"
)

// A Role is what a machine or a function may do.
type Role struct {
	idl.NamedResource
	// Who may take the role.
	Trust    Document
	Policies *[]*Policy `lumi:"optional"`
	Path     *string    `lumi:"optional,replaces,default=/"`
	RoleID   *string    `lumi:"out"`
}
