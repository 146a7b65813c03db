package engine_test

import (
	"context"
	"iter"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/autoedge"
	"github.com/reactivegraph/mgmt/traits"
)

// allRes has the methods of many abilities, and those abilities that it states.
type allRes struct {
	dataRes
	traits.Refreshable
	traits.Recvable
	says engine.Abilities
}

func (a *allRes) Abilities() engine.Abilities                                            { return a.says }
func (*allRes) UIDs() []autoedge.UID                                                     { return nil }
func (*allRes) AutoEdges() (autoedge.Needs, error)                                       { return nil, nil }
func (*allRes) Clashes(engine.Res) error                                                 { return nil }
func (*allRes) Leaving() bool                                                            { return true }
func (*allRes) GroupKey() string                                                         { return "k" }
func (*allRes) CheckApplyBatch(context.Context, bool, []engine.Res) (o []engine.Outcome) { return o }
func (*allRes) Reversed(engine.Res) (engine.Res, error)                                  { return nil, nil }
func (*allRes) Undone() bool                                                             { return true }
func (*allRes) Read(context.Context) (engine.Res, error)                                 { return nil, nil }
func (*allRes) List(context.Context) iter.Seq2[engine.Res, error]                        { return nil }
func (*allRes) Backends() []string                                                       { return nil }
func (*allRes) Doc() string                                                              { return "all" }
func (*allRes) Targeted() bool                                                           { return true }
func (*allRes) Target() string                                                           { return "router" }
func (*allRes) Overlaps() bool                                                           { return true }
func (*allRes) WatchesNothing() bool                                                     { return true }
func (*allRes) Collects() bool                                                           { return true }

func has[T any](r engine.Res) bool { _, ok := engine.As[T](r); return ok }

