package protocol

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// SchemaFormat is the version of a Schema that this package reads.
const SchemaFormat = 1

// NoVersion is the version of a schema to which its author has given none.
const NoVersion = "0.0.0"

// Schema is the file that describes the types of a provider. mgmt knows the kinds by it before it starts the
// provider. The IDL compiler writes it; a person may too.
type Schema struct {
	Format  int    `json:"format"` // SchemaFormat
	Name    string `json:"name"`   // of the package, such as aws
	Version string `json:"version"`
	Types   []Type `json:"types"`
}

// Type is one type of resources. Its kind in a graph is its token in lower case.
type Type struct {
	Token string `json:"token"` // such as aws:ec2:SecurityGroup
	// Schema is the properties: a struct in the form of package engine/schema/wire, with version and type. An
	// output has the role readonly. A property that is not required may be absent.
	Schema json.RawMessage `json:"schema"`

	Named              bool `json:"named,omitempty"`              // the property name is the name of the resource, unless given
	CreateBeforeDelete bool `json:"createBeforeDelete,omitempty"` // a replacement creates first
	Watch              bool `json:"watch,omitempty"`              // it has the method watch
	List               bool `json:"list,omitempty"`               // it has the method list
	Refresh            bool `json:"refresh,omitempty"`            // update acts on Refresh
	Collectable        bool `json:"collectable,omitempty"`        // its name does no harm: with the properties of lend, a resource may come from another host that is accepted
	Batch              int  `json:"batch,omitempty"`              // how many calls a batch may have; 0 where there is no batch
}

// HashOf returns the hash of the text of a schema: sha256 in hex.
func HashOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
