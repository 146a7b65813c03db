package cache

import (
	"github.com/reactivegraph/mgmt/idl/testdata/cumulus/idl/network"
	"github.com/reactivegraph/mgmt/idl/testdata/cumulus/idl/storage"
)

// An Origin is where the pages come from.
type Origin struct {
	Bucket   *storage.Bucket       `lumi:"optional"`
	Balancer *network.LoadBalancer `lumi:"optional"`
	Headers  *map[string]string    `lumi:"optional,secret"`
	Ports    string                `lumi:"format=portrange"`
}
