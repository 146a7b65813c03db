package functions

import (
	"github.com/reactivegraph/mgmt/idl"
)

// A Permission lets another service call a function.
type Permission struct {
	idl.Resource
	Function *Function     `lumi:"replaces"`
	Action   string        `lumi:"replaces"`
	Source   *idl.Resource `lumi:"optional,replaces"`
}
