package expand

import (
	"reflect"
	"strings"
	"testing"
)

func TestDataMergesLayers(t *testing.T) {
	s := &shelf{files: map[string]string{
		"exact":   `{"first": 1, "list": ["a"], "map": {"x": {"p": 1}}, "odd": ["a"]}`,
		"general": `{"first": 2, "list": ["b"], "map": {"x": {"p": 2, "q": 3}, "y": 4}, "odd": 5, "own": true}`,
	}}
	in, f := newInputs(optionsOf(s)), newFindings()
	var d data
	d.declare(&Document{}, tree(t, `{"files": ["exact", "none", "general"], "merge": {"list": "append", "map": "deep", "odd": "append"}}`), f)
	values, ok := d.load(in, f, func(l layer) (string, bool) { return l.path.Text, true })
	if !ok {
		t.Error("a missing layer counts as a fault")
	}
	want := map[string]any{
		"first": int64(1), "list": []any{"a", "b"}, "odd": []any{"a"}, "own": true,
		"map": map[string]any{"x": map[string]any{"p": int64(1), "q": int64(3)}, "y": int64(4)},
	}
	if !reflect.DeepEqual(values, want) {
		t.Errorf("%v, want %v", values, want)
	}
	sources, how := d.explain([]string{"own"}, f)
	if how != "first" || len(sources) != 3 || sources[0].Value != nil || !sources[1].Missing || sources[2].Value != true {
		t.Errorf("explained as %s: %+v", how, sources)
	}
	says(t, f)
}

func TestDataWithFaults(t *testing.T) {
	in, f := newInputs(optionsOf(&shelf{files: map[string]string{"list": "[]"}})), newFindings()
	var d data
	d.declare(&Document{}, tree(t, `{"files": ["broken", "list", "fault"], "merge": {"k": "deeply"}, "file": 1}`), f)
	_, ok := d.load(in, f, func(l layer) (string, bool) { return l.path.Text, l.path.Text != "fault" })
	if ok {
		t.Error("no fault is told")
	}
	all := messages(f)
	for _, part := range []string{"can't read broken", "a file of data is a map", "a key is merged as", `unknown key "file" in data`} {
		if !strings.Contains(all, part) {
			t.Errorf("%q is missing in:\n%s", part, all)
		}
	}
}
