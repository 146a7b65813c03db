package control

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
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
