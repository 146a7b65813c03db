package identity

import (
	"github.com/reactivegraph/mgmt/idl"
)

// A User is a person of the account.
type User struct {
	idl.NamedResource `lumi:"list"`
	Mail              string    `lumi:"format=email"`
	Groups            *[]*Group `lumi:"optional"`
	// A password that the person has to replace.
	FirstPassword *string `lumi:"optional,in,secret,minLen=8,maxLen=64"`
}
