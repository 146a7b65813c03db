package network

import (
	"github.com/reactivegraph/mgmt/idl"
	cumulus "github.com/reactivegraph/mgmt/idl/testdata/cumulus/idl"
)

// A Subnet is a part of a network, in one hall.
type Subnet struct {
	idl.NamedResource `lumi:"list,createBeforeDelete"`
	cumulus.Labels
	VPC       *VPC   `lumi:"replaces"`
	CIDRBlock string `lumi:"replaces,format=cidr"`
	// The letter of the hall.
	Hall *string `lumi:"optional,replaces,regex=^[a-c]$"`
	// Subnets that are told of its routes.
	Peers *[]*Subnet `lumi:"optional"`
	// How many addresses are free.
	Free     *float64 `lumi:"out"`
	SubnetID *string  `lumi:"out"`
}
