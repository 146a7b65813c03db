package derive_test

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/derive"
)

// one is a type with one field.
func one(typ *schema.Type, change ...func(*schema.Field)) *schema.Type {
	f := &schema.Field{Key: "k", Type: typ}
	for _, do := range change {
		do(f)
	}
	return &schema.Type{Kind: schema.KindStruct, Name: "T", Fields: []*schema.Field{f}}
}

// ruleOf returns the rule of JSON Schema for the field of one.
func ruleOf(t *testing.T, of *schema.Type) string {
	t.Helper()
	text, err := derive.JSONSchema(of)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Properties struct{ K json.RawMessage }
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := json.Compact(&b, doc.Properties.K); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestBoundsOfNumbers: a number is bounded by its own bounds and by its bits, whichever are closer.
func TestBoundsOfNumbers(t *testing.T) {
	whole := func(bits int, unsigned bool, bounds ...int64) *schema.Type {
		ty := &schema.Type{Kind: schema.KindInt, Bits: bits, Unsigned: unsigned}
		if len(bounds) > 0 {
			ty.Min, ty.Max = &bounds[0], &bounds[1]
		}
		return ty
	}
	float := func(bits int, bounds ...float64) *schema.Type {
		ty := &schema.Type{Kind: schema.KindFloat, Bits: bits}
		if len(bounds) > 0 {
			ty.FloatMin, ty.FloatMax = &bounds[0], &bounds[1]
		}
		return ty
	}
	for _, c := range []struct {
		typ  *schema.Type
		want string
	}{
		{whole(64, false), `{"type":"integer"}`},
		{whole(0, false), `{"type":"integer"}`},
		{whole(64, true), `{"type":"integer","minimum":0}`},
		{whole(8, false), `{"type":"integer","minimum":-128,"maximum":127}`},
		{whole(16, false), `{"type":"integer","minimum":-32768,"maximum":32767}`},
		{whole(32, false), `{"type":"integer","minimum":-2147483648,"maximum":2147483647}`},
		{whole(8, true), `{"type":"integer","minimum":0,"maximum":255}`},
		{whole(32, true), `{"type":"integer","minimum":0,"maximum":4294967295}`},
		{whole(8, false, -5, 5), `{"type":"integer","minimum":-5,"maximum":5}`},
		{whole(8, false, -500, 500), `{"type":"integer","minimum":-128,"maximum":127}`},
		{whole(8, true, 1, 300), `{"type":"integer","minimum":1,"maximum":255}`},
		{whole(64, false, math.MinInt64, math.MaxInt64), `{"type":"integer","minimum":-9223372036854775808,"maximum":9223372036854775807}`},
		{whole(64, true, 3, 4), `{"type":"integer","minimum":3,"maximum":4}`},
		{float(64), `{"type":"number"}`},
		{float(64, 0.1, 1e21), `{"type":"number","minimum":0.1,"maximum":1e+21}`},
		{float(32), `{"type":"number","minimum":-3.4028234663852886e+38,"maximum":3.4028234663852886e+38}`},
		{float(32, -1, 0.5), `{"type":"number","minimum":-1,"maximum":0.5}`},
	} {
		if got := ruleOf(t, one(c.typ)); got != c.want {
			t.Errorf("%s: %s, want %s", c.typ, got, c.want)
		}
	}
}

// TestBoundsOfTimes: a bare integer counts in the unit, and no bound lets through what the type refuses.
func TestBoundsOfTimes(t *testing.T) {
	between := func(lo, hi time.Duration, unit string) *schema.Type {
		return &schema.Type{Kind: schema.KindDuration, Unit: unit, Min: new(int64(lo)), Max: new(int64(hi))}
	}
	for _, c := range []struct {
		typ      *schema.Type
		min, max string
		negative bool
	}{
		{between(0, 10*time.Second, ""), "0", "10", false},
		{between(0, 10*time.Second, "ms"), "0", "10000", false},
		{between(1500*time.Millisecond, 2500*time.Millisecond, "s"), "2", "2", false},
		{between(-90*time.Minute, 90*time.Minute, "h"), "-1", "1", true},
		{between(time.Nanosecond, time.Nanosecond, "ns"), "1", "1", false},
	} {
		got := ruleOf(t, one(c.typ))
		var rule struct {
			Pattern          string
			Minimum, Maximum json.Number
		}
		if err := json.Unmarshal([]byte(got), &rule); err != nil {
			t.Fatal(err)
		}
		if rule.Minimum.String() != c.min || rule.Maximum.String() != c.max || strings.HasPrefix(rule.Pattern, "^[-+]?") != c.negative {
			t.Errorf("%s: %s", c.typ, got)
		}
	}
}

// TestNullAndRoles: null is allowed where absence is kept apart, and a role is stated in the words of JSON Schema.
func TestNullAndRoles(t *testing.T) {
	optional := func(ty schema.Type) *schema.Type { ty.Optional = true; return &ty }
	text := schema.Type{Kind: schema.KindString, Enum: []string{"a", "true", "1", "1.50", "null", "x y", "[1]", "{"}}
	for _, c := range []struct {
		typ  *schema.Type
		want string
	}{
		{one(optional(schema.Type{Kind: schema.KindBool})), `{"type":["boolean","null"]}`},
		{one(optional(schema.Type{Kind: schema.KindInt})), `{"type":["integer","null"]}`},
		{one(optional(schema.Type{Kind: schema.KindAny})), `{}`},
		{one(optional(schema.Type{Kind: schema.KindList, Elem: &schema.Type{Kind: schema.KindBool}})), `{"type":["array","null"],"items":{"type":"boolean"}}`},
		{one(&text), `{"enum":["a","true","1","1.50","null","x y","[1]","{",true,1,1.50,[1]]}`},
		{one(optional(text)), `{"enum":["a","true","1","1.50","null","x y","[1]","{",true,1,1.50,[1],null]}`},
		{one(&schema.Type{Kind: schema.KindBool}, func(f *schema.Field) { f.Role = schema.RoleReadOnly }), `{"type":"boolean","readOnly":true}`},
		{one(&schema.Type{Kind: schema.KindBool}, func(f *schema.Field) { f.Role = schema.RoleWriteOnly }), `{"type":"boolean","writeOnly":true}`},
		{one(&schema.Type{Kind: schema.KindBool}, func(f *schema.Field) { f.Deprecated = "use j" }), `{"type":"boolean","deprecated":true}`},
		{one(&schema.Type{Kind: schema.KindBool, Doc: "Of the type."}, func(f *schema.Field) { f.Doc = "Of the field." }), `{"description":"Of the field.","type":"boolean"}`},
		{one(&schema.Type{Kind: schema.KindBool, Doc: "Of the type."}), `{"description":"Of the type.","type":"boolean"}`},
		{one(&schema.Type{Kind: schema.KindMap, Elem: &schema.Type{Kind: schema.KindBool}, Enum: []string{"a", "b"}, Min: new(int64(1)), Max: new(int64(2))}),
			`{"type":["object","null"],"minProperties":1,"maxProperties":2,"propertyNames":{"enum":["a","b"]},"additionalProperties":{"type":"boolean"}}`},
		{one(&schema.Type{Kind: schema.KindDuration}, func(f *schema.Field) {
			f.Default, f.HasDefault = []any{90 * time.Second, map[string]any{"a": schema.Size(1024)}}, true
		}),
			`{"type":["string","integer"],"pattern":"PATTERN","default":["1m30s",{"a":"1KiB"}]}`},
		{one(&schema.Type{Kind: schema.KindString, Secret: true}, func(f *schema.Field) { f.Default, f.HasDefault = schema.NewSecret("canary"), true }), `{"type":["string","number","boolean"]}`},
	} {
		got := ruleOf(t, c.typ)
		if before, after, ok := strings.Cut(c.want, "PATTERN"); ok && strings.HasPrefix(got, before) && strings.HasSuffix(got, after) {
			continue
		}
		if got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.typ.Fields[0].Type, got, c.want)
		}
	}
}

