package modeltest_test

import (
	"context"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/jsonnode"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/memory"
)

// TestStepsOfMigrations: records of each version in, the record of today out. Names change all at once, whatever their order.
func TestStepsOfMigrations(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct{ step, before, after string }{
		{`"rename": {"b": "a", "a": "b"}`, `{"a": "1", "b": "2"}`, `{"a":"2","b":"1","id":"o"}`},
		{`"rename": {"a": "b", "b": "c"}`, `{"a": "1", "b": "2"}`, `{"b":"1","c":"2","id":"o"}`},
		{`"rename": {"a": "b", "b": "c"}`, `{"a": "1"}`, `{"b":"1","id":"o"}`},
		{`"rename": {"a": "b"}`, `{"b": "2"}`, `{"b":"2","id":"o"}`},
		{`"rename": {"old": "a"}, "drop": ["gone"]`, `{"old": "1", "gone": {"x": 1}}`, `{"a":"1","id":"o"}`},
		{`"drop": ["a"], "default": {"a": "d", "b": "d"}`, `{"a": "1", "b": "2"}`, `{"a":"d","b":"2","id":"o"}`},
		{`"rename": {"a": "b"}, "default": {"a": "new"}`, `{"a": "1"}`, `{"a":"new","b":"1","id":"o"}`},
		{``, `{"a": "1"}`, `{"a":"1","id":"o"}`},
	} {
		w := memory.New()
		step := `{"from": 1` + map[bool]string{true: ", " + c.step}[c.step != ""] + `}`
		r := model.NewRegistry(nil)
		n, found := jsonnode.Parse([]byte(`{"model": "M", "table": "m", "schema": 2, "migrations": [`+step+`], "fields": {"a": {"type": "string"}, "b": {"type": "string"}, "c": {"type": "string"}}}`), jsonnode.Options{})
		if found = append(found, r.Load([]*schema.Node{n})...); found.Err() != nil {
			t.Fatal(found)
		}
		m, _ := r.Model("m")
		record := `{"schema": 1, "kind": "m", "object": ` + strings.Replace(c.before, "{", `{"id": "o", `, 1) + `}`
		ops := []world.Op{{Key: "m//m/o", Value: []byte(record)}, {Key: "i/m/o", Value: []byte("")}}
		if _, ok, err := w.Txn(ctx, nil, ops); err != nil || !ok {
			t.Fatal(ok, err)
		}
		nb := model.Open(w, r, model.Options{})
		o, err := nb.Get(ctx, m, "o")
		if err != nil {
			t.Errorf("%s of %s: %v", c.step, c.before, err)
			continue
		}
		if text, _ := o.Stored(); string(text) != c.after {
			t.Errorf("%s of %s is %s, want %s", c.step, c.before, text, c.after)
		}
		for _, dry := range []bool{true, false, false} {
			done, err := nb.Migrate(ctx, dry)
			if err != nil {
				t.Fatal(err)
			}
			known, err := nb.RecordSchema(ctx, m)
			kept, _ := nb.Record(ctx, m, "o")
			if migrated := kept.Schema == 2; err != nil || migrated != (known == 2) || dry && migrated {
				t.Errorf("%s: dry %t leaves schema %d, known as %d, %v", c.step, dry, kept.Schema, known, err)
			}
			if n := len(done); kept.Schema == 1 && n != 1 {
				t.Errorf("a dry run says %v", done)
			}
		}
		if done, _ := nb.Migrate(ctx, false); len(done) > 0 {
			t.Errorf("a record of today is migrated: %v", done)
		}
		if kept, _ := nb.Record(ctx, m, "o"); string(kept.Object) != c.after {
			t.Errorf("the record has %s, want %s", kept.Object, c.after)
		}
		_ = w.Close()
	}
}
