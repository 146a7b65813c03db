package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/httpd"
	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/schema/derive"
)

// Describe adds the tables of a registry to the description of an API: a schema of each, and paths with it. They are
// made when the description is asked for, since models come and go, and are many.
// The paths of a table are copies of those with the parameter table, so a route is written once. Kinds that cannot be
// described are left out, as they are from the list of tables.
func Describe(info httpd.Info, reg *model.Registry) httpd.Info {
	info.Extend = func(doc map[string]any) error {
		for _, m := range reg.All() {
			if err := describe(doc, m); err != nil {
				return fmt.Errorf("the table %s: %w", m.Table(), err)
			}
		}
		return nil
	}
	return info
}

// describe adds one table: the paths of the routes with its name in the place of the parameter.
func describe(doc map[string]any, m *model.Model) error {
	text, err := derive.JSONSchema(m.Type())
	if err != nil {
		return err
	}
	var schema map[string]any
	if err := json.Unmarshal(text, &schema); err != nil {
		return err
	}
	delete(schema, "$schema")
	textOnly(schema)
	part := maps.Clone(schema) // of an update: nothing is required
	delete(part, "required")
	deep := maps.Clone(schema) // of an answer, which has the references where they are asked for
	properties := maps.Clone(dig(schema, "properties"))
	properties["references"] = map[string]any{"type": "object", "additionalProperties": map[string]any{"type": "object"}}
	deep["properties"] = properties
	schemas := doc["components"].(map[string]any)["schemas"].(map[string]any)
	schemas[schemaName(m)], schemas[schemaName(m)+".part"], schemas[schemaName(m)+".deep"] = schema, part, deep
	paths := doc["paths"].(map[string]any)
	for _, suffix := range []string{"", "/{id}"} {
		item, err := copied(paths["/v1/api/{table}"+suffix])
		if err != nil {
			return err
		}
		for method, op := range item {
			if m.ReadOnly() && method != "get" {
				delete(item, method)
				continue
			}
			own(op.(map[string]any), method, suffix, m)
		}
		paths["/v1/api/"+url.PathEscape(m.Table())+suffix] = item
	}
	return nil
}

// textOnly takes the types away that YAML writes text in: in JSON, text is a string.
func textOnly(v any) {
	switch v := v.(type) {
	case map[string]any:
		if types, ok := v["type"].([]any); ok && slices.Contains(types, any("string")) && slices.Contains(types, any("boolean")) {
			v["type"] = "string"
		}
		for _, part := range v {
			textOnly(part)
		}
	case []any:
		for _, part := range v {
			textOnly(part)
		}
	}
}

// schemaName is how the description calls the objects of a model: a name may have only some characters there.
func schemaName(m *model.Model) string {
	return "table." + strings.Map(func(c rune) rune {
		if c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || strings.ContainsRune("._-", c) {
			return c
		}
		return '_'
	}, m.Table())
}

// copied returns a copy that may be altered.
func copied(v any) (out map[string]any, err error) {
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	return out, err
}

// own makes the operation of any table that of one.
// A body that creates must have the required fields; a body that changes may lack them.
func own(op map[string]any, method, suffix string, m *model.Model) {
	op["operationId"] = fmt.Sprintf("%s.%s", op["operationId"], strings.TrimPrefix(schemaName(m), "table."))
	op["tags"] = []any{m.Table()}
	var params []any
	list, _ := op["parameters"].([]any)
	for _, p := range list {
		if p.(map[string]any)["name"] != "table" {
			params = append(params, p)
		}
	}
	op["parameters"] = params
	whole, part := refTo(schemaName(m)), refTo(schemaName(m)+".part")
	for _, c := range dig(op, "requestBody", "content") {
		if c.(map[string]any)["schema"] = part; method == "post" {
			c.(map[string]any)["schema"] = whole
		}
	}
	if method == "get" {
		if whole = refTo(schemaName(m) + ".deep"); suffix == "" {
			whole = map[string]any{"type": "array", "items": whole}
		}
	}
	for status := range dig(op, "responses") {
		for _, c := range dig(op, "responses", status, "content") {
			if s := c.(map[string]any); dig(s, "schema")["$ref"] == nil { // that is no object of a table
				s["schema"] = whole
			}
		}
	}
}

func refTo(name string) map[string]any {
	return map[string]any{"$ref": "#/components/schemas/" + name}
}

// dig returns the object at a path of names, or nil.
func dig(o map[string]any, names ...string) map[string]any {
	for _, name := range names {
		o, _ = o[name].(map[string]any)
	}
	return o
}
