package cache

import (
	"github.com/reactivegraph/mgmt/idl"
	"github.com/reactivegraph/mgmt/idl/testdata/cumulus/idl/storage"
)

// A Distribution keeps copies of pages near their readers.
type Distribution struct {
	idl.NamedResource `lumi:"watch"`
	Origins           map[string]Origin
	Aliases           *[]string       `lumi:"optional,minLen=1,maxItems=100"`
	Logs              *storage.Bucket `lumi:"optional"`
	Enabled           bool
	// What only this service knows.
	Options *any    `lumi:"optional"`
	Domain  *string `lumi:"out"`
}
