package api

import (
	"maps"
	"net/http"
	"slices"

	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// Table tells what there is to know of a table before its objects are read or written.
// The verbs and the completion of mgmt api know no more of a table than this.
type Table struct {
	Table      string      `json:"table"`
	Model      string      `json:"model"`
	Kind       string      `json:"kind,omitempty"` // of resource, where objects are declarations
	Doc        string      `json:"doc,omitempty"`
	ReadOnly   bool        `json:"read_only,omitempty"` // mgmt itself writes it
	Fields     []Field     `json:"fields"`
	Indexes    []Index     `json:"indexes"`
	Events     []string    `json:"events,omitempty"`
	Operations []Operation `json:"operations,omitempty"`
}

// Field tells of a field, or of the argument of an operation.
// Type is for people, as in the pages of the kinds. A program that needs all of a type reads the description.
type Field struct {
	Name     string `json:"name"`
	Type     string `json:"type"`           // for people
	JSON     string `json:"json,omitempty"` // the type in JSON: string, integer, number, boolean, array or object; absent for any
	Doc      string `json:"doc,omitempty"`
	Required bool   `json:"required,omitempty"`
	Default  any    `json:"default,omitempty"`
	Refers   string `json:"refers,omitempty"` // the table whose objects it names
	Secret   bool   `json:"secret,omitempty"`
}

// Index is a name for the fields at some paths.
type Index struct {
	Name  string   `json:"name"`
	Paths []string `json:"paths"`
}

// Operation tells of an operation.
type Operation struct {
	Name string  `json:"name"`
	Doc  string  `json:"doc,omitempty"`
	Args []Field `json:"args,omitempty"`
}

// getTables needs no store, so it opens none. Models are made at the first question about them, and kept by the registry.
func (a *API) getTables(_ http.ResponseWriter, r *http.Request) (any, error) {
	models := a.nb.Registry().All()
	if name := r.URL.Query().Get("table"); name != "" {
		m, err := a.nb.Registry().Model(name)
		if err != nil {
			return nil, problem(err)
		}
		models = []*model.Model{m}
	}
	tables := make([]Table, len(models))
	for i, m := range models {
		tables[i] = tableOf(m)
	}
	return tables, nil
}

// tableOf describes a model.
func tableOf(m *model.Model) Table {
	t := Table{Table: m.Table(), Model: m.Name(), Kind: m.Kind(), Doc: m.Doc(), ReadOnly: m.ReadOnly(), Events: m.Events()}
	for _, f := range m.Fields() {
		t.Fields = append(t.Fields, fieldOf(f))
	}
	for _, x := range m.Indexes() {
		t.Indexes = append(t.Indexes, Index{x.Name, x.Paths})
	}
	ops := m.Operations()
	for _, name := range slices.Sorted(maps.Keys(ops)) {
		op := Operation{Name: name, Doc: ops[name].Doc}
		for _, arg := range ops[name].Args {
			op.Args = append(op.Args, fieldOf(&arg))
		}
		t.Operations = append(t.Operations, op)
	}
	return t
}

// fieldOf describes a field. A default of a secret is none.
func fieldOf(f *model.Field) Field {
	out := Field{
		Name: f.Key, Type: f.Type.String(), JSON: jsonTypes[f.Type.Kind], Doc: f.Doc,
		Required: f.Required, Refers: f.Target, Secret: f.Type.Secret,
	}
	if f.Default != nil && !f.Type.Secret {
		out.Default = f.Default
	}
	return out
}

// jsonTypes are the types of JSON that values are written in; text stands for all that is not here.
var jsonTypes = map[schema.Kind]string{
	schema.KindString: "string", schema.KindBool: "boolean", schema.KindInt: "integer", schema.KindFloat: "number",
	schema.KindList: "array", schema.KindMap: "object", schema.KindStruct: "object", schema.KindRef: "string",
}
