package api_test

import (
	"encoding/json"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/reactivegraph/mgmt/engine/control/api"
)

// TestDescription: the description is valid OpenAPI 3.1, has each table, and answers and bodies fit it.
func TestDescription(t *testing.T) {
	r := newRig(t, api.Options{}, port(t))
	spec, err := openapi3.NewLoader().LoadFromData([]byte(r.want(t, 200, "GET", "/openapi.json", "").body))
	if err == nil {
		err = spec.Validate(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	fits := func(s *openapi3.SchemaRef, text string) error {
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		return s.Value.VisitJSON(v, openapi3.EnableJSONSchema2020())
	}
	const whole = `{"id": "1", "mac": "m", "vlan": 4, "tags": ["a"], "address": {"ip": "::1", "port": 7}, "key": "k"}`
	table, one := spec.Paths.Value(ports), spec.Paths.Value(ports+"/{id}")
	body := table.Post.RequestBody.Value.Content["application/json"].Schema
	for text, good := range map[string]bool{whole: true, `{"id": "1"}`: false, `{"id": "1", "mac": 7}`: false, `{"id": "1", "mac": "m", "mca": 1}`: false} {
		if err := fits(body, text); (err == nil) != good {
			t.Errorf("%s: %v", text, err)
		}
	}
	if err := fits(one.Patch.RequestBody.Value.Content["application/merge-patch+json"].Schema, `{"vlan": 7}`); err != nil {
		t.Error(err)
	}
	made := r.want(t, 201, "POST", ports, whole)
	list := r.want(t, 200, "GET", ports, "")
	for text, s := range map[string]*openapi3.SchemaRef{
		made.body: table.Post.Responses.Value("201").Value.Content["application/json"].Schema,
		list.body: table.Get.Responses.Value("200").Value.Content["application/json"].Schema,
		r.want(t, 200, "GET", ports+"/1", "").body:     one.Get.Responses.Value("200").Value.Content["application/json"].Schema,
		r.want(t, 200, "GET", "/v1/api", "").body:      spec.Paths.Value("/v1/api").Get.Responses.Value("200").Value.Content["application/json"].Schema,
		r.want(t, 422, "POST", ports, `{"x": 1}`).body: spec.Components.Schemas["Problem"],
	} {
		if err := fits(s, text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}
