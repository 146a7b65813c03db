package plugintest

import (
	"testing"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// TestFindingN6Samples: invented inputs have the patterns, the notations and the bounds of their schema.
func TestFindingN6Samples(t *testing.T) {
	text := func(pattern string, bounds ...int64) *schema.Type {
		out := &schema.Type{Kind: schema.KindString, Pattern: pattern}
		if len(bounds) > 0 {
			out.Min = &bounds[0]
		}
		if len(bounds) > 1 {
			out.Max = &bounds[1]
		}
		return out
	}
	types := []*schema.Type{
		text("^[0-9a-f]{8}$"), text(`^vol-[0-9]+$`), text(`^(tcp|udp)$`), text(`^\d{1,3}(\.\d{1,3}){3}$`), text("^[^a-z0-9]$"), text("^[A-Z][a-z]*$", 5, 5), text("x"),
		text(`^arn:[a-z]+:[\w-]*$`, 40), text("^((a*)*)*b$", 30), text("", 0, 3), text("", 200, 220), text("^mgmt"), text("(?i)^ABC$"), text("^(?:[a-z]{2,4}|[0-9])?$", 4),
		{Kind: schema.KindFloat, FloatMax: new(0.5)}, {Kind: schema.KindFloat, FloatMin: new(7.5)}, {Kind: schema.KindInt, Max: new(int64(-3))},
		{Kind: schema.KindList, Min: new(int64(3)), Elem: text("^[0-9]{2}$")}, {Kind: schema.KindList, Max: new(int64(0)), Elem: text("")},
		{Kind: schema.KindMap, Min: new(int64(2)), Elem: text("^a$")},
		{Kind: schema.KindStruct, Fields: []*schema.Field{{Key: "a", Required: true, Type: text("^[0-9]{4}$")}}},
	}
	for name := range schema.Formats {
		types = append(types, &schema.Type{Kind: schema.KindString, Format: name})
	}
	for _, of := range types {
		v := sampleOf(of, "mgmt-test-ABCDEFGH")
		if ds := schema.Check(of, v); ds.Err() != nil {
			t.Errorf("%+v: %v: %v", of, v, ds)
		}
	}
	// Where nothing that it tries fits, the name goes out, and the provider says what it wants.
	if got := sampleOf(text(`^a$`, 5), "the name"); got != "the name" {
		t.Errorf("no text fits, and the sample is %v", got)
	}
}
