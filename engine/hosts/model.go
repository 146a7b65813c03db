package hosts

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// TableName is that of the hosts that are there, for the model of Model.
const TableName = "hosts"

// Model returns the model of the hosts that share a store and are there, with their facts: the ids are their names. It can
// only be read, since each host writes its own record. A host whose lease ends is deleted. A program makes it once for a registry.
func Model() (*model.Model, error) {
	text, count := &schema.Type{Kind: schema.KindString}, &schema.Type{Kind: schema.KindInt, Bits: 64}
	return model.Define(model.Spec{
		Name: "Host", Table: TableName, Doc: "The hosts that share the store and are there, with their facts. It can only be read: each host writes its own record.",
		Fields: []model.Field{
			{Key: "state", Type: text, Doc: "converged, working or failing."},
			{Key: "since", Type: text, Doc: "When the host came to the state."},
			{Key: "graph", Type: text, Doc: "The name of its graph."},
			{Key: "ok", Type: count, Doc: "How many of its resources are right."},
			{Key: "failed", Type: count, Doc: "How many of its resources have failed."},
			{Key: "blocked", Type: count, Doc: "How many of its resources wait for failed ones."},
			{Key: "other", Type: count, Doc: "How many of its resources are neither of these."},
			{Key: "release", Type: text, Doc: "The version of mgmt that runs there."},
			{Key: "started", Type: text, Doc: "When its daemon started."},
			{Key: "facts", Type: &schema.Type{Kind: schema.KindMap, Elem: &schema.Type{Kind: schema.KindAny}}, Doc: "What the host has found out about itself."},
		},
		Indexes: map[string][]string{"state": {"state"}, "release": {"release"}},
		Foreign: &model.Foreign{Prefix: tableHosts, Read: fieldsOf},
	})
}

// fieldsOf reads the record of a host. Parts that only a newer program writes are left out.
func fieldsOf(value []byte) (map[string]any, error) {
	var m Member
	if err := json.Unmarshal(value, &m); err != nil {
		return nil, fmt.Errorf("it is no JSON of a host: %w", err)
	}
	st := &m.State
	fields := map[string]any{
		"state": st.Word(), "graph": st.Graph, "release": m.Version, "facts": m.Facts,
		"ok": int64(st.OK), "failed": int64(st.Failed), "blocked": int64(st.Blocked), "other": int64(st.Other),
	}
	for key, at := range map[string]time.Time{"since": st.Since, "started": m.Since} {
		if !at.IsZero() {
			fields[key] = at.Format(time.RFC3339Nano)
		}
	}
	if m.Facts == nil {
		delete(fields, "facts")
	}
	return fields, nil
}
