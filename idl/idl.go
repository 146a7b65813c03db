// Package idl has the markers of a resource in the interface definition language of mgmt, which is a
// subset of Go. `mgmt idl build` reads it, and writes TypeScript packs and stubs of providers.
// docs/idl.md shows how a type is written.
//
// A struct that embeds one of the markers is a type of resources. Every other struct is a part of one:
//
//	package ec2
//
//	import "github.com/reactivegraph/mgmt/idl"
//
//	// A VPC is a network of its own.
//	type VPC struct {
//		idl.NamedResource
//		// The addresses of the network.
//		CIDRBlock string `lumi:"replaces"`
//	}
//
// The package imports nothing, so a folder of definitions needs no other module. The compiler knows the markers by
// the path of this package, and does not read it.
package idl

// Resource marks a type of resources without a name of its own: its provider gives each one a name.
type Resource struct{}

// NamedResource marks a type of resources that have a name, which is a property too. Another name makes another
// resource. A graph gives the name; where it is nil, the provider chooses one.
type NamedResource struct {
	Name *string
}

// URN is a reference to a resource, in generated structs: kind[name], or urn:PACKAGE::TOKEN::NAME.
type URN string
