// Package ec2 has the types of networks of virtual machines.
package ec2

import (
	"github.com/reactivegraph/mgmt/idl"
)

// A SecurityGroup is an Amazon EC2 Security Group.  For more information, see
// http://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/aws-properties-ec2-security-group.html.
type SecurityGroup struct {
	idl.NamedResource `lumi:"list"`
	// A required description about the security group.
	GroupDescription string `lumi:"replace"`
	// The VPC in which this security group resides (or blank if the default VPC).
	VPC *VPC `lumi:"optional,replace"`
	// A list of Amazon EC2 security group egress rules.
	SecurityGroupEgress *[]SecurityGroupRule `lumi:"optional"`
	// A list of Amazon EC2 security group ingress rules.
	SecurityGroupIngress *[]SecurityGroupRule `lumi:"optional"`
	// The group ID of the specified security group, such as `sg-94b3a1f6`.
	GroupID *string `lumi:"out"`
}

// A SecurityGroupRule describes an EC2 security group rule embedded within a SecurityGroup.
type SecurityGroupRule struct {
	// The IP name or number.
	IPProtocol string
	// Specifies a CIDR range.
	CIDRIP *string `lumi:"optional"`
	// The start of port range for the TCP and UDP protocols, or an ICMP type number.  An ICMP type number of `-1`
	// indicates a wildcard (i.e., any ICMP type number).
	FromPort *float64 `lumi:"optional"`
	// The end of port range for the TCP and UDP protocols, or an ICMP code.  An ICMP code of `-1` indicates a
	// wildcard (i.e., any ICMP code).
	ToPort *float64 `lumi:"optional"`
}