// TestProtobufOfKinds: each kind of value has one form of protobuf, by itself, in a list and in a map.
func TestProtobufOfKinds(t *testing.T) {
	for want, typ := range map[string]*schema.Type{
		"bool":                  {Kind: schema.KindBool},
		"int64":                 {Kind: schema.KindInt, Bits: 8},
		"uint64":                {Kind: schema.KindInt, Bits: 64, Unsigned: true},
		"double":                {Kind: schema.KindFloat, Bits: 32},
		"string":                {Kind: schema.KindString},
		"google.protobuf.Value": {Kind: schema.KindAny},
	} {
		list, dict := &schema.Type{Kind: schema.KindList, Elem: typ}, &schema.Type{Kind: schema.KindMap, Elem: typ}
		text, err := derive.Protobuf("p", "", []derive.Kind{{Name: "t", Type: &schema.Type{Kind: schema.KindStruct, Fields: []*schema.Field{
			{Key: "one", Type: typ}, {Key: "must", Required: true, Type: typ}, {Key: "list", Type: list}, {Key: "map", Type: dict},
			{Key: "lists", Type: &schema.Type{Kind: schema.KindList, Elem: list}}, {Key: "maps", Type: &schema.Type{Kind: schema.KindList, Elem: dict}},
			{Key: "odd", Type: &schema.Type{Kind: schema.KindList, Elem: typ, Opaque: true}},
		}}}})
		if err != nil {
			t.Fatal(err)
		}
		label := "optional "
		if typ.Kind == schema.KindAny {
			label = ""
		}
		for _, line := range []string{
			"  " + label + want + " one = ", "  " + want + " must = ", "  repeated " + want + " list = ", "  map<string, " + want + "> map = ",
			"  repeated google.protobuf.ListValue lists = ", "  repeated google.protobuf.Struct maps = ", "  google.protobuf.Value odd = ",
		} {
			if !strings.Contains(string(text), "\n"+line) {
				t.Errorf("%s lacks %q:\n%s", want, line, text)
			}
		}
	}
	text, err := derive.Protobuf("p", "", []derive.Kind{{Name: "t", Type: one(&schema.Type{Kind: schema.KindDuration})}})
	if err != nil || strings.Contains(string(text), "import") || !strings.Contains(string(text), "optional string k = ") {
		t.Errorf("without values of any shape: %v\n%s", err, text)
	}
}

