package expand

import (
	"reflect"
	"slices"
	"testing"

	"github.com/reactivegraph/mgmt/engine/schema"
)

func TestInputsNoteEachFileOnce(t *testing.T) {
	s := &shelf{files: map[string]string{"a": "1", "b": "{"}}
	in, f := newInputs(optionsOf(s)), newFindings()
	from := schema.Pos{File: "graph", Line: 3}
	if n, ok := in.document("a", from, false, f); !ok || n.Text != "1" {
		t.Errorf("a is %v, %v", n, ok)
	}
	if n, ok := in.document("none", from, true, f); !ok || n != nil {
		t.Errorf("an optional file that is missing is %v, %v", n, ok)
	}
	says(t, f)
	for _, path := range []string{"none", "broken"} {
		if n, ok := in.document(path, from, path == "broken", f); ok || n != nil {
			t.Errorf("%s is %v, %v", path, n, ok)
		}
	}
	says(t, f, "can't read none: file does not exist", "can't read broken: permission denied")
	if _, ok := in.document("b", from, false, f); !ok || f.Errors() != 3 {
		t.Errorf("a file that is no document: %v, %d errors", ok, f.Errors())
	}
	var paths []string
	for _, file := range in.files {
		paths = append(paths, file.Path)
	}
	if !slices.Equal(paths, []string{"a", "none", "broken", "b"}) {
		t.Errorf("noted %v", paths)
	}
	if src, ok := in.known("a"); !ok || string(src) != "1" {
		t.Errorf("known is %q, %v", src, ok)
	}
	if _, ok := in.known("none"); ok {
		t.Error("a file that is missing counts as known, so it would never be read again")
	}
}

func TestInputsTellFacts(t *testing.T) {
	in := newInputs(&Options{})
	all := map[string]any{"os": "linux", "cpus": int64(4)}
	in.facts["os"], in.facts["gpu"] = true, true
	if got := in.factsOf(all); !reflect.DeepEqual(got, map[string]any{"os": "linux", "gpu": nil}) {
		t.Errorf("read %v: a fact that is missing is noted, since it may come", got)
	}
	in.all = true
	if got := in.factsOf(all); !reflect.DeepEqual(got, all) {
		t.Errorf("read %v", got)
	}
}
