package compute

import (
	"github.com/reactivegraph/mgmt/idl"
	cumulus "github.com/reactivegraph/mgmt/idl/testdata/cumulus/idl"
)

// An Image is what the disk of a new machine has on it.
type Image struct {
	idl.NamedResource `lumi:"list"`
	// The files of the image.
	Source *idl.Archive `lumi:"replaces,in"`
	// How it was built.
	Recipe *idl.Asset `lumi:"optional"`
	Family *string    `lumi:"optional,regex=^[a-z][a-z0-9-]{0,30}$"`
	// Where it may be used.
	Regions *[]cumulus.Region `lumi:"optional"`
	ImageID *string           `lumi:"out"`
	Bytes   *float64          `lumi:"out"`
}
