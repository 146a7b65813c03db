// Command provider serves certificates of a local authority to mgmt. Authority, certificates and keys are files of one folder. The
// authority is made when the folder has none.
//
// The folder idl has the type, and `mgmt idl build` has made the stub, from:
//
//	mgmt idl build idl/ --package-version 1.0.0 --out-provider=provider/
package main

import (
	"context"
	_ "embed"
	"flag"
	"log"

	"github.com/reactivegraph/mgmt/examples/providers/ca/provider/x509"
	"github.com/reactivegraph/mgmt/provider"
)

//go:embed schema.json
var schema []byte

func main() {
	folder := flag.String("folder", ".", "where the authority and its certificates are kept")
	flag.Parse()
	if err := serve(context.Background(), *folder); err != nil {
		log.Fatal(err)
	}
}

// serve opens the authority, and answers mgmt until the standard input ends.
func serve(ctx context.Context, folder string) error {
	a, err := openAuthority(folder)
	if err != nil {
		return err
	}
	return provider.Serve(ctx, &provider.Provider{
		Name: "ca", Version: "1.0.0", Schema: schema,
		Resources: map[string]provider.Resource{x509.Certificate: x509.NewCertificateProvider(&certificates{authority: a})},
	})
}
