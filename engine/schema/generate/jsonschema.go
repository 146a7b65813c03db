package generate

import (
	"bytes"
	"encoding/json"
	"path"

	"github.com/reactivegraph/mgmt/engine/schema/derive"
	"github.com/reactivegraph/mgmt/engine/schema/idl"
)

// jsonSchemas writes documents for editors and for programs in other languages: one document
// for each resource: MODULE/NAME.schema.json.
func jsonSchemas(p *idl.Package, _ Options) (Files, error) {
	out := Files{}
	for _, d := range p.Resources() {
		text, err := derive.KindSchema(kindOf(d))
		if err != nil {
			return nil, err
		}
		// The mark comes first, where Sync looks for it.
		comment, err := json.Marshal(header("", d.File.Path))
		if err != nil {
			return nil, err
		}
		comment = bytes.Replace(comment, []byte(`\n`), nil, 1)
		text = append([]byte("{\n  \"$comment\": "+string(comment)+",\n"), bytes.TrimPrefix(text, []byte("{\n"))...)
		out[path.Join(d.File.Module.Dir, d.Name+".schema.json")] = text
	}
	return out, nil
}

// kindOf is a resource as package derive knows kinds.
func kindOf(d *idl.Decl) derive.Kind {
	return derive.Kind{Name: d.TypeKind(), Doc: d.Doc, Type: d.Type, Sends: d.Sends()}
}
