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
// Asset and Archive are types of properties. A field of theirs is a pointer, as one of a resource is.
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

// Asset is a text or a file that a provider works with. Exactly one of its fields is given.
type Asset struct {
	Path *string `json:"path,omitempty"` // of a file on the machine of the provider
	URI  *string `json:"uri,omitempty"`
	Text *string `json:"text,omitempty"`
}

// Archive is a set of files that a provider works with. Exactly one of its fields is given.
type Archive struct {
	Path *string `json:"path,omitempty"` // of an archive or a folder on the machine of the provider
	URI  *string `json:"uri,omitempty"`
}

// URN is a reference to a resource, in generated structs: kind[name], or urn:PACKAGE::TOKEN::NAME.
type URN string
