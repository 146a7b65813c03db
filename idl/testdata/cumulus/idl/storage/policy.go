package storage

import (
	"github.com/reactivegraph/mgmt/idl"
	"github.com/reactivegraph/mgmt/idl/testdata/cumulus/idl/identity"
)

// A BucketPolicy says who may do what in a bucket.
type BucketPolicy struct {
	idl.Resource
	Bucket   *Bucket           `lumi:"replaces"`
	Document identity.Document `lumi:"name=document"`
}
