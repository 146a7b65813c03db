package network

import (
	"github.com/reactivegraph/mgmt/idl"
)

// A Hop is where a packet goes next.
type Hop string

const (
	Internet Hop = "internet"
	Nat      Hop = "nat"
	Peer     Hop = "peer"
	Nowhere  Hop = "blackhole"
)

// A RouteTable has the ways out of a subnet.
type RouteTable struct {
	idl.Resource
	Subnet *Subnet `lumi:"replaces"`
	Routes []Route `lumi:"minItems=1"`
	// The weight of each way.
	Weights *map[Hop]float64 `lumi:"optional,min=0,max=100"`
}

// A Route is one way.
type Route struct {
	To  string `lumi:"format=cidr"`
	Hop Hop
	// The resource that is the next station, of whatever type.
	Via *idl.Resource `lumi:"optional"`
}
