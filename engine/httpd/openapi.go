package httpd

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema/derive"
)

// Info is about a server as a whole, for its description.
type Info struct {
	Title   string
	Version string // of the API
	Doc     string // Markdown
	// Extend adds to the description, a JSON object, each time that it is asked for; nil adds nothing.
	Extend func(doc map[string]any) error
}

// object is a JSON object of the description. Its members are written in the order of
// their names, so that the same routes give the same bytes.
type object = map[string]any

// describe returns the description of all routes.
func (t *Table) describe() ([]byte, error) {
	d := newDescriber()
	paths := map[string]object{}
	ids := map[string]bool{}
	for i := range t.routes {
		r := &t.routes[i]
		item := paths[r.Pattern]
		if item == nil {
			item = object{}
			paths[r.Pattern] = item
		}
		op, err := d.operation(r)
		if err != nil {
			return nil, fmt.Errorf("httpd: %s %s: %w", r.Method, r.Pattern, err)
		}
		if ids[r.id()] {
			return nil, fmt.Errorf("httpd: %s %s has the name %s of another route", r.Method, r.Pattern, r.id())
		}
		ids[r.id()] = true
		item[strings.ToLower(r.Method)] = op
	}
	doc := object{
		"openapi": "3.1.0",
		"info":    without(object{"title": cmp.Or(t.info.Title, "API"), "version": cmp.Or(t.info.Version, "1"), "description": t.info.Doc}),
		"paths":   paths,
		"components": object{
			"schemas": d.Schemas,
			"responses": object{"Problem": object{
				"description": "What is wrong, and how to proceed.",
				"content":     content(ProblemType, d.Ref("Problem")),
				"headers": headers(map[string]string{
					"Accept":       "With the status 415: the types that a body may have.",
					"Accept-Patch": "With the status 415: the types that the body of a PATCH may have.",
					"ETag":         "With the status 412: the version that the object has.",
				}),
			}},
		},
	}
	text, err := json.MarshalIndent(doc, "", "  ")
	return append(text, '\n'), err
}

// describer makes the descriptions of types, each once.
type describer struct{ *derive.GoTypes }

func newDescriber() *describer {
	d := &describer{derive.NewGoTypes("#/components/schemas/")}
	d.Schemas["Problem"] = problemSchema()
	return d
}

func (d *describer) operation(r *Route) (object, error) {
	op := object{"operationId": r.id(), "summary": r.Summary, "description": r.Doc}
	var params []any
	for _, p := range r.params() {
		params = append(params, p.describe())
	}
	if params != nil {
		op["parameters"] = params
	}
	if r.Body != nil {
		s, err := d.Schema(r.Body)
		if err != nil {
			return nil, err
		}
		all := object{}
		for _, kind := range orJSON(r.Accepts) {
			maps.Copy(all, content(kind, s))
		}
		op["requestBody"] = object{"required": true, "content": all}
	}
	answers, err := d.answers(r)
	op["responses"] = answers
	return without(op), err
}

func (d *describer) answers(r *Route) (object, error) {
	status := cmp.Or(r.Status, http.StatusOK)
	good, err := d.good(r, status, r.Answer, r.Types)
	if err != nil {
		return nil, err
	}
	answers := object{strconv.Itoa(status): good, "default": object{"$ref": "#/components/responses/Problem"}}
	for status, answer := range r.Also {
		if answers[strconv.Itoa(status)], err = d.good(r, status, answer, nil); err != nil {
			return nil, err
		}
	}
	errors := slices.Clone(r.Errors)
	if r.Versions {
		errors = append(errors, http.StatusPreconditionFailed)
		if r.Method == http.MethodGet {
			answers["304"] = object{"description": "The client has this version already.", "headers": headers(map[string]string{"ETag": versionDoc})}
		}
	}
	for _, status := range errors {
		answers[strconv.Itoa(status)] = object{"$ref": "#/components/responses/Problem"}
	}
	return answers, nil
}

// good describes an answer that is no error.
func (d *describer) good(r *Route, status int, answer any, types []string) (object, error) {
	good := object{"description": "The answer."}
	switch {
	case answer != nil:
		s, err := d.Schema(answer)
		if err != nil {
			return nil, err
		}
		all := object{}
		for _, kind := range orJSON(types) {
			maps.Copy(all, content(kind, s))
		}
		good["content"] = all
	case len(types) > 0:
		all := object{}
		for _, kind := range types {
			all[kind] = object{}
		}
		good["content"] = all
	}
	all := maps.Clone(r.Headers)
	if all == nil {
		all = map[string]string{}
	}
	if r.Versions {
		all["ETag"] = versionDoc
	}
	if status == http.StatusCreated {
		all["Location"] = "The path of what was created."
	}
	if len(all) > 0 {
		good["headers"] = headers(all)
	}
	return good, nil
}

const versionDoc = "The version of the object."

// headers describes headers that an answer may have, from what each says.
func headers(docs map[string]string) object {
	out := object{}
	for name, doc := range docs {
		out[name] = object{"description": doc, "schema": object{"type": "string"}}
	}
	return out
}

// params returns the parameters, with those of the versions.
func (r *Route) params() []Param {
	list := slices.Clone(r.Params)
	if r.Versions {
		list = append(list, Param{Name: "If-None-Match", Head: true, Doc: "Only unless the object has one of these versions."})
		if r.Method != http.MethodGet {
			list = append(list, Param{Name: "If-Match", Head: true, Doc: "Only if the object has one of these versions."})
		}
	}
	return list
}

func (p *Param) describe() object {
	place := "query"
	switch {
	case p.Path:
		place = "path"
	case p.Head:
		place = "header"
	}
	s := object{"type": cmp.Or(p.Type, "string")}
	if p.Form != "" {
		s["format"] = p.Form
	}
	if p.Of != nil {
		s["enum"] = p.Of
	}
	out := object{"name": p.Name, "in": place, "description": p.Doc, "required": p.Path || p.Need}
	if p.List {
		s = object{"type": "array", "items": s}
		out["style"] = "form"
	}
	out["schema"] = s
	out = without(out)
	if p.List {
		out["explode"] = false // it says something: without it a client repeats the parameter
	}
	return out
}

// id names the operation: the method and the words of the pattern.
func (r *Route) id() string {
	words := strings.FieldsFunc(r.Pattern, func(c rune) bool { return strings.ContainsRune("/{}:._-", c) })
	for i, w := range words {
		words[i] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.ToLower(r.Method) + strings.Join(words, "")
}

func orJSON(types []string) []string {
	if len(types) == 0 {
		return []string{"application/json"}
	}
	return types
}

func content(kind string, schema object) object { return object{kind: object{"schema": schema}} }

// without takes out the empty members.
func without(o object) object {
	maps.DeleteFunc(o, func(_ string, v any) bool { return v == "" || v == false })
	return o
}

// problemSchema describes Problem, which may have more members.
func problemSchema() object {
	s := object{"type": "object", "description": "An error, as RFC 9457 writes it.", "required": []string{"status", "title", "detail"}}
	text, whole := object{"type": "string"}, object{"type": "integer"}
	s["properties"] = object{
		"status": whole, "title": text, "detail": text, "hint": text,
		"errors": object{"type": "array", "items": object{"type": "object", "required": []string{"detail"}, "properties": object{
			"detail": text, "hint": text, "field": text, "file": text, "line": whole, "column": whole, "warning": object{"type": "boolean"},
		}}},
	}
	return s
}
