package engine_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/internal/await"
)

// TestFindingG6MembersOfGroups: the members of an automatic group are known by their own names, and the answers say which
// resource runs them. A name that is nowhere is an error as before.
func TestFindingG6MembersOfGroups(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), await.Left())
	defer cancel()
	e, err := mgmt.Open(ctx, mgmt.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { cancel(); _ = e.Wait() }()
	d := noops(3)
	d.Resources = append(d.Resources, gapi.Declaration{Kind: "print", Name: "p"})
	if _, err := e.Apply(ctx, d); err != nil {
		t.Fatal(err)
	}
	owner, members, ok := groupOf(t, e, "noop[n1]")
	if !ok || owner != "noop[n0]" || !slices.Equal(members, []string{"noop[n1]", "noop[n2]"}) {
		t.Fatalf("%s has %v, %t", owner, members, ok)
	}
	for _, m := range append(members, owner) {
		st, err := e.Status(ctx, m)
		if err != nil || st.Resource != owner || (st.Member == m) == (m == owner) {
			t.Errorf("the state of %s is %+v, %v", m, st, err)
		}
		if err := e.Pause(ctx, reactor.Pause{Resource: m, Reason: "of " + m}); err != nil {
			t.Error(err)
		}
		if st, err := e.Status(ctx, owner); err != nil || st.Pause == nil || st.Pause.Reason != "of "+m || st.Pause.Resource != owner {
			t.Errorf("paused by %s: %+v, %v", m, st, err)
		}
		if _, err := e.Resume(ctx, reactor.Named(m)); err != nil {
			t.Error(err)
		}
		if st, err := e.Status(ctx, owner); err != nil || st.State == resgraph.StatePaused {
			t.Errorf("resumed by %s: %+v, %v", m, st, err)
		}
		if _, err := e.Retry(ctx, reactor.Named(m)); !isNotFailed(err, owner) {
			t.Errorf("retry of %s: %v", m, err)
		}
	}
	if owner, members, ok := groupOf(t, e, "print[p]"); !ok || owner != "print[p]" || len(members) > 0 {
		t.Errorf("the group of a single resource is %s of %v, %t", owner, members, ok)
	}
	_, err1 := e.Status(ctx, "noop[n9]")
	err2 := e.Pause(ctx, reactor.Pause{Resource: "noop[n9]"})
	if _, _, ok := groupOf(t, e, "noop[n9]"); ok {
		t.Error("a name that is nowhere has a group")
	}
	for _, err := range []error{err1, err2} {
		if u, ok := errors.AsType[*reactor.UnknownResourceError](err); !ok || u.Resource != "noop[n9]" {
			t.Errorf("of a name that is nowhere: %v", err)
		}
	}
}

// groupOf returns what Running.Group says of a resource.
func groupOf(t *testing.T, e *mgmt.Engine, id string) (owner string, members []string, ok bool) {
	t.Helper()
	if err := e.Look(t.Context(), func(g mgmt.Running) error { owner, members, ok = g.Group(id); return nil }); err != nil {
		t.Error(err)
	}
	return owner, members, ok
}

// isNotFailed reports whether an error says that this resource has not failed.
func isNotFailed(err error, resource string) bool {
	e, ok := errors.AsType[*reactor.NotFailedError](err)
	return ok && e.Resource == resource
}
