package bag_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/bag"
)

// rule is a struct within the thing, and within itself.
type rule struct {
	Port  int    `yaml:"port" mgmt:"required,min=1,max=65535"`
	Proto string `yaml:"proto" mgmt:"enum=tcp|udp"`
	Or    *rule  `yaml:"or"`
}

// thing is a resource with a property of each kind.
type thing struct {
	Name  string            `yaml:"name" mgmt:"required"`
	On    bool              `yaml:"on"`
	Share float64           `yaml:"share"`
	Rules []rule            `yaml:"rules" mgmt:"max=2"`
	Tags  map[string]string `yaml:"tags"`
	Any   any               `yaml:"any"`
	ARN   string            `yaml:"arn" mgmt:"readonly"`
}

func typeOf[T any](t *testing.T) *schema.Type {
	t.Helper()
	typ, err := schema.OfType(reflect.TypeFor[T]())
	if err != nil {
		t.Fatal(err)
	}
	return typ
}

func bagOf(t *testing.T, text string) (b map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &b); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return b
}

// TestCheck: each broken rule of a type is found at its path, all of them at once and in the order of the type.
func TestCheck(t *testing.T) {
	for text, want := range map[string]string{
		`{"name": "a"}`:                         "",
		`{"name": ""}`:                          "",
		`{"name": null}`:                        "V_MISSING name",
		`{}`:                                    "V_MISSING name",
		`{"name": 1, "on": "yes"}`:              "V_TYPE name, V_TYPE on",
		`{"name": "a", "on": null, "tags": {}}`: "",
		`{"name": "a", "share": 0.5, "any": [1, {}]}`:                            "",
		`{"name": "a", "share": true}`:                                           "V_TYPE share",
		`{"name": "a", "arn": "x"}`:                                              "V_OUT arn",
		`{"nmae": "a", "b": 1}`:                                                  "V_MISSING name, V_UNKNOWN b, V_UNKNOWN nmae",
		`{"name": "a", "rules": [{"port": 80}]}`:                                 "",
		`{"name": "a", "rules": [{"port": 80.5}]}`:                               "V_TYPE rules[0].port",
		`{"name": "a", "rules": [{"port": "80"}]}`:                               "V_TYPE rules[0].port",
		`{"name": "a", "rules": [{"port": 0}]}`:                                  "V_RANGE rules[0].port",
		`{"name": "a", "rules": [{"port": 65536}]}`:                              "V_RANGE rules[0].port",
		`{"name": "a", "rules": {"port": 80}}`:                                   "V_TYPE rules",
		`{"name": "a", "rules": [{}, 1, {}]}`:                                    "V_LENGTH rules, V_MISSING rules[0].port, V_TYPE rules[1], V_MISSING rules[2].port",
		`{"name": "a", "rules": [{"port":1,"proto":"x"}]}`:                       "V_ENUM rules[0].proto",
		`{"name": "a", "tags": {"b": 1, "a": []}}`:                               "V_TYPE tags.a, V_TYPE tags.b",
		`{"name": "a", "rules": [{"port":1,"or":{"port":2,"or":{"prot":"x"}}}]}`: "V_MISSING rules[0].or.or.port, V_UNKNOWN rules[0].or.or.prot",
	} {
		var got []string
		for _, p := range bag.Check(typeOf[thing](t), bagOf(t, text)) {
			got = append(got, p.Class+" "+p.Path)
			if p.Message == "" || strings.Contains(p.Message, "nmae") {
				t.Errorf("%s: %s: the message is %q", text, p.Path, p.Message)
			}
		}
		if s := strings.Join(got, ", "); s != want {
			t.Errorf("%s:\ngot  %s\nwant %s", text, s, want)
		}
	}
}

// TestKeysOfAMap: a map with an enum has no other keys, and the key that was meant is said.
func TestKeysOfAMap(t *testing.T) {
	typ := &schema.Type{Kind: schema.KindStruct, Fields: []*schema.Field{{Key: "ports", Type: &schema.Type{
		Kind: schema.KindMap, Enum: []string{"tcp", "udp"}, Elem: &schema.Type{Kind: schema.KindFloat},
	}}}}
	if got := bag.Check(typ, bagOf(t, `{"ports": {"tcp": 1}}`)); len(got) > 0 {
		t.Errorf("%+v", got)
	}
	got := bag.Check(typ, bagOf(t, `{"ports": {"tpc": 1, "udp": "x"}}`))
	if len(got) != 2 || got[0].Class != bag.Unknown || got[0].Path != "ports.tpc" || !strings.Contains(got[0].Message, "did you mean tcp?") || got[1].Path != "ports.udp" {
		t.Errorf("%+v", got)
	}
}

// TestPending: a property whose value comes later is not missing, at the top alone.
func TestPending(t *testing.T) {
	if got := bag.Check(typeOf[thing](t), bagOf(t, `{}`), "name"); len(got) > 0 {
		t.Errorf("%+v", got)
	}
	if got := bag.Check(typeOf[thing](t), bagOf(t, `{"rules": [{}]}`), "name", "port"); len(got) != 1 || got[0].Path != "rules[0].port" {
		t.Errorf("%+v", got)
	}
}

// TestNumbers: a number is judged alike in each form that Go has for it.
func TestNumbers(t *testing.T) {
	typ := typeOf[rule](t)
	for _, v := range []any{80, int64(80), uint16(80), 80.0, json.Number("80"), json.Number("8e1")} {
		if got := bag.Check(typ, map[string]any{"port": v}); len(got) > 0 {
			t.Errorf("%T %v: %+v", v, v, got)
		}
	}
	for _, v := range []any{json.Number("80.5"), json.Number("x"), 80.5, true, struct{}{}} {
		if got := bag.Check(typ, map[string]any{"port": v}); len(got) != 1 || got[0].Class != bag.Type {
			t.Errorf("%T %v: %+v", v, v, got)
		}
	}
}

// TestCompare: only inputs that the type has and that differ count, and one of them that cannot be altered makes a
// replacement. A type that stands for the struct around it is compared by the fields of that one.
func TestCompare(t *testing.T) {
	typ := typeOf[thing](t)
	typ.Field("name").Replaces = true
	for _, c := range []struct{ old, wanted, changed, action string }{
		{`{"name": "a"}`, `{"name": "a"}`, "", "none"},
		{`{"name": "a", "on": null}`, `{"name": "a"}`, "", "none"},
		{`{"name": "a", "arn": "x", "odd": 1}`, `{"name": "a"}`, "", "none"},
		{`{"name": "a"}`, `{"name": "a", "tags": {}}`, "tags", "update"},
		{`{"rules": [{"port": 1}, {"port": 2}]}`, `{"rules": [{"port": 2}, {"port": 1}]}`, "rules", "update"},
		{`{"tags": {"a": "1", "b": "2"}}`, `{"tags": {"b": "2", "a": "1"}}`, "", "none"},
		{`{"name": "a", "on": true}`, `{"name": "b", "on": false}`, "name on", "replace"},
	} {
		got := bag.Compare(typ, bagOf(t, c.old), bagOf(t, c.wanted))
		if strings.Join(got.Changed, " ") != c.changed || got.Action != c.action ||
			(len(got.Replaces) > 0) != (c.action == "replace") || slices.Contains(got.Replaces, "on") {
			t.Errorf("%s to %s: %+v", c.old, c.wanted, got)
		}
	}
	inner := typeOf[rule](t).Field("or").Type
	if got := bag.Compare(inner, bagOf(t, `{"port": 1}`), bagOf(t, `{"port": 2}`)); got.Action != "update" {
		t.Errorf("a struct within itself: %+v", got)
	}
}
