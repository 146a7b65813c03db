package compute

import (
	"github.com/reactivegraph/mgmt/idl"
	cumulus "github.com/reactivegraph/mgmt/idl/testdata/cumulus/idl"
	"github.com/reactivegraph/mgmt/idl/testdata/cumulus/idl/identity"
	"github.com/reactivegraph/mgmt/idl/testdata/cumulus/idl/network"
)

// An InstanceType is a size of machines.
type InstanceType string

const (
	Small  InstanceType = "c1.small"
	Medium InstanceType = "c1.medium"
	Large  InstanceType = "c1.large"
)

// An Instance is a machine.
type Instance struct {
	idl.NamedResource `lumi:"watch,list,refresh"`
	cumulus.Labels
	Image  *Image          `lumi:"replaces"`
	Type   *InstanceType   `lumi:"optional,default=c1.small"`
	Subnet *network.Subnet `lumi:"replaces"`
	// Who may speak to it.
	SecurityGroups *[]*network.SecurityGroup `lumi:"optional"`
	KeyPair        *KeyPair                  `lumi:"optional,replaces"`
	// What it runs at its first start. It cannot be read back.
	UserData *string `lumi:"optional,in,secret"`
	// The disks by their devices.
	Disks *map[string]Disk `lumi:"optional"`
	// Its role towards the cloud.
	Role *identity.Role `lumi:"optional"`

	InstanceID *string `lumi:"out"`
	PrivateIP  *string `lumi:"name=privateIP,out"`
	PublicIP   *string `lumi:"name=publicIP,out,optional"`
}

// A Disk is a volume at a machine.
type Disk struct {
	Volume *Volume `lumi:"optional"`
	// In gigabytes, where it is made with the machine.
	Size            *float64 `lumi:"optional,min=1"`
	DeleteWithOwner *bool    `lumi:"optional"`
}
