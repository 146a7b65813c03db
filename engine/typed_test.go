package engine_test

import (
	"context"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/traits"
)

// dataRes is a resource whose type is data.
type dataRes struct {
	traits.Base
	schema.Data
}

func (*dataRes) Default() engine.Res                            { return nil }
func (*dataRes) Validate() error                                { return nil }
func (*dataRes) Init(*engine.Init) error                        { return nil }
func (*dataRes) Cleanup() error                                 { return nil }
func (*dataRes) Watch(context.Context) error                    { return nil }
func (*dataRes) CheckApply(context.Context, bool) (bool, error) { return true, nil }
func (d *dataRes) Cmp(o engine.Res) error                       { return engine.CmpFields(d, o) }
func (d *dataRes) Sends() any                                   { return d.Data }

// dataType is a type with a text, a number up to a bound, and what can only be read.
func dataType(t *testing.T, bound int64) *schema.Type {
	t.Helper()
	ty, err := schema.Build(&schema.Type{Kind: schema.KindStruct, Name: "data", Fields: []*schema.Field{
		{Key: "text", Type: &schema.Type{Kind: schema.KindString}, Required: true},
		{Key: "size", Type: &schema.Type{Kind: schema.KindInt, Max: &bound}, Default: 7},
		{Key: "seen", Type: &schema.Type{Kind: schema.KindInt}, Role: schema.RoleReadOnly},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return ty
}

func newData(t *testing.T, ty *schema.Type, values map[string]any) *dataRes {
	t.Helper()
	d := &dataRes{Data: ty.New()}
	d.SetKind("data")
	for key, v := range values {
		if err := schema.Set(d, key, v); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

func TestCmpFieldsOfData(t *testing.T) {
	ty := dataType(t, 10)
	a := newData(t, ty, map[string]any{"text": "x", "seen": 1})
	for want, b := range map[string]*dataRes{
		"":                             newData(t, ty, map[string]any{"text": "x", "seen": 2}),
		"text differs":                 newData(t, ty, map[string]any{"text": "y"}),
		"size differs":                 newData(t, dataType(t, 10), map[string]any{"text": "x", "size": 9}),
		"the type data is another one": newData(t, dataType(t, 11), map[string]any{"text": "x"}),
	} {
		got := ""
		if err := a.Cmp(b); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if err := a.Cmp(newData(t, dataType(t, 10), map[string]any{"text": "x"})); err != nil {
		t.Errorf("of a type that was read anew: %v", err)
	}
}

func TestDataIsSent(t *testing.T) {
	d := newData(t, dataType(t, 10), map[string]any{"text": "x"})
	a, err := engine.AbilitiesOf(d)
	if err != nil || a.Sends != d.Type {
		t.Errorf("it sends %v, %v", a.Sends, err)
	}
	child := (&engine.Init{}).Child(d)
	if err := child.Send(d); err != nil {
		t.Fatal(err)
	}
	if err := schema.Set(d, "text", "y"); err != nil {
		t.Fatal(err)
	}
	if v, err := schema.Get(child.Sent(), "text"); v != "x" || err != nil {
		t.Errorf("what was sent has become %v, %v", v, err)
	}
}

func TestReservedInData(t *testing.T) {
	ty, err := schema.Build(&schema.Type{Kind: schema.KindStruct, Fields: []*schema.Field{{Key: "notify", Type: &schema.Type{}}}})
	if err != nil {
		t.Fatal(err)
	}
	reg := engine.NewRegistry()
	if err := reg.Register("data", func() engine.Res { return &dataRes{Data: ty.New()} }); err != nil {
		t.Fatal(err)
	}
	if _, err := reg.Kind("data"); err == nil {
		t.Error("a kind has a parameter notify")
	}
}
