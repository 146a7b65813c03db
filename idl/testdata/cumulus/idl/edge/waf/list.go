package waf

import (
	"github.com/reactivegraph/mgmt/idl"
)

// A List has addresses, or words.
type List struct {
	idl.NamedResource `lumi:"list"`
	Addresses         *[]string `lumi:"optional,format=ip"`
	Hardware          *[]string `lumi:"optional,format=mac"`
	// The list as a file of lines.
	File *idl.Asset `lumi:"optional"`
}
