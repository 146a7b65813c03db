package collect_test

import (
	"slices"
	"testing"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi/collect"
)

// found makes collected resources of pairs of an id and a print.
func found(pairs ...string) (list []collect.Collected) {
	for pair := range slices.Chunk(pairs, 2) {
		list = append(list, collect.Collected{ID: pair[0], From: "other", Print: pair[1]})
	}
	return list
}

// ids returns the ids of collected resources.
func ids(list []collect.Collected) (out []string) {
	for _, f := range list {
		out = append(out, f.ID)
	}
	return out
}

// TestStanding: what changes and what goes is told by the exports of a moment and by what took effect before.
func TestStanding(t *testing.T) {
	var s collect.Standing
	check := func(now []collect.Collected, changed, gone []string) {
		t.Helper()
		if got := ids(s.Changed(now)); !slices.Equal(got, changed) {
			t.Errorf("changed are %v, want %v", got, changed)
		}
		if got := s.Gone(now); !slices.Equal(got, gone) {
			t.Errorf("gone are %v, want %v", got, gone)
		}
	}
	check(found("a", "1"), []string{"a"}, nil)
	s.Add(found("a", "1", "b", "1", "c", "1"))
	check(found("a", "2", "b", "1"), []string{"a"}, []string{"c"})
	check(nil, nil, []string{"a", "b", "c"})
	s.Remove([]string{"c", "unknown"})
	check(found("a", "1", "c", "1"), []string{"c"}, []string{"b"})
	s.Replace(found("d", "1"))
	check(found("d", "1"), nil, nil)
	if s.Has("a") || !s.Has("d") {
		t.Error("a whole graph replaces everything")
	}
}

// TestUntold: a finding is told once until it changes, or a whole graph takes effect.
func TestUntold(t *testing.T) {
	var s collect.Standing
	one, other := schema.Diagnostic{Resource: "a", Message: "one"}, schema.Diagnostic{Resource: "a", Message: "other"}
	for i, c := range []struct {
		note  schema.Diagnostic
		whole bool
		told  int
	}{{one, false, 1}, {one, false, 0}, {other, false, 1}, {one, false, 1}, {one, true, 1}} {
		if c.whole {
			s.Replace(nil)
		}
		if got := s.Untold(schema.Diagnostics{c.note}); len(got) != c.told {
			t.Errorf("step %d: told %v", i, got)
		}
	}
}

// TestWithout: a resource that was put aside is a warning, and the others stay.
func TestWithout(t *testing.T) {
	rest, notes := collect.Without(found("a", "1", "b", "1"), map[string]schema.Diagnostics{"a": {{Message: "it is bad"}}})
	if !slices.Equal(ids(rest), []string{"b"}) || len(notes) != 1 || notes[0].Message != "a of the host other is left out: it is bad" {
		t.Errorf("left are %v, with %v", ids(rest), notes)
	}
}
