package dns

import (
	"github.com/reactivegraph/mgmt/idl"
	"github.com/reactivegraph/mgmt/idl/testdata/cumulus/idl/network"
)

// A Zone is a domain with its records.
type Zone struct {
	idl.NamedResource `lumi:"list"`
	// The domain, without a dot at its end.
	Domain string `lumi:"replaces,regex=^([a-z0-9-]+\\.)+[a-z]{2,}$"`
	// The networks that see the zone; all where it is left out.
	Networks *[]*network.VPC `lumi:"optional"`
	Servers  *[]string       `lumi:"out"`
}
