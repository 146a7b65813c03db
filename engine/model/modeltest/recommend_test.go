package modeltest

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/model/store"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/memory"
)

// TestUnseenRecommendations plays scenarios that testdata does not have. Each shows faults of the old system in other
// models and other steps.
func TestUnseenRecommendations(t *testing.T) {
	for name, text := range map[string]string{
		"create twice, with a version, and delete": `{"models": {"M": {"table": "m", "bases": ["Topic", "Version"], "fields": {"a": {"type": "int"}}}}, "steps": [
			{"op": "nb.create", "obj": {"$m": "M", "id": "x", "topic": "t", "a": 1}, "expect": {"ok": true}},
			{"op": "nb.create", "obj": {"$m": "M", "id": "x", "topic": "u"}, "expect": {"ok": true}},
			{"op": "nb.get", "obj": {"$m": "M", "id": "x"}, "expect": {"obj": {"id": "x", "topic": "u", "version": 1}}},
			{"op": "nb.update", "obj": {"$m": "M", "id": "x", "a": 2, "version": 9}, "expect": {"ok": true}},
			{"op": "db.raw", "table": "m", "key": "x", "expect": {"value": {"id": "x", "topic": "u", "a": 2, "version": 9}}},
			{"op": "nb.get_all", "model": "M", "expect": {"ids": ["x"]}},
			{"op": "nb.delete", "obj": {"$m": "M", "id": "x"}, "expect": {"ok": true}},
			{"op": "published", "expect": {"events": [
				{"table": "m", "key": "x", "action": "create", "topic": "t", "value": {"id": "x", "topic": "t", "a": 1, "version": 1}},
				{"table": "m", "key": "x", "action": "create", "topic": "u", "value": {"id": "x", "topic": "u", "version": 1}},
				{"table": "m", "key": "x", "action": "set", "topic": "u", "value": {"id": "x", "topic": "u", "a": 2, "version": 9}},
				{"table": "m", "key": "x", "action": "delete", "topic": "D", "value": null}]}}]}`,
		"a list twice, and an empty one": `{"models": {"M": {"table": "m", "bases": ["Topic"], "indexes": {"i": ["l", "topic"]}, "fields": {"l": {"type": "list", "of": {"type": "string"}}}}}, "steps": [
			{"op": "store.update", "obj": {"$m": "M", "id": "x", "topic": "t", "l": ["a", "b"]}, "expect": {"ok": true}},
			{"op": "store.update", "obj": {"$m": "M", "id": "y", "topic": "t", "l": []}, "expect": {"ok": true}},
			{"op": "store.get_all", "index": "i", "obj": {"$m": "M", "topic": "t", "l": ["a", "b"]}, "expect": {"ids": ["x", "x"]}},
			{"op": "store.get_first", "index": "i", "obj": {"$m": "M", "topic": "t", "l": ["b", "a"]}, "expect": {"id": "x"}},
			{"op": "store.get_all", "index": "i", "obj": {"$m": "M", "topic": "t"}, "expect": {"ids": []}},
			{"op": "store.get_all", "index": "topic", "obj": {"$m": "M"}, "expect": {"error": "validation"}}]}`,
		"behind a list of references": `{"models": {"N": {"table": "n", "fields": {"s": {"type": "string"}}},
				"P": {"table": "p", "indexes": {"i": "ns.s"}, "fields": {"ns": {"type": "reflist", "model": "N"}}}}, "steps": [
			{"op": "store.update", "obj": {"$m": "P", "id": "p", "ns": ["a"]}, "expect": {"error": "ref_not_found"}},
			{"op": "store.update", "obj": {"$m": "N", "id": "a", "s": "old"}, "expect": {"ok": true}},
			{"op": "store.update", "obj": {"$m": "N", "id": "b", "s": "new"}, "expect": {"ok": true}},
			{"op": "store.update", "obj": {"$m": "P", "id": "p", "ns": ["a"]}, "expect": {"ok": true}},
			{"op": "store.update", "obj": {"$m": "N", "id": "a", "s": "new"}, "expect": {"ok": true}},
			{"op": "store.get_one", "index": "i", "obj": {"$m": "P", "ns": ["b"]}, "expect": {"obj": null}}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			s := &scenario{Recommend: "as a sound system"}
			if err := decodeNumbers([]byte(text), s); err != nil {
				t.Fatal(err)
			}
			c := Config{Stores: []NamedStore{{"maps", func() model.Store { return store.Maps() }}}, Worlds: []NamedWorld{{"memory", func() (world.World, error) { return memory.New(), nil }}}}
			if err := play(t.Context(), s, c, c.Stores[0], c.Worlds[0]); err != nil {
				t.Error(err)
			}
			s.Recommend = ""
			if err := play(t.Context(), s, c, c.Stores[0], c.Worlds[0]); err == nil {
				t.Error("the faults of the old system are expected, and the run passes")
			}
		})
	}
}

// TestPaperJudges: an outcome that is neither seen nor recommended fails, whatever the scenario recommends.
func TestPaperJudges(t *testing.T) {
	p := told{got: outcome{"ids": []string{"a", "b"}}}
	for want, fits := range map[string]bool{`{"ids": ["a", "b"]}`: true, `{"ids": ["a", "a", "b"]}`: false, `{"ids": ["b"]}`: false, `{"error": "conflict"}`: false} {
		var expected map[string]any
		if err := json.Unmarshal([]byte(want), &expected); err != nil {
			t.Fatal(err)
		}
		if got := p.fits(expected, nil); got != fits {
			t.Errorf("%s: %t", want, got)
		}
	}
	if err := compare((told{code: model.Conflict}).instead(map[string]any{"ok": true}), done, nil, false); err == nil || !strings.Contains(err.Error(), "no error") {
		t.Error("a conflict that did not come:", err)
	}
	if err := compare(map[string]any{"error": "conflict"}, nil, errors.New("other"), false); err == nil {
		t.Error("an error of no class passes for a conflict")
	}
}