// TestStatedAbilities: what a resource does not state it cannot do, though it has the methods; what it states it
// can; and one that states nothing is asked by its methods.
func TestStatedAbilities(t *testing.T) {
	r := &allRes{dataRes: dataRes{Data: dataType(t, 9).New()}}
	for name, c := range map[string]struct {
		set func(*engine.Abilities)
		can func(engine.Res) bool
	}{
		"refreshable": {func(a *engine.Abilities) { a.Refreshable = true }, has[engine.RefreshableRes]},
		"recvable":    {func(a *engine.Abilities) { a.Recvable = true }, has[engine.RecvableRes]},
		"sendable":    {func(a *engine.Abilities) { a.Sends = dataType(t, 9) }, has[engine.SendableRes]},
		"edgeable":    {func(a *engine.Abilities) { a.Edgeable = true }, has[engine.EdgeableRes]},
		"leaving":     {func(a *engine.Abilities) { a.Edgeable = true }, has[engine.LeavingRes]},
		"clashing":    {func(a *engine.Abilities) { a.Clashing = true }, has[engine.ClashingRes]},
		"batcher":     {func(a *engine.Abilities) { a.Batcher = true }, has[engine.Batcher]},
		"reversible":  {func(a *engine.Abilities) { a.Reversible = true }, has[engine.ReversibleRes]},
		"undoing":     {func(a *engine.Abilities) { a.Reversible = true }, has[engine.UndoingRes]},
		"readable":    {func(a *engine.Abilities) { a.Readable = true }, has[engine.Readable]},
		"listable":    {func(a *engine.Abilities) { a.Listable = true }, has[engine.Listable]},
		"virtual":     {func(a *engine.Abilities) { a.Virtual = true }, has[engine.VirtualRes]},
		"targeted":    {func(a *engine.Abilities) { a.Targeted = true }, has[engine.TargetedRes]},
		"a target": {func(a *engine.Abilities) { a.Targeted = true }, func(r engine.Res) bool {
			t, ok := engine.As[engine.TargetedRes](r)
			return ok && t.Target() == "router"
		}},
		"overlapping": {func(a *engine.Abilities) { a.Overlapping = true }, has[engine.OverlappingRes]},
		"unwatched":   {func(a *engine.Abilities) { a.Unwatched = true }, has[engine.UnwatchedRes]},
		"collectable": {func(a *engine.Abilities) { a.Collectable = true }, has[engine.CollectableRes]},
	} {
		if r.says = (engine.Abilities{}); c.can(r) {
			t.Errorf("%s: it can, and does not say so", name)
		}
		if c.set(&r.says); !c.can(r) {
			t.Errorf("%s: it says that it can", name)
		}
		if got, err := engine.AbilitiesOf(r); err != nil || got != r.says {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if !has[engine.DescribedRes](r) {
		t.Error("what no ability stands for has to be stated")
	}
	if has[engine.Readable](&dataRes{}) || has[engine.Readable](nil) {
		t.Error("what has no methods can read")
	}
}

// statingRes states abilities, and has no methods of any.
type statingRes struct {
	plainRes
	says engine.Abilities
}

func (s *statingRes) Abilities() engine.Abilities { return s.says }

// wrongSends sends a value that is no struct, and does not state that it sends.
type wrongSends struct{ statingRes }

func (*wrongSends) Sends() any { return 7 }

// TestUnstatedIsNotAsked: a method of an ability that a resource does not state is not called.
func TestUnstatedIsNotAsked(t *testing.T) {
	if a, err := engine.AbilitiesOf(&wrongSends{}); err != nil || a != (engine.Abilities{}) {
		t.Errorf("%+v, %v", a, err)
	}
}

// TestStatedWithoutMethods: what is stated and cannot be called is an error that says what.
func TestStatedWithoutMethods(t *testing.T) {
	r := &allRes{dataRes: dataRes{Data: dataType(t, 9).New()}, says: engine.Abilities{Readable: true, Shared: true, Groupable: true, Overlapping: true, Unwatched: true, Collectable: true}}
	r.SetKind("all")
	_, err := engine.AbilitiesOf(r)
	if want := "a all states that it is groupable, shared, and has not the methods of that"; err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
	bare := &statingRes{says: engine.Abilities{Targeted: true, Sends: dataType(t, 9)}}
	bare.SetKind("bare")
	if _, err = engine.AbilitiesOf(bare); err == nil || !strings.Contains(err.Error(), "is sendable, targeted, and has not") {
		t.Error(err)
	}
	reg := engine.NewRegistry()
	if err := reg.Register("all", func() engine.Res {
		return &allRes{dataRes: dataRes{Data: dataType(t, 9).New()}, says: engine.Abilities{Shared: true}}
	}); err == nil {
		_, err = reg.Kind("all")
		if err == nil || !strings.Contains(err.Error(), "shared") {
			t.Error("the registry takes it:", err)
		}
	}
}

// TestAbilityKey: resources of one type that state different abilities have different keys, and equal ones the same.
func TestAbilityKey(t *testing.T) {
	data := dataType(t, 9).New()
	made := func(says engine.Abilities) *allRes { return &allRes{dataRes: dataRes{Data: data}, says: says} }
	a, same, other := made(engine.Abilities{Readable: true}), made(engine.Abilities{Readable: true}), made(engine.Abilities{})
	if engine.AbilityKeyOf(a) != engine.AbilityKeyOf(same) || engine.AbilityKeyOf(a) == engine.AbilityKeyOf(other) {
		t.Error("the key does not tell what is stated")
	}
	if engine.AbilityKeyOf(&plainRes{}) != engine.AbilityKeyOf(&plainRes{}) || engine.AbilityKeyOf(&plainRes{}) == engine.AbilityKeyOf(&allRes{}) {
		t.Error("the key does not tell the type")
	}
}

// TestStatesOther: a difference of one ability counts, and so does one of the type of the sent values, but not a copy of that type.
func TestStatesOther(t *testing.T) {
	r := &allRes{dataRes: dataRes{Data: dataType(t, 9).New()}, says: engine.Abilities{Readable: true, Sends: dataType(t, 9)}}
	for name, c := range map[string]struct {
		than  engine.Abilities
		other bool
	}{
		"the same":          {engine.Abilities{Readable: true, Sends: dataType(t, 9)}, false},
		"one ability less":  {engine.Abilities{Sends: dataType(t, 9)}, true},
		"one ability more":  {engine.Abilities{Readable: true, Listable: true, Sends: dataType(t, 9)}, true},
		"nothing sent":      {engine.Abilities{Readable: true}, true},
		"other sent values": {engine.Abilities{Readable: true, Sends: dataType(t, 8)}, true},
	} {
		if engine.StatesOther(r, c.than) != c.other {
			t.Errorf("%s: other is %t, want %t", name, !c.other, c.other)
		}
	}
	if engine.StatesOther(&plainRes{}, engine.Abilities{Readable: true}) {
		t.Error("a resource without a statement states another thing")
	}
}

func BenchmarkAs(b *testing.B) {
	var r engine.Res = &allRes{}
	b.Run("stated", func(b *testing.B) {
		for b.Loop() {
			has[engine.RefreshableRes](r)
		}
	})
	r = &dataRes{}
	b.Run("methods", func(b *testing.B) {
		for b.Loop() {
			has[engine.RefreshableRes](r)
		}
	})
}
