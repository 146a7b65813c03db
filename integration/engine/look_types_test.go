package engine_test

import (
	"context"
	"testing"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine/provider"
)

// TestLookTypes: a type that is data is read in one transaction, and followed by the
// watch of its provider.
func TestLookTypes(t *testing.T) {
	s := newShelf("a", "b")
	reg := withRec(t, rec(0), func() provider.Provider { return alert{clerk{s}} })
	l := inspector(t, mgmt.Options{Registry: reg})
	same(t, "read", seen(l.Read(t.Context(), target("rec", "a", nil), target("rec", "b", nil), target("rec", "c", nil))),
		[]string{"rec a state=present a=1", "rec b state=present a=1", "rec c state=absent"})
	same(t, "list", seen(l.List(t.Context(), target("rec", "", nil))), []string{"rec a state=present a=1", "rec b state=present a=1"})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var got []string
	for seen, err := range l.Follow(ctx, target("rec", "a", nil)) {
		got = append(got, seenText(seen, err))
		switch len(got) {
		case 1, 2:
			s.put("a", []string{"new", "newer"}[len(got)-1])
			s.news <- []provider.Name{provider.NameOf("a")}
		default:
			cancel()
		}
	}
	same(t, "followed", got, []string{"rec a state=present a=1", "rec a state=present a=new", "rec a state=present a=newer"})
}
