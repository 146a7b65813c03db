package engine_test

import (
	"context"
	"iter"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
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
func (*allRes) UIDs() []engine.ResUID                                                    { return nil }
func (*allRes) AutoEdges() (engine.AutoEdge, error)                                      { return nil, nil }
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

// TestStatedWithoutMethods: what is stated and cannot be called is an error that says what.
func TestStatedWithoutMethods(t *testing.T) {
	r := &allRes{dataRes: dataRes{Data: dataType(t, 9).New()}, says: engine.Abilities{Readable: true, Shared: true, Groupable: true, Overlapping: true, Unwatched: true, Collectable: true}}
	r.SetKind("all")
	_, err := engine.AbilitiesOf(r)
	if want := "a all states that it is groupable, shared, and has not the methods of that"; err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
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
