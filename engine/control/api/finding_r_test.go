package api_test

import (
	"testing"

	"github.com/reactivegraph/mgmt/engine/control/api"
)

// TestFindingR4PatchAsJSON: a PATCH of the type that generated clients send is a merge patch, with null and with conditions; a type that is
// none is refused, and the answer names both.
func TestFindingR4PatchAsJSON(t *testing.T) {
	r := newRig(t, api.Options{}, port(t))
	version := r.want(t, 201, "POST", ports, `{"id": "1", "mac": "m", "vlan": 4, "tags": ["a"]}`).header.Get("ETag")
	for _, kind := range []string{"application/json", "application/json; charset=utf-8", "application/merge-patch+json"} {
		a := r.want(t, 200, "PATCH", ports+"/1", `{"vlan": null, "tags": ["b"]}`, "Content-Type", kind, "If-Match", version, "Prefer", "return=representation")
		version = a.header.Get("ETag")
		if v := a.value(t).(map[string]any); v["vlan"] != nil || v["mac"] != "m" || len(v["tags"].([]any)) != 1 {
			t.Errorf("%s: %s", kind, a.body)
		}
	}
	r.want(t, 412, "PATCH", ports+"/1", `{"vlan": 5}`, "Content-Type", "application/json", "If-Match", `"1"`)
	refused := r.want(t, 415, "PATCH", ports+"/1", `[{"op": "remove", "path": "/vlan"}]`, "Content-Type", "application/json-patch+json")
	if got := refused.header.Get("Accept-Patch"); got != "application/merge-patch+json, application/json" {
		t.Errorf("the answer names %q", got)
	}
	r.want(t, 400, "PATCH", ports+"/1", `[{"op": "remove", "path": "/vlan"}]`, "Content-Type", "application/json")
}

// TestFindingR3AnswersAreDescribed: each answer that a caller may get is in the description, with its body. The rig compares all answers of
// all tests of this package.
func TestFindingR3AnswersAreDescribed(t *testing.T) {
	r := newRig(t, api.Options{}, port(t), lamp(t))
	const body, all = `{"id": "1", "mac": "m"}`, "return=representation"
	r.want(t, 200, "POST", ports+"?dry_run=1", body)
	r.want(t, 201, "POST", ports, body)
	for _, c := range []struct{ method, path string }{{"PUT", ports}, {"PUT", ports + "/1"}, {"PATCH", ports + "/1"}} {
		r.want(t, 200, c.method, c.path+"?dry_run=1", body)
		r.want(t, 200, c.method, c.path, body, "Prefer", all)
		r.want(t, 204, c.method, c.path, body)
	}
	version := r.want(t, 200, "GET", ports+"/1", "").header.Get("ETag")
	r.want(t, 304, "GET", ports+"/1", "", "If-None-Match", version)
	r.want(t, 200, "GET", ports+"/1?resolve=deep", "")
	r.want(t, 200, "GET", ports+"?resolve=deep&limit=1", "")
	r.want(t, 204, "DELETE", ports+"/1?dry_run=1", "")
	r.want(t, 204, "DELETE", ports+"/1", "")
	r.want(t, 201, "POST", "/v1/api/lamp", `{"id": "1", "state": "on"}`)
	r.want(t, 202, "DELETE", "/v1/api/lamp/1?remove=1", "")
	for _, what := range []string{"POST 200", "PUT 200", "PATCH 200", "DELETE 202", "GET 304"} {
		if !r.spec.Saw(what) {
			t.Errorf("%s was not compared", what)
		}
	}
}
