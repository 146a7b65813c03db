package compute

import (
	"github.com/reactivegraph/mgmt/idl"
	"github.com/reactivegraph/mgmt/idl/testdata/cumulus/idl/metrics"
	"github.com/reactivegraph/mgmt/idl/testdata/cumulus/idl/network"
)

// A ScalingGroup keeps a number of like machines.
type ScalingGroup struct {
	idl.NamedResource `lumi:"watch"`
	Template          Template
	Minimum           float64               `lumi:"min=0"`
	Maximum           float64               `lumi:"min=0"`
	Behind            *network.LoadBalancer `lumi:"optional"`
	Rules             *[]ScalingRule        `lumi:"optional"`
	// The machines that run now.
	Instances *[]string `lumi:"out"`
}

// A Template is what each machine of a group is like.
type Template struct {
	Image *Image
	Type  InstanceType
	// What only this cloud knows.
	Extra *any `lumi:"optional"`
}

// A ScalingRule alters the number of machines.
type ScalingRule struct {
	Step  float64
	Alarm *metrics.Alarm
}
