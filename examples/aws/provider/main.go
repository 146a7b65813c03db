// Command provider serves the types of the example aws. It keeps its networks and groups in files, one for each
// type, instead of asking a cloud. So it shows a whole provider, and a test can run it.
//
// The folder idl has the types, and `mgmt idl build` has made the stubs, from:
//
//	mgmt idl build idl/ --out-pack=pack/ --out-provider=provider/
package main

import (
	"context"
	_ "embed"
	"flag"
	"log"

	"github.com/reactivegraph/mgmt/examples/aws/provider/ec2"
	"github.com/reactivegraph/mgmt/provider"
)

//go:embed schema.json
var schema []byte

func main() {
	folder := flag.String("folder", ".", "where the things are kept")
	flag.Parse()
	if err := provider.Serve(context.Background(), newProvider(*folder)); err != nil {
		log.Fatal(err)
	}
}

// newProvider joins each type with the table that keeps it.
func newProvider(folder string) *provider.Provider {
	groups := newTable(folder, "sg", func(g *ec2.SecurityGroupData) **string { return &g.GroupID })
	networks := newTable(folder, "vpc", func(v *ec2.VPCData) **string { return &v.VPCID })
	return &provider.Provider{
		Name: "aws", Version: "0.0.0", Schema: schema,
		Resources: map[string]provider.Resource{
			ec2.SecurityGroup: ec2.NewSecurityGroupProvider(groups),
			ec2.VPC:           ec2.NewVPCProvider(networks),
		},
	}
}