// TestProtobufNames: each key has a name that protobuf takes, and keys whose names would be one are refused.
func TestProtobufNames(t *testing.T) {
	text, part := &schema.Type{Kind: schema.KindString}, func() *schema.Type { return one(&schema.Type{Kind: schema.KindString}) }
	kind := func(name string, fields ...*schema.Field) []derive.Kind {
		return []derive.Kind{{Name: name, Type: &schema.Type{Kind: schema.KindStruct, Fields: fields}}}
	}
	for key, want := range map[string][2]string{"a": {"A", "a"}, "a-b": {"AB", "a_b"}, "1a": {"M1a", "f_1a"}, "_": {"M", "f_"}, "aB9": {"AB9", "aB9"}, "A": {"A", "A_"}} {
		got, err := derive.Protobuf("p", "", kind("t", &schema.Field{Key: key, Type: part()}))
		if err != nil || !strings.Contains(string(got), "  message "+want[0]+" {\n") || !strings.Contains(string(got), "\n  T."+want[0]+" "+want[1]+" = ") || !strings.Contains(string(got), `[json_name = "`+key+`"];`) {
			t.Errorf("%s: %v\n%s", key, err, got)
		}
	}
	for want, fields := range map[string][]*schema.Field{
		"the keys a-b and a_b have one name in protobuf, a_b": {{Key: "a-b", Type: text}, {Key: "a_b", Type: text}},
		"the keys a-b and aB have one name in protobuf, AB":   {{Key: "a-b", Type: part()}, {Key: "aB", Type: part()}},
		"the keys ab and Ab have one name in protobuf, Ab":    {{Key: "ab", Type: part()}, {Key: "Ab", Type: text}},
	} {
		if got, err := derive.Protobuf("p", "", kind("t", fields...)); err == nil || !strings.HasPrefix(err.Error(), "t: "+want) {
			t.Errorf("%s: %v\n%s", want, err, got)
		}
	}
	if got, err := derive.Protobuf("p", "", kind("1:x")); err != nil || !strings.Contains(string(got), "message M1X {") {
		t.Errorf("a kind that begins with a digit: %v\n%s", err, got)
	}
}
