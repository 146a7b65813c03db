package bag_test

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/bag"
)

// limits has a property for each kind of bound.
type limits struct {
	Share  float64           `yaml:"share" mgmt:"min=0.5,max=1.5"`
	Count  int               `yaml:"count" mgmt:"min=2,max=4"`
	Floor  int               `yaml:"floor" mgmt:"min=2"`
	Top    int               `yaml:"top" mgmt:"max=4"`
	Text   string            `yaml:"text" mgmt:"min=2,max=4"`
	Least  string            `yaml:"least" mgmt:"min=2"`
	Most   string            `yaml:"most" mgmt:"max=4"`
	List   []any             `yaml:"list" mgmt:"min=1,max=2"`
	Map    map[string]string `yaml:"map" mgmt:"min=1,max=2"`
	Word   string            `yaml:"word" mgmt:"pattern=^[a-z]+$"`
	Addr   string            `yaml:"addr" mgmt:"format=ip"`
	Choice string            `yaml:"choice" mgmt:"enum=a|b"`
	To     schema.Ref        `yaml:"to" mgmt:"target=file"`
	Any    schema.Ref        `yaml:"any"`
	Flag   bool              `yaml:"flag"`
}

// found returns the classes and paths of the problems of a bag, and fails where a message has no text.
func found(t *testing.T, typ *schema.Type, props map[string]any) string {
	t.Helper()
	var got []string
	for _, p := range bag.Check(typ, props) {
		got = append(got, strings.TrimPrefix(p.Class, "V_")+" "+p.Path)
		if !strings.HasPrefix(p.Message, "it must be ") && !strings.HasPrefix(p.Message, "there is no") {
			t.Errorf("%s: the message is %q", p.Path, p.Message)
		}
	}
	return strings.Join(got, ", ")
}

// TestBounds: each bound is inclusive, and holds alone as well as with the other one. Lengths of texts count characters.
func TestBounds(t *testing.T) {
	typ := typeOf[limits](t)
	for _, c := range []struct{ good, bad, class string }{
		{`{"share": 0.5}`, `{"share": 0.49}`, "RANGE"},
		{`{"share": 1.5}`, `{"share": 1.51}`, "RANGE"},
		{`{"share": 1}`, `{"share": 2}`, "RANGE"},
		{`{"count": 2}`, `{"count": 1}`, "RANGE"},
		{`{"count": 4}`, `{"count": 5}`, "RANGE"},
		{`{"count": 3.0}`, `{"count": 3.5}`, "TYPE"},
		{`{"floor": 2}`, `{"floor": 1}`, "RANGE"},
		{`{"floor": 1e15}`, `{"floor": -1e15}`, "RANGE"},
		{`{"top": 4}`, `{"top": 5}`, "RANGE"},
		{`{"top": -9}`, `{"top": 9}`, "RANGE"},
		{`{"text": "ab"}`, `{"text": "a"}`, "LENGTH"},
		{`{"text": "abcd"}`, `{"text": "abcde"}`, "LENGTH"},
		{`{"text": "äöüß"}`, `{"text": "ä"}`, "LENGTH"},
		{`{"least": "ab"}`, `{"least": "a"}`, "LENGTH"},
		{`{"most": ""}`, `{"most": "abcde"}`, "LENGTH"},
		{`{"list": [1]}`, `{"list": []}`, "LENGTH"},
		{`{"list": [1, 2]}`, `{"list": [1, 2, 3]}`, "LENGTH"},
		{`{"map": {"a": "1"}}`, `{"map": {}}`, "LENGTH"},
		{`{"map": {"a": "1", "b": "2"}}`, `{"map": {"a": "1", "b": "2", "c": "3"}}`, "LENGTH"},
		{`{"word": "abc"}`, `{"word": "ABC"}`, "PATTERN"},
		{`{"addr": "::1"}`, `{"addr": "1.2.3"}`, "PATTERN"},
		{`{"choice": "a"}`, `{"choice": "c"}`, "ENUM"},
		{`{"to": "file[/a]"}`, `{"to": "svc[a]"}`, "REF_TYPE"},
		{`{"to": "file[/a].path"}`, `{"to": "svc[a].path"}`, "REF_TYPE"},
		{`{"to": "urn:p::File::a"}`, `{"to": "urn:p::Svc::a"}`, "REF_TYPE"},
		{`{"to": "urn:p::File::a::b"}`, `{"to": "urn:p::Svc::file::file"}`, "REF_TYPE"},
		{`{"to": "urn:p"}`, `{"to": "p"}`, "TYPE"},
		{`{"any": "svc[a]"}`, `{"any": "svc"}`, "TYPE"},
		{`{"any": "urn:p::Svc::a"}`, `{"any": 1}`, "TYPE"},
		{`{"flag": false}`, `{"flag": 0}`, "TYPE"},
		{`{"flag": true}`, `{"flag": "true"}`, "TYPE"},
		{`{"text": "ab"}`, `{"text": true}`, "TYPE"},
		{`{"list": [null]}`, `{"list": {}}`, "TYPE"},
		{`{"map": {"a": "1"}}`, `{"map": ["a"]}`, "TYPE"},
		{`{"count": 3}`, `{"count": []}`, "TYPE"},
		{`{"share": 1}`, `{"share": {}}`, "TYPE"},
	} {
		if got := found(t, typ, bagOf(t, c.good)); got != "" {
			t.Errorf("%s: %s", c.good, got)
		}
		key := strings.SplitN(c.bad, `"`, 3)[1]
		if got, want := found(t, typ, bagOf(t, c.bad)), c.class+" "+key; got != want {
			t.Errorf("%s: %s, want %s", c.bad, got, want)
		}
	}
}

