// Package x509 has the types of a local authority of certificates.
package x509

import "github.com/reactivegraph/mgmt/idl"

// A Certificate is a key and a certificate for it, which the authority of the provider has signed. It is renewed in time.
type Certificate struct {
	idl.NamedResource `lumi:"watch,list,refresh"`
	// The names and addresses of the servers that it is for.
	Hosts []string `lumi:"minItems=1"`
	// How many days it is valid.
	Days *float64 `lumi:"optional,min=1,max=3650,default=90"`
	// How many days before its end it is renewed.
	RenewBefore *float64 `lumi:"optional,min=0,max=3649,default=30"`
	// The certificate, as PEM.
	Certificate *string `lumi:"out"`
	// The certificate of the authority, as PEM.
	Authority *string `lumi:"out"`
	// The file of the key. Only the user of the provider can read it.
	KeyFile *string `lumi:"out"`
	// The last moment at which it is valid, as RFC 3339 has it.
	Expires *string `lumi:"out"`
}
