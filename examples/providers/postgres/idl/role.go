// Package postgres has the types of a server of PostgreSQL.
package postgres

import "github.com/reactivegraph/mgmt/idl"

// A Role is a user or a group of a server of PostgreSQL. Its name cannot be changed.
type Role struct {
	idl.NamedResource `lumi:"watch,list"`
	// Whether the role is a user, who can log in.
	Login *bool `lumi:"optional,default=true"`
	// Whether the role may do everything.
	Superuser *bool `lumi:"optional,default=false"`
	// Whether the role may create databases.
	CreateDatabases *bool `lumi:"name=createDatabases,optional,default=false"`
	// Whether the role may create, change and drop other roles.
	CreateRoles *bool `lumi:"optional,default=false"`
	// How many connections the role may have at once; -1 for no limit.
	ConnectionLimit *float64 `lumi:"optional,min=-1,default=-1"`
	// The roles whose rights the role has too, in alphabetical order.
	MemberOf *[]string `lumi:"optional"`
	// The password. It is set when it is another one than before; without one the role has none that mgmt knows.
	Password *string `lumi:"optional,secret"`
	// The number by which the server knows the role.
	OID *string `lumi:"out"`
}
