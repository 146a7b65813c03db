package network

import (
	"github.com/reactivegraph/mgmt/idl"
	cumulus "github.com/reactivegraph/mgmt/idl/testdata/cumulus/idl"
)

// A VPC is a network that no other account sees.
type VPC struct {
	idl.NamedResource `lumi:"watch,list"`
	cumulus.Labels
	// The addresses of the network.
	CIDRBlock string `lumi:"replaces,format=cidr"`
	// Where the network is.
	Region *cumulus.Region `lumi:"optional,replaces,default=eu-north"`
	// Whether machines of it have names.
	EnableDNSNames *bool `lumi:"name=enableDNSNames,optional,default=true"`
	// The ID that the network was given.
	VPCID *string `lumi:"name=vpcID,out"`
}
