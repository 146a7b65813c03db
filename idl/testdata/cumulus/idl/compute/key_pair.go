package compute

import (
	"github.com/reactivegraph/mgmt/idl"
)

// A KeyPair opens machines over SSH.
type KeyPair struct {
	idl.NamedResource `lumi:"collectable"`
	// The line of an authorized_keys file.
	PublicKey string `lumi:"replaces,lend"`
	// Whose key it is.
	User        *string `lumi:"optional,lend=name"`
	Fingerprint *string `lumi:"out"`
}
