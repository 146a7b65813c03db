package reversal_test

import (
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reversal"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// data is a resource whose type is data, of which nothing but the parameters is asked.
type data struct {
	engine.Res
	schema.Data
}

func (*data) Default() engine.Res { return nil }

func (*data) MetaParams() *engine.MetaParams { return new(engine.MetaParams) }

// TestTakeOfData: the image holds what is not the default, and what must be given.
func TestTakeOfData(t *testing.T) {
	ty, err := schema.Build(&schema.Type{Kind: schema.KindStruct, Name: "data", Fields: []*schema.Field{
		{Key: "text", Type: &schema.Type{Kind: schema.KindString}, Required: true},
		{Key: "size", Type: &schema.Type{Kind: schema.KindInt}, Default: 7},
		{Key: "seen", Type: &schema.Type{Kind: schema.KindInt}, Role: schema.RoleReadOnly},
	}})
	if err != nil {
		t.Fatal(err)
	}
	was := &data{Data: ty.New()}
	for key, v := range map[string]any{"text": "x", "size": 8} {
		if err := schema.Set(was, key, v); err != nil {
			t.Fatal(err)
		}
	}
	img, err := reversal.Take(&data{Data: ty.New()}, was, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !schema.Equal(img.Declared, map[string]any{"text": ""}) || !schema.Equal(img.Was, map[string]any{"text": "x", "size": 8}) {
		t.Errorf("declared %v, was %v", img.Declared, img.Was)
	}
}
