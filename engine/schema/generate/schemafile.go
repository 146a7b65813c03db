package generate

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/reactivegraph/mgmt/engine/schema/idl"
	"github.com/reactivegraph/mgmt/engine/schema/wire"
)

// schemaFormat is the version of the schema file.
const schemaFormat = 1

// schemaDoc is the schema file of a provider. The engine reads it before it starts the
// provider.
type schemaDoc struct {
	Mark    string       `json:"$comment"`
	Format  int          `json:"format"`
	Name    string       `json:"name"`
	Version string       `json:"version"`
	Types   []schemaType `json:"types"`
}

// schemaType is one type of resources in it.
type schemaType struct {
	Token       string          `json:"token"`
	Schema      json.RawMessage `json:"schema"` // in the form of package wire
	Named       bool            `json:"named,omitempty"`
	CreateFirst bool            `json:"createBeforeDelete,omitempty"`
	Watch       bool            `json:"watch,omitempty"`
	List        bool            `json:"list,omitempty"`
	Refresh     bool            `json:"refresh,omitempty"`
	Collectable bool            `json:"collectable,omitempty"`
	Batch       int             `json:"batch,omitempty"`
}

// schemaFile writes schema.json: the types of a provider, and its abilities for each of them.
func schemaFile(p *idl.Package, o Options) (Files, error) {
	text, err := Schema(p, o)
	if err != nil {
		return nil, err
	}
	return Files{"schema.json": text}, nil
}

// Schema returns the text of the schema file of a provider. The verb `mgmt idl schema` writes
// it, and the stubs in Go come with it. Its bytes have a hash, by which the engine and the
// provider know that they mean the same types.
func Schema(p *idl.Package, o Options) ([]byte, error) {
	doc := schemaDoc{Mark: header("", p.Name)[:len(header("", p.Name))-1], Format: schemaFormat, Name: p.Name, Version: cmp.Or(o.Version, "0.0.0"), Types: []schemaType{}}
	for _, d := range p.Resources() {
		text, err := wire.EncodeAs(d.TypeKind(), d.Type)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", d.Token, err)
		}
		doc.Types = append(doc.Types, schemaType{d.Token, text, d.Named, d.CreateFirst, d.Watch, d.List, d.Refresh, d.Collectable, d.Batch})
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(doc); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
