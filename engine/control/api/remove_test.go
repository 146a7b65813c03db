package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/reactivegraph/mgmt/engine/control/api"
	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// lamp is the model of a thing that can be absent.
func lamp(t testing.TB) *model.Model {
	return define(t, model.Spec{
		Name: "Lamp", Table: "lamp", Mixins: []model.Mixin{model.Version, model.BasicEvents},
		Fields: []model.Field{
			{Key: "topic", Type: text},
			{Key: "meta", Type: &schema.Type{Kind: schema.KindMap, Elem: &schema.Type{Kind: schema.KindAny}}},
			{Key: "state", Type: &schema.Type{Kind: schema.KindString, Enum: []string{"on", "off", "absent"}}},
			{Key: "size", Type: whole},
		},
	})
}

// tell writes the status that a host has of a lamp.
func (r *rig) tell(t *testing.T, m *model.Model, host, id string, revision int64, state, fault string) {
	t.Helper()
	status, err := json.Marshal(map[string]any{"revision": revision, "state": state, "error": fault})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.nb.PutStatus(t.Context(), host, model.StatusOf{Model: m, ID: id, JSON: status}); err != nil {
		t.Fatal(err)
	}
}

func (r *rig) revision(t *testing.T, m *model.Model, id string) int64 {
	t.Helper()
	o, err := r.nb.Get(context.WithoutCancel(t.Context()), m, id)
	if err != nil {
		t.Fatal(err)
	}
	return o.Revision()
}

// TestRemove: an object is deleted when all hosts that have it say ok to its absent form, and not before.
func TestRemove(t *testing.T) {
	m := lamp(t)
	r := newRig(t, api.Options{}, m)
	r.want(t, 201, "POST", "/v1/api/lamp", `{"id": "a", "state": "on", "size": 7, "meta": {"reverse": true, "noop": false}}`)
	step := func(status int, want string) {
		t.Helper()
		a := r.want(t, status, "DELETE", "/v1/api/lamp/a?remove=1", "")
		if status == 204 {
			return
		}
		var left api.Removal
		if err := json.Unmarshal([]byte(a.body), &left); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(left.Waiting); got != want || left.Revision != r.revision(t, m, "a") {
			t.Errorf("it waits for %s, not %s; revision %d", got, want, left.Revision)
		}
	}
	step(202, "[]")
	o, err := r.nb.Get(t.Context(), m, "a")
	if err != nil || o.Get("state") != "absent" || fmt.Sprint(o.Get("meta")) != "map[noop:false]" || fmt.Sprint(o.Get("size")) != "7" {
		t.Fatal(o, err)
	}
	now := o.Revision()
	r.tell(t, m, "h2", "a", now-1, "ok", "")
	r.tell(t, m, "h1", "a", now, "failed", "it is screwed in")
	step(202, "[{h1 failed it is screwed in} {h2 old }]")
	r.tell(t, m, "h1", "a", now, "ok", "")
	step(202, "[{h2 old }]")
	if r.revision(t, m, "a") != now {
		t.Error("a step that waits has written the object")
	}
	r.want(t, 200, "PUT", "/v1/api/lamp/a?dry_run=1", `{"state": "on"}`)
	r.tell(t, m, "h2", "a", now, "ok", "")
	step(204, "")
	r.want(t, 404, "DELETE", "/v1/api/lamp/a?remove=1", "")
}

// TestRemoveChanged: a writer that turns the thing on again is not overrun by the statuses of the form before.
func TestRemoveChanged(t *testing.T) {
	m := lamp(t)
	r := newRig(t, api.Options{}, m, port(t))
	r.want(t, 201, "POST", "/v1/api/lamp", `{"id": "a", "state": "on"}`)
	r.want(t, 202, "DELETE", "/v1/api/lamp/a?remove=1", "")
	r.tell(t, m, "h1", "a", r.revision(t, m, "a"), "ok", "")
	r.want(t, 204, "PUT", "/v1/api/lamp/a", `{"state": "on"}`)
	r.want(t, 202, "DELETE", "/v1/api/lamp/a?remove=1", "")
	r.want(t, 412, "DELETE", "/v1/api/lamp/a?remove=1", "", "If-Match", `"1"`)
	r.want(t, 400, "DELETE", "/v1/api/lamp/a?remove=perhaps", "")
	r.want(t, 204, "DELETE", "/v1/api/lamp/a?remove=1&dry_run=1", "")
	if p := r.want(t, 422, "DELETE", ports+"/a?remove=1", "").problem(t); p.Errors[0].Field != "state" {
		t.Error(p)
	}
	r.want(t, 204, "DELETE", "/v1/api/lamp/a", "")
}

