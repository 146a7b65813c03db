package storage

import (
	"github.com/reactivegraph/mgmt/idl"
	cumulus "github.com/reactivegraph/mgmt/idl/testdata/cumulus/idl"
)

// An ACL says who may see a bucket.
type ACL string

const (
	Private ACL = "private"
	Public  ACL = "public-read"
)

// A Bucket holds objects.
type Bucket struct {
	idl.NamedResource `lumi:"list,watch"`
	cumulus.Labels
	AccessControl *ACL `lumi:"optional,default=private"`
	// What old objects come to.
	Lifecycle *[]Rule `lumi:"optional"`
	// The keys of other sites that may ask for objects.
	Origins *map[string][]string `lumi:"optional,format=uri"`
	Domain  *string              `lumi:"out"`
}

// A Rule is what becomes of objects after a time.
type Rule struct {
	Prefix  *string `lumi:"optional"`
	Days    float64 `lumi:"min=1"`
	Archive bool
}
