package network

import (
	"github.com/reactivegraph/mgmt/idl"
)

// A SecurityGroup says who may speak to a machine.
type SecurityGroup struct {
	idl.NamedResource `lumi:"watch,refresh"`
	// What it is for.
	GroupDescription string `lumi:"replace"`
	// The network of the group, or the one of the account.
	VPC *VPC `lumi:"optional,replace"`
	// What may leave.
	SecurityGroupEgress *[]SecurityGroupRule `lumi:"optional"`
	// What may come.
	SecurityGroupIngress *[]SecurityGroupRule `lumi:"optional"`
	// The ID of the group, such as `sg-94b3a1f6`.
	GroupID *string `lumi:"out"`
}

// A SecurityGroupRule lets one sort of packets pass.
type SecurityGroupRule struct {
	ports
	// The name or the number of a protocol.
	IPProtocol string
	// The addresses at the other end.
	CIDRIP *string `lumi:"optional,format=cidr"`
	// The group at the other end.
	Group *SecurityGroup `lumi:"optional"`
}

// ports is a range of ports.
type ports struct {
	FromPort *float64 `lumi:"optional,min=-1,max=65535"`
	ToPort   *float64 `lumi:"optional,min=-1,max=65535"`
}
