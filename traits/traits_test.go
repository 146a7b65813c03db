package traits_test

import (
	"context"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/traits"
)

func (*all) Default() engine.Res                            { return &all{} }
func (*all) Validate() error                                { return nil }
func (*all) Init(*engine.Init) error                        { return nil }
func (*all) Cleanup() error                                 { return nil }
func (*all) Watch(context.Context) error                    { return nil }
func (*all) CheckApply(context.Context, bool) (bool, error) { return true, nil }
func (*all) Cmp(engine.Res) error                           { return nil }

type all struct {
	traits.Base
	traits.Refreshable
	traits.Sendable
	traits.Recvable
	traits.Edgeable
	traits.Groupable
	traits.Reversible
	traits.Overlapping
	traits.Collectable
}

func TestBase(t *testing.T) {
	a := &all{}
	a.SetKind("kind")
	a.SetName("a[b]")
	if a.Kind() != "kind" || a.Name() != "a[b]" || a.String() != "kind[a[b]]" {
		t.Errorf("%s", a)
	}
	if m := a.MetaParams(); m == nil || m != a.MetaParams() || m.Cmp(new(engine.MetaParams)) != nil {
		t.Errorf("metaparameters %+v", m)
	}
	m := &engine.MetaParams{Retry: 3}
	a.SetMetaParams(m)
	m.Retry = 4
	if a.MetaParams().Retry != 3 {
		t.Error("SetMetaParams does not keep a copy of its own")
	}
	if a.SetMetaParams(nil); !a.MetaParams().Equal(new(engine.MetaParams)) {
		t.Error("nil is not the defaults")
	}
}

// TestMetaParamsAreShared: what is shared is not copied, and a copy of a resource, or new metaparameters, alter nothing
// of it. Seen failing with: MetaParams without the look at whose they are.
func TestMetaParamsAreShared(t *testing.T) {
	shared := &engine.MetaParams{Retry: 3}
	a, b := &all{}, &all{}
	a.ShareMetaParams(shared)
	b.ShareMetaParams(shared)
	if a.MetaParams() != shared || b.MetaParams() != shared {
		t.Error("they are copied")
	}
	c := *a
	c.MetaParams().Retry = 4
	b.SetMetaParams(&engine.MetaParams{Retry: 5})
	if a.MetaParams().Retry != 3 || b.MetaParams().Retry != 5 || c.MetaParams().Retry != 4 || shared.Retry != 3 {
		t.Errorf("%d %d %d", a.MetaParams().Retry, b.MetaParams().Retry, c.MetaParams().Retry)
	}
}

func TestDefaultsOfTheOthers(t *testing.T) {
	a := &all{}
	a.SetRefresh(true)
	recv := map[string]*engine.Send{"k": {}}
	a.SetRecv(recv)
	a.SetGroup([]engine.Res{nil})
	edges, err := a.AutoEdges()
	switch {
	case !a.Refresh():
		t.Error("Refresh")
	case a.Recv()["k"] != recv["k"]:
		t.Error("Recv")
	case len(a.Group()) != 1 || a.GroupKey() != engine.GroupByCmp || a.GroupCmp(a) == nil:
		t.Error("Group")
	case edges != nil || err != nil || a.UIDs() != nil:
		t.Error("Edges")
	case a.Sends() != nil:
		t.Error("Sends")
	case !a.Overlaps() || !a.Collects():
		t.Error("marks")
	}
}

// TestUnwatched: it says so, and its Watch ends with the context.
func TestUnwatched(t *testing.T) {
	var u traits.Unwatched
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- u.Watch(ctx) }()
	select {
	case err := <-done:
		t.Fatalf("Watch ended before its context: %v", err)
	case <-time.After(10 * time.Millisecond):
	}
	cancel()
	if err := <-done; err != nil || !u.WatchesNothing() {
		t.Errorf("Watch ended with %v", err)
	}
}

// TestOverwritten: a resource is copied as a whole by an UnmarshalYAML of its own;
// what the engine sets afterwards holds. (vet's copylocks sees that no trait has
// a lock.)
func TestOverwritten(t *testing.T) {
	a := &all{}
	a.SetKind("x")
	type raw all
	*a = all(raw(all{}))
	a.SetKind("y")
	if a.Kind() != "y" {
		t.Error(a.Kind())
	}
}

// TestMetaParamsAreLent: what is lent is read without a copy. A call of MetaParams makes one, which is the resource's own.
func TestMetaParamsAreLent(t *testing.T) {
	common := &engine.MetaParams{Retry: 3}
	a, b := &all{}, &all{}
	for _, r := range []*all{a, b} {
		if r.LentMetaParams() != nil {
			t.Error("a new resource has borrowed some")
		}
		r.LendMetaParams(common)
		if r.LentMetaParams() != common || engine.MetaOf(r) != common {
			t.Error("they are copied")
		}
	}
	c := *a
	a.MetaParams().Retry = 4
	c.MetaParams().Retry = 5
	if a.LentMetaParams() != nil || engine.MetaOf(a) != a.MetaParams() {
		t.Error("its own ones are taken for borrowed ones")
	}
	if a.MetaParams().Retry != 4 || b.MetaParams().Retry != 3 || c.MetaParams().Retry != 5 || common.Retry != 3 {
		t.Errorf("%d %d %d %d", a.MetaParams().Retry, b.MetaParams().Retry, c.MetaParams().Retry, common.Retry)
	}
}
