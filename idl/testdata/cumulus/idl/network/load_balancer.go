package network

import (
	"github.com/reactivegraph/mgmt/idl"
	cumulus "github.com/reactivegraph/mgmt/idl/testdata/cumulus/idl"
)

// A LoadBalancer spreads connections over machines.
type LoadBalancer struct {
	idl.NamedResource `lumi:"watch,list,batch=20"`
	cumulus.Labels
	Subnets   []*Subnet                  `lumi:"subnets,minItems=2"`
	Groups    *map[string]*SecurityGroup `lumi:"groups,optional"`
	Listeners []Listener                 `lumi:"listeners"`
	// The name by which it is found.
	DNSName *string `lumi:"dnsName,out"`
}

// A Listener is one port of a load balancer.
type Listener struct {
	Port        float64     `lumi:"min=1,max=65535"`
	Certificate *string     `lumi:"optional,secret"`
	Check       *HealthTest `lumi:"optional"`
}

// A HealthTest finds the machines that do not answer.
type HealthTest struct {
	Path     *string  `lumi:"optional,regex=^/[^ ,]*$"`
	Interval *float64 `lumi:"optional,min=1"`
	// Tests that count only where this one fails.
	Otherwise *[]HealthTest `lumi:"optional"`
}
