package ec2

import "github.com/reactivegraph/mgmt/idl"

// A VPC is a network of its own, in which machines and security groups reside.
type VPC struct {
	idl.NamedResource `lumi:"list"`
	// The addresses of the network, such as `10.0.0.0/16`.
	CIDRBlock string `lumi:"replaces,format=cidr"`
	// The ID of the network, such as `vpc-1a2b3c`.
	VPCID *string `lumi:"name=vpcID,out"`
}
