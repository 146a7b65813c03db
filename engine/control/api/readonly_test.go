package api_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/control/api"
	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/world"
)

// TestReadOnlyTable: a table whose records another part of the program writes is read by each way of the API, and each change is the
// caller's fault, with a code.
func TestReadOnlyTable(t *testing.T) {
	m, err := model.Define(model.Spec{
		Name: "Seen", Table: "seen", Fields: []model.Field{{Key: "n", Type: &schema.Type{Kind: schema.KindInt, Bits: 64}}},
		Foreign: &model.Foreign{Prefix: "elsewhere/", Read: func(value []byte) (fields map[string]any, err error) {
			return fields, json.Unmarshal(value, &fields)
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, api.Options{}, port(t), m)
	if _, _, err := r.nb.World().Txn(t.Context(), nil, []world.Op{{Key: "elsewhere/a%2Fb", Value: []byte(`{"n": 4}`)}, {Key: "elsewhere/c", Value: []byte("no")}}); err != nil {
		t.Fatal(err)
	}
	const one = "/v1/api/seen/a%2Fb"
	if got := strings.TrimSpace(r.want(t, 200, "GET", one, "").body); got != `{"id":"a/b","n":4}` {
		t.Error(got)
	}
	if list := r.want(t, 200, "GET", "/v1/api/seen", "").value(t).([]any); len(list) != 1 {
		t.Errorf("%v: a record that cannot be read hides others, or is told as one", list)
	}
	if got := r.want(t, 200, "GET", "/v1/api?table=seen", "").body; !strings.Contains(got, `"read_only":true`) {
		t.Error(got)
	}
	for _, c := range [][3]string{
		{"POST", "/v1/api/seen", `{"id": "x", "n": 1}`}, {"PUT", "/v1/api/seen", `{"id": "a/b", "n": 1}`}, {"PUT", one, `{"n": 1}`},
		{"PATCH", one, `{"n": 1}`}, {"DELETE", one, ""}, {"POST", one + ":set", `{}`},
		{"POST", "/v1/api:txn", `{"operations": [{"op": "apply", "table": "seen", "object": {"id": "x"}}]}`},
	} {
		a := r.ask(t, c[0], c[1], c[2])
		if p := a.problem(t); a.status/100 != 4 || c[0] != "POST" && (a.status != 405 || p.Code != string(model.ReadOnly)) {
			t.Errorf("%s %s: %d %s", c[0], c[1], a.status, a.body)
		}
	}
}
