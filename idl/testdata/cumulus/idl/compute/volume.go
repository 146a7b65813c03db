package compute

import (
	"github.com/reactivegraph/mgmt/idl"
	cumulus "github.com/reactivegraph/mgmt/idl/testdata/cumulus/idl"
	"github.com/reactivegraph/mgmt/idl/testdata/cumulus/idl/keys"
)

// Throughput is how much a volume reads and writes in a second.
type Throughput struct {
	Read, Write float64
}

// A Volume is a disk that outlives its machine.
type Volume struct {
	idl.NamedResource
	cumulus.Labels
	// In gigabytes.
	Size       float64     `lumi:"size,min=1,max=16384"`
	Throughput *Throughput `lumi:"throughput,optional"`
	Key        *keys.Key   `lumi:"key,optional,replaces"`
	From       *string     `lumi:"from,optional,replaces,deprecated=use the resource snapshot"`
	VolumeID   *string     `lumi:"volumeID,out"`
}
