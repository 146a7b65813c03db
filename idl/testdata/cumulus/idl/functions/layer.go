package functions

import (
	"github.com/reactivegraph/mgmt/idl"
)

// A Layer is code that functions share.
type Layer struct {
	idl.NamedResource `lumi:"createBeforeDelete"`
	Content           *idl.Archive `lumi:"replaces,in"`
	Runtimes          []Runtime    `lumi:"replaces"`
	// The licence as text.
	License *idl.Asset `lumi:"optional"`
}
