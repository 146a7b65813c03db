package keys

import (
	"github.com/reactivegraph/mgmt/idl"
	cumulus "github.com/reactivegraph/mgmt/idl/testdata/cumulus/idl"
)

// A Key keeps data secret.
type Key struct {
	idl.NamedResource
	cumulus.Labels
	Rotate *bool    `lumi:"optional,default=false"`
	Wait   *float64 `lumi:"optional,default=30,min=7,max=30"`
	// Material of one's own. It cannot be read back.
	Material *string `lumi:"optional,in,secret,replaces"`
	KeyID    *string `lumi:"out"`
}
