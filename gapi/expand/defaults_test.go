package expand

import (
	"reflect"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
)

func TestDefaultsLeaveWhatAResourceSays(t *testing.T) {
	ds, f := defaults{}, newFindings()
	ds.declare(tree(t, `{"File": {"owner": "root", "meta": {"noop": true}}, "*": {"meta": {"noop": false, "timeout": "1m"}}}`), nil, f)
	says(t, f)
	item := tree(t, `{"name": "/a", "recv": {"mode": "x"}, "meta": {"retry": 1}}`)
	got := ds.of("file", item)
	var v any
	schema.Decode(got, &v)
	want := map[string]any{
		"name": "/a", "owner": "root", "recv": map[string]any{"mode": "x"},
		"meta": map[string]any{"retry": int64(1), "noop": true, "timeout": "1m"},
	}
	if !reflect.DeepEqual(v, want) {
		t.Errorf("%v, want %v", v, want)
	}
	if len(item.Pairs) != 3 {
		t.Error("the node of the document was altered")
	}
	if (defaults{}).of("file", item) != item {
		t.Error("a resource without defaults was copied")
	}
}

func TestDefaultsWithFaults(t *testing.T) {
	ds, f := defaults{}, newFindings()
	noKind := func(kind string) *engine.UnknownKindError {
		if kind == "file" {
			return nil
		}
		return &engine.UnknownKindError{Near: "file"}
	}
	ds.declare(tree(t, `{"fil": {}, "file": {"name": "x"}, "*": {"owner": "root"}}`), noKind, f)
	ds.declare(tree(t, `{"file": {}}`), noKind, f)
	all := messages(f)
	for _, part := range []string{`unknown resource kind "fil"`, "name can't have a default", "may have meta alone", "given twice"} {
		if !strings.Contains(all, part) {
			t.Errorf("%q is missing in:\n%s", part, all)
		}
	}
}
