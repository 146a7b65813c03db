package control

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/reactivegraph/mgmt/engine/control/api"
	"github.com/reactivegraph/mgmt/engine/control/store"
	"github.com/reactivegraph/mgmt/engine/httpd"
)

// TestDescription: the description is valid OpenAPI 3.1, is what a server tells and what
// the reference has, and every answer in JSON fits it.
func TestDescription(t *testing.T) {
	doc, err := Document()
	if err != nil {
		t.Fatal(err)
	}
	spec, err := openapi3.NewLoader().LoadFromData(doc)
	if err == nil {
		err = spec.Validate(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t)
	if w := r.get(t, "/openapi.json"); !bytes.Equal(w.Body.Bytes(), doc) {
		t.Errorf("the server tells %d %s", w.Code, w.Body)
	}
	if page, err := os.ReadFile("../../docs/reference/openapi.json"); err != nil || !bytes.Equal(page, doc) {
		t.Errorf("docs/reference/openapi.json is stale (%v), run make docs", err)
	}
	r.rec.Ran(changedRun("svc[web]", 1))
	for _, c := range []struct{ method, target, body string }{
		{"GET", "/v1/version", ""},
		{"GET", "/v1/status?all=true", ""},
		{"GET", "/v1/resources", ""},
		{"GET", "/v1/why?resource=svc[web]", ""},
		{"GET", "/v1/resource?resource=svc[web]", ""},
		{"GET", "/v1/log", ""},
		{"POST", "/v1/pause", `{"resource":"file[/a]","for_seconds":60}`},
		{"POST", "/v1/resume", `{"resource":"file[/a]"}`},
		{"POST", "/v1/retry", `{}`},
		{"POST", "/v1/retry", `{"resources":["file[/a]"]}`},
		{"GET", "/v1/statsu", ""},
	} {
		w := r.request(t, c.method, c.target, c.body)
		path, _, _ := strings.Cut(c.target, "?")
		of := spec.Components.Schemas["Problem"]
		if w.Code == 200 {
			of = spec.Paths.Value(path).GetOperation(c.method).Responses.Value("200").Value.Content["application/json"].Schema
		}
		var answer any
		err := json.Unmarshal(w.Body.Bytes(), &answer)
		if err == nil {
			err = of.Value.VisitJSON(answer, openapi3.EnableJSONSchema2020())
		}
		if err != nil {
			t.Errorf("%s %s: %d %s: %v", c.method, c.target, w.Code, w.Body, err)
		}
	}
}

// TestTypesOfOneName: bodies and answers of the packages api and store are described by their own types, also where package control has
// types of the same names.
func TestTypesOfOneName(t *testing.T) {
	doc, err := Document()
	if err != nil {
		t.Fatal(err)
	}
	spec, err := openapi3.NewLoader().LoadFromData(doc)
	if err != nil {
		t.Fatal(err)
	}
	answer := func(method, path, kind string) *openapi3.SchemaRef {
		return spec.Paths.Value(path).GetOperation(method).Responses.Value("200").Value.Content[kind].Schema
	}
	body := func(path string) *openapi3.SchemaRef {
		return spec.Paths.Value(path).Post.RequestBody.Value.Content["application/json"].Schema
	}
	for what, c := range map[string]struct {
		of    *openapi3.SchemaRef
		value any
	}{
		"a transaction of objects": {body("/v1/api:txn"), api.Txn{Operations: []api.Op{{Op: "create", Table: "t", ID: "x"}}}},
		"its answer":               {answer("POST", "/v1/api:txn", "application/json"), api.Done{Revision: 1, Results: []string{"created"}}},
		"a change of an object":    {answer("GET", "/v1/api:watch", httpd.EventsType), api.Change{Action: "create", Revision: 7}},
		"a transaction of keys":    {body("/v1/store/txn"), store.TxnRequest{Compares: []store.Compare{}, Ops: []store.Op{{Key: "k", Value: []byte("v")}}}},
		"the end of a pause":       {answer("POST", "/v1/resume", "application/json"), Done{Resource: "file[/a]"}},
		"an event":                 {answer("GET", "/v1/events", httpd.EventsType), Event{Changes: []Change{{Field: "mode"}}}},
	} {
		text, err := json.Marshal(c.value)
		if err != nil {
			t.Fatal(err)
		}
		var doc any
		if err := json.Unmarshal(text, &doc); err != nil {
			t.Fatal(err)
		}
		s := *c.of.Value
		s.AdditionalProperties = openapi3.AdditionalProperties{Has: new(bool)} // a field that is not described is an error
		if err := s.VisitJSON(doc, openapi3.EnableJSONSchema2020()); err != nil {
			t.Errorf("%s: %s: %v", what, text, err)
		}
	}
}