// TestOneProblemEach: a value of another type has no second problem, and a list with a wrong length has those of its items too.
func TestOneProblemEach(t *testing.T) {
	typ := typeOf[limits](t)
	for text, want := range map[string]string{
		`{"count": "five", "text": 1, "list": "x", "map": 7, "addr": [], "choice": 0, "to": {}}`: "TYPE count, TYPE text, TYPE list, TYPE map, TYPE addr, TYPE choice, TYPE to",
		`{"map": {"a": 1, "b": null, "c": "x"}}`:                                                 "LENGTH map, TYPE map.a, TYPE map.b",
		`{"word": "", "addr": "", "choice": ""}`:                                                 "PATTERN word, PATTERN addr, ENUM choice",
		`{"Count": 3}`:                                                                           "UNKNOWN Count",
	} {
		if got := found(t, typ, bagOf(t, text)); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", text, got, want)
		}
	}
}

// TestMeant: an unknown key is told with the key that was probably meant, if there is one.
func TestMeant(t *testing.T) {
	typ := typeOf[limits](t)
	for key, want := range map[string]string{"cuont": "there is no such property; did you mean count?", "zzzzzzzz": "there is no such property"} {
		got := bag.Check(typ, map[string]any{key: 1})
		if len(got) != 1 || got[0] != (bag.Problem{Class: bag.Unknown, Path: key, Message: want}) {
			t.Errorf("%s: %+v", key, got)
		}
	}
}

// TestNoNumbers: what is no finite number of JSON is of no number's type, and a message shows no value.
func TestNoNumbers(t *testing.T) {
	typ := typeOf[limits](t)
	for _, v := range []any{math.NaN(), math.Inf(1), math.Inf(-1), json.Number("1e400"), json.Number("canary"), make(chan int), new(int), [2]int{}, "canary"} {
		for _, key := range []string{"share", "count"} {
			got := bag.Check(typ, map[string]any{key: v})
			if len(got) != 1 || got[0].Class != bag.Type || strings.Contains(got[0].Message, "canary") {
				t.Errorf("%s of %T: %+v", key, v, got)
			}
		}
	}
	big := &schema.Type{Kind: schema.KindStruct, Fields: []*schema.Field{{Key: "n", Type: &schema.Type{Kind: schema.KindInt, Bits: 64}}}}
	for _, v := range []any{int64(math.MinInt64), uint64(math.MaxUint64), json.Number("9007199254740993"), 1e300, float32(3)} {
		if got := bag.Check(big, map[string]any{"n": v}); len(got) > 0 {
			t.Errorf("%T %v: %+v", v, v, got)
		}
	}
}

// TestBrokenPattern: a pattern that is none matches nothing; the check ends with a problem and no panic.
func TestBrokenPattern(t *testing.T) {
	typ := &schema.Type{Kind: schema.KindStruct, Fields: []*schema.Field{{Key: "s", Type: &schema.Type{Kind: schema.KindString, Pattern: "("}}}}
	if got := bag.Check(typ, map[string]any{"s": "("}); len(got) != 1 || got[0].Class != bag.Pattern {
		t.Errorf("%+v", got)
	}
}

// TestNoValueIsShown: whatever is wrong with a secret, no message has a part of it.
func TestNoValueIsShown(t *testing.T) {
	typ := typeOf[limits](t)
	for _, f := range typ.Fields {
		for _, v := range []any{"canary", []any{"canary", "canary", "canary"}, map[string]any{"a": []any{"canary"}}, json.Number("canary")} {
			for _, p := range bag.Check(typ, map[string]any{f.Key: v}) {
				if strings.Contains(fmt.Sprint(p), "canary") {
					t.Errorf("%s of %T: %+v", f.Key, v, p)
				}
			}
		}
	}
}

// TestCompareKinds: two bags are alike if each input is, whatever form of Go a number has; a list is ordered, and a map is not.
func TestCompareKinds(t *testing.T) {
	typ := typeOf[limits](t)
	for _, c := range []struct {
		old, wanted any
		same        bool
	}{
		{1, 1.0, true},
		{json.Number("1"), int64(1), true},
		{json.Number("10"), json.Number("1e1"), true},
		{1, 1.5, false},
		{"1", 1, false},
		{"1", json.Number("1"), false},
		{json.Number("9007199254740993"), json.Number("9007199254740992"), false},
		{map[string]any{"a": []any{json.Number("2.50")}}, map[string]any{"a": []any{2.5}}, true},
		{nil, "", false},
		{nil, []any{}, false},
		{nil, false, false},
		{[]any{1, 2}, []any{1.0, 2.0}, true},
		{[]any{1, 2}, []any{1, 2, 3}, false},
		{map[string]any{"a": 1, "b": nil}, map[string]any{"b": nil, "a": 1}, true},
	} {
		got := bag.Compare(typ, map[string]any{"list": c.old}, map[string]any{"list": c.wanted})
		back := bag.Compare(typ, map[string]any{"list": c.wanted}, map[string]any{"list": c.old})
		if same := got.Action == "none"; same != c.same || !reflect.DeepEqual(got, back) {
			t.Errorf("%v and %v: %+v, and back %+v", c.old, c.wanted, got, back)
		}
	}
}
