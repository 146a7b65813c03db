package httpd

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// validated reads a description as a program that knows nothing of us does.
func validated(t testing.TB, doc []byte) *openapi3.T {
	t.Helper()
	loader := openapi3.NewLoader()
	loader.IsExternalRefsAllowed = false
	spec, err := loader.LoadFromData(doc)
	if err == nil {
		err = spec.Validate(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

// TestDescription: the description is valid OpenAPI 3.1, complete, the same each time,
// and served.
func TestDescription(t *testing.T) {
	r := newRig(t)
	spec := validated(t, r.Table.Document())
	if spec.OpenAPI != "3.1.0" || spec.Info.Title != "Things" {
		t.Errorf("%s %+v", spec.OpenAPI, spec.Info)
	}
	for _, rt := range r.Table.Routes() {
		item := spec.Paths.Value(rt.Pattern)
		if item == nil || item.GetOperation(rt.Method) == nil {
			t.Errorf("%s %s is missing", rt.Method, rt.Pattern)
			continue
		}
		op := item.GetOperation(rt.Method)
		if op.Summary != rt.Summary || op.Responses.Default() == nil || (rt.Body != nil) != (op.RequestBody != nil) {
			t.Errorf("%s %s: %+v", rt.Method, rt.Pattern, op)
		}
		if rt.Versions && (op.Responses.Value("412") == nil || op.Parameters.GetByInAndName("header", "If-None-Match") == nil) {
			t.Errorf("%s %s has no versions", rt.Method, rt.Pattern)
		}
	}
	if !bytes.Equal(newRig(t).Table.Document(), r.Table.Document()) {
		t.Error("it is another one each time")
	}
	if w := r.ask(t, "GET", "/openapi.json", ""); w.Code != 200 || !bytes.Equal(w.Body.Bytes(), r.Table.Document()) || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestProblemsAreDescribed: what is answered fits what the description says of errors.
func TestProblemsAreDescribed(t *testing.T) {
	r := newRig(t)
	problem := validated(t, r.Table.Document()).Components.Schemas["Problem"].Value
	for _, target := range []string{"/nothing", "/v1/panic", "/v1/t/none", "/v1/wrong", "/v1/api:watch?x"} {
		w := r.ask(t, "GET", target, "")
		if target == "/v1/wrong" {
			w = r.ask(t, "POST", target, "")
		}
		var doc any
		if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil {
			t.Fatal(err)
		}
		if err := problem.VisitJSON(doc, openapi3.EnableJSONSchema2020()); err != nil {
			t.Errorf("%s: %v", target, err)
		}
	}
}

// node holds itself.
type node struct {
	node2
	Next  *node             `json:"next,omitempty"`
	Many  []node            `json:"many,omitempty"`
	Words map[string]string `json:"words"`
	Bytes []byte            `json:"bytes,omitempty"`
	Any   any               `json:"any,omitempty"`
	None  string            `json:"-"`
	plain int
	Plain bool
	Ratio float64      `json:"ratio,omitzero"`
	When  *moment      `json:"when,omitempty"`
	Fixed [2]uint      `json:"fixed"`
	Text  json.Number  `json:"text"`
	Raw   *http.Header `json:"raw,omitempty"`
}

type node2 struct {
	ID string `json:"id"`
}

type moment struct{}

func (moment) MarshalText() ([]byte, error) { return []byte("now"), nil }

// sameName returns a type with the name of another one of this package.
func sameName() any {
	type node struct {
		Size int `json:"size"`
	}
	return node{}
}

// TestTypesOfOneName: two types of one name are two components, and each route refers to its own. A third one is an error.
func TestTypesOfOneName(t *testing.T) {
	serve := func(http.ResponseWriter, *http.Request) (any, error) { return nil, nil }
	type Problem struct {
		Own bool `json:"own"`
	}
	routes := []Route{
		{Method: "GET", Pattern: "/a", Summary: "s", Answer: node{}, Serve: serve},
		{Method: "GET", Pattern: "/b", Summary: "s", Answer: []any{}, Body: sameName(), Serve: serve},
		{Method: "GET", Pattern: "/c", Summary: "s", Answer: Problem{}, Serve: serve},
	}
	table, err := NewTable(Info{}, routes)
	must(t, err)
	spec := validated(t, table.Document())
	first := spec.Paths.Value("/a").Get.Responses.Value("200").Value.Content["application/json"].Schema
	second := spec.Paths.Value("/b").Get.RequestBody.Value.Content["application/json"].Schema
	own := spec.Paths.Value("/c").Get.Responses.Value("200").Value.Content["application/json"].Schema
	if first.Value.Properties["id"] == nil || second.Value.Properties["size"] == nil || second.Value.Properties["id"] != nil {
		t.Errorf("%s and %s", first.Ref, second.Ref)
	}
	if own.Value.Properties["own"] == nil || spec.Components.Schemas["Problem"].Value.Properties["detail"] == nil {
		t.Errorf("a type takes the place of the errors: %s", own.Ref)
	}
	type node struct{ Third bool }
	routes = append(routes, Route{Method: "GET", Pattern: "/d", Summary: "s", Answer: node{}, Serve: serve})
	if _, err := NewTable(Info{}, routes); err == nil || !strings.Contains(err.Error(), "another type has the name httpd.node, too") {
		t.Error(err)
	}
}

// TestTypes: every Go type that has a form in JSON, and a type of the graph, is
// described, and a value of it fits its description.
func TestTypes(t *testing.T) {
	serve := func(http.ResponseWriter, *http.Request) (any, error) { return nil, nil }
	graphType, err := schema.Of(&struct {
		Name  string `lang:"name"`
		Count int    `lang:"count"`
	}{})
	if err != nil {
		t.Fatal(err)
	}
	table, err := NewTable(Info{}, []Route{
		{Method: "GET", Pattern: "/node", Summary: "s", Answer: node{}, Serve: serve},
		{Method: "PUT", Pattern: "/graph", Summary: "s", Body: graphType, Serve: serve},
	})
	if err != nil {
		t.Fatal(err)
	}
	spec := validated(t, table.Document())
	of := spec.Components.Schemas["node"].Value
	value := node{node2: node2{"a"}, Words: map[string]string{"a": "b"}, Next: &node{Words: map[string]string{}}, Bytes: []byte("x"), Any: 7, Text: "12", plain: 1}
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var doc any
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	if err := of.VisitJSON(doc, openapi3.EnableJSONSchema2020()); err != nil {
		t.Errorf("%s: %v", text, err)
	}
	for _, name := range []string{"id", "next", "many", "words", "Plain", "fixed"} {
		if of.Properties[name] == nil {
			t.Errorf("%s is missing", name)
		}
	}
	if of.Properties["None"] != nil || of.Properties["plain"] != nil || strings.Contains(strings.Join(of.Required, " "), "next") {
		t.Errorf("%v", of.Required)
	}
	body := spec.Paths.Value("/graph").Put.RequestBody.Value.Content["application/json"].Schema
	if body == nil || !strings.Contains(string(table.Document()), `"count"`) {
		t.Errorf("%s", table.Document())
	}
}