// TestRemoveByItsWord: a kind may take its things away by another word than absent, beside values that no list names.
func TestRemoveByItsWord(t *testing.T) {
	m := define(t, model.Spec{
		Name: "Package", Table: "package", Mixins: []model.Mixin{model.BasicEvents},
		Fields: []model.Field{{Key: "state", Type: text}, {Key: "wanted", Type: text, Absent: "uninstalled"}},
	})
	r := newRig(t, api.Options{}, m)
	r.want(t, 201, "POST", "/v1/api/package", `{"id": "a", "wanted": "1.2", "state": "x"}`)
	r.want(t, 202, "DELETE", "/v1/api/package/a?remove=1", "")
	if o, err := r.nb.Get(t.Context(), m, "a"); err != nil || o.Get("wanted") != "uninstalled" || o.Get("state") != "x" {
		t.Fatal(o, err)
	}
	r.tell(t, m, "h1", "a", r.revision(t, m, "a"), "ok", "")
	r.want(t, 204, "DELETE", "/v1/api/package/a?remove=1", "")
	r.want(t, 404, "GET", "/v1/api/package/a", "")
}

// TestFindingH9Removal: a removal does not wait for a host that the operator has removed, whatever it says, and its word that all is well stands for no
// other host. A host that has come back counts again.
func TestFindingH9Removal(t *testing.T) {
	m := lamp(t)
	var removed []string
	r := newRig(t, api.Options{Removed: func(context.Context) func(string) bool {
		return func(host string) bool { return slices.Contains(removed, host) }
	}}, m)
	r.want(t, 201, "POST", "/v1/api/lamp", `{"id": "a", "state": "on"}`)
	r.want(t, 202, "DELETE", "/v1/api/lamp/a?remove=1", "")
	now := r.revision(t, m, "a")
	step := func(waits string) {
		t.Helper()
		var left api.Removal
		if err := json.Unmarshal([]byte(r.want(t, 202, "DELETE", "/v1/api/lamp/a?remove=1", "").body), &left); err != nil || fmt.Sprint(left.Waiting) != waits {
			t.Errorf("it waits for %v, %v; want %s", left.Waiting, err, waits)
		}
	}
	r.tell(t, m, "foe", "a", now-1, "ok", "")
	step("[{foe old }]")
	removed = []string{"foe"}
	for _, state := range []string{"ok", "failed", "running"} {
		r.tell(t, m, "foe", "a", now, state, "") // as it writes itself anew
		step("[]")
	}
	r.tell(t, m, "good", "a", now-1, "ok", "")
	step("[{good old }]")
	removed = nil
	step("[{foe running } {good old }]")
	removed = []string{"foe"}
	r.tell(t, m, "good", "a", now, "ok", "")
	r.put(t, "s/foe/lamp/a", `{"state":`)
	r.want(t, 204, "DELETE", "/v1/api/lamp/a?remove=1", "")
}

// TestUnreadableStatus: a status that a host has written wrongly hides neither the statuses of the other hosts nor the object. A removal waits for that
// host by name.
func TestUnreadableStatus(t *testing.T) {
	m := lamp(t)
	for _, bad := range []string{`{"state":`, ``, `"ok"`, `[1]`, `null`, `{"state":7}`, `{"revision":"x"}`} {
		r := newRig(t, api.Options{}, m)
		r.want(t, 201, "POST", "/v1/api/lamp", `{"id": "a", "state": "on"}`)
		r.want(t, 202, "DELETE", "/v1/api/lamp/a?remove=1", "")
		r.tell(t, m, "good", "a", r.revision(t, m, "a"), "ok", "")
		r.put(t, "s/bad/lamp/a", bad)
		var all map[string]struct{ State, Error string }
		got := r.want(t, 200, "GET", "/v1/api/lamp/a/status", "")
		if err := json.Unmarshal([]byte(got.body), &all); err != nil || all["good"].State != "ok" || all["bad"].State != "unreadable" || all["bad"].Error == "" {
			t.Errorf("%s: %v: %s", bad, err, got.body)
		}
		var left api.Removal
		if err := json.Unmarshal([]byte(r.want(t, 202, "DELETE", "/v1/api/lamp/a?remove=1", "").body), &left); err != nil || len(left.Waiting) != 1 || left.Waiting[0].Host != "bad" || left.Waiting[0].State != "unreadable" {
			t.Errorf("%s: %v: %+v", bad, err, left)
		}
	}
}
