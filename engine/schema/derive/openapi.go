package derive

import (
	"bytes"
	"encoding/json"
)

// OpenAPI returns a document of OpenAPI 3.1 whose components are the parameters of kinds. It has no path: it is for
// programs that take or make resources, and for generators of code. Its schemas are JSON Schema, as OpenAPI 3.1 has it.
// Each has an id, so that the references inside it lead into itself.
func OpenAPI(title, version string, kinds []Kind) ([]byte, error) {
	type info struct {
		Title   string `json:"title"`
		Version string `json:"version"`
	}
	// A map is written in the order of its keys, so equal kinds give equal bytes.
	schemas := map[string]json.RawMessage{}
	for _, k := range kinds {
		text, err := KindSchema(k)
		if err != nil {
			return nil, err
		}
		id, err := json.Marshal("urn:mgmt:kind:" + k.Name)
		if err != nil {
			return nil, err
		}
		// The id comes first, as in the documents that people write.
		text = append([]byte("{\n  \"$id\": "+string(id)+","), bytes.TrimPrefix(text, []byte("{"))...)
		schemas[componentName(k.Name)] = text
	}
	out, err := json.MarshalIndent(struct {
		OpenAPI    string         `json:"openapi"`
		Info       info           `json:"info"`
		Paths      struct{}       `json:"paths"`
		Components map[string]any `json:"components"`
	}{"3.1.0", info{title, version}, struct{}{}, map[string]any{"schemas": schemas}}, "", "  ")
	return append(out, '\n'), err
}

// componentName is the name of a kind in the signs that components may have.
func componentName(kind string) string {
	return string(bytes.ReplaceAll([]byte(kind), []byte(":"), []byte(".")))
}
