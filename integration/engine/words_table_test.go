package engine_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi/words"
)

// fieldOf returns a parameter of one of our kinds.
func fieldOf(t *testing.T, kind, key string) *schema.Field {
	t.Helper()
	k, err := engine.DefaultRegistry().Kind(kind)
	if err != nil {
		t.Errorf("there is no kind %q", kind)
		return nil
	}
	return k.Type.Field(key)
}

// Every row of the table leads to something that there is, and shadows no word of ours.
func TestFindingD4Table(t *testing.T) {
	all := words.All()
	if len(all) < 500 {
		t.Fatalf("%d rows", len(all))
	}
	for _, w := range all {
		kind, key, value := strings.Cut(w.Place, ".")
		switch {
		case w.Place == "kind":
			checkKindWord(t, w)
		case strings.HasPrefix(w.Place, "absent "), strings.HasPrefix(w.Place, "differs "):
			_, kind, _ = strings.Cut(kind, " ")
			for k := range strings.SplitSeq(key, "+") {
				if fieldOf(t, kind, k) == nil {
					t.Errorf("%+v: no such parameter", w)
				}
			}
		case kind == "top" || kind == "name" || w.Refused() || w.Dropped() || w.Func() != "":
		case kind == "each":
			if !slices.Contains(append([]string{"state"}, schema.ReservedKeys...), w.Name()) {
				t.Errorf("%+v: no key of every resource", w)
			}
		case kind == "meta":
			m, err := schema.TypeOf(&engine.MetaParams{})
			if err != nil || m.Field(w.Name()) == nil && !value {
				t.Errorf("%+v: no metaparameter", w)
			}
		case value:
			checkValueWord(t, w, kind, key)
		case fieldOf(t, kind, w.Name()) == nil:
			t.Errorf("%+v: no such parameter", w)
		case fieldOf(t, kind, w.Theirs) != nil && fieldOf(t, kind, w.Theirs).Key == w.Theirs:
			t.Errorf("%+v: the word is one of ours, so the row never counts", w)
		}
	}
}

func checkKindWord(t *testing.T, w *words.Word) {
	t.Helper()
	if w.Refused() || strings.HasPrefix(w.Name(), "docker_") {
		return
	}
	if _, err := engine.DefaultRegistry().Kind(w.Theirs); err == nil && w.Theirs != w.Name() {
		t.Errorf("%+v: the word is one of ours, so the row never counts", w)
	}
	for _, s := range w.Sets() {
		f := fieldOf(t, w.Name(), s.Key)
		if f == nil || len(f.Type.Enum) > 0 && !slices.Contains(f.Type.Enum, s.Value) {
			t.Errorf("%+v: %s is no %s", w, s.Value, s.Key)
		}
	}
	if _, err := engine.DefaultRegistry().Kind(w.Name()); err != nil {
		t.Errorf("%+v: %v", w, err)
	}
}

func checkValueWord(t *testing.T, w *words.Word, kind, key string) {
	t.Helper()
	f := fieldOf(t, kind, key)
	if f == nil || len(f.Type.Enum) > 0 && !slices.Contains(f.Type.Enum, w.Name()) {
		t.Errorf("%+v: no such value", w)
	}
	for _, s := range w.Sets() {
		if fieldOf(t, kind, s.Key) == nil {
			t.Errorf("%+v: no such parameter", w)
		}
	}
}
