package schema_test

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/reactivegraph/mgmt/engine/schema"
)

func TestEncode(t *testing.T) {
	k := kitchen{State: "absent", Content: new(""), Huge: math.MaxUint64, Thin: .5, Mode: "0644", Args: []string{}, Env: map[string]string{"a": ""},
		Items: []item{{}}, Free: map[string]any{"n": 3, "d": time.Second, "l": []string{"x"}, "p": new(uint8(7)), "z": nil}, Token: schema.NewSecret("s")}
	got, err := schema.Encode(&k)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"state": "absent", "content": "", "huge": uint64(math.MaxUint64), "thin": .5, "mode": schema.Mode("0644"), "token": k.Token,
		"env": map[string]any{"a": ""}, "items": []any{map[string]any{"name": "", "count": int64(0)}},
		"free": map[string]any{"n": int64(3), "d": time.Second, "l": []any{"x"}, "p": int64(7), "z": nil}}
	if diff := cmp.Diff(want, got, cmp.Comparer(schema.Secret.Equal)); diff != "" {
		t.Error(diff)
	}
	all, err := schema.EncodeAll(&k)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(all.(map[string]any)); n != len(typeOf[kitchen](t).Fields)-1 { // all but maybe, which is nil
		t.Errorf("EncodeAll gives %d keys", n)
	}
	if all.(map[string]any)["args"] == nil || all.(map[string]any)["limit"] != schema.Size(0) {
		t.Error("EncodeAll leaves out what is empty")
	}
}

type stubborn struct{ A string }

func (stubborn) MarshalText() ([]byte, error)  { return nil, fmt.Errorf("never") }
func (*stubborn) UnmarshalText(b []byte) error { panic("never") }

func TestEncodeErrors(t *testing.T) {
	loop := map[string]any{}
	loop["x"] = loop
	ring := []any{nil}
	ring[0] = ring
	for name, v := range map[string]any{
		"a channel": make(chan int),
		"a loop":    loop,
		"a ring":    ring,
		"inside":    &kitchen{Free: func() {}},
		"deep":      &kitchen{Free: loop},
		"its own":   &struct{ S stubborn }{S: stubborn{"x"}},
		"in a list": []any{struct{ F func() }{}},
		"in a map":  map[string]stubborn{"a": {}},
	} {
		if got, err := schema.EncodeAll(v); err == nil {
			t.Errorf("%s: %v", name, got)
		}
		if _, err := schema.NodeOf(v); err == nil {
			t.Errorf("%s: NodeOf gives no error", name)
		}
		if schema.Equal(v, v) {
			t.Errorf("%s equals itself", name)
		}
	}
	var s struct{ S stubborn }
	ds := schema.Decode(dict("s", str("x")), &s)
	if len(ds) != 1 || ds[0].Message != "s: UnmarshalText panicked: never" {
		t.Errorf("got %v", ds)
	}
}

func TestEncodeChanged(t *testing.T) {
	base := &kitchen{State: "exists", Content: new("a"), Args: []string{"x"}}
	got, err := schema.EncodeChanged(&kitchen{State: "exists", Small: 3, Args: []string{}}, base)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"small": int64(3), "content": nil, "args": []any{}}, got); diff != "" {
		t.Error(diff)
	}
	n, _ := schema.NodeOf(got)
	if ds := schema.Decode(n, base); len(ds) > 0 || base.Small != 3 || base.Content != nil || len(base.Args) != 0 {
		t.Errorf("decoded into base: %v, %+v", ds, base)
	}
	if _, err := schema.EncodeChanged(base, &FooRes{}); err == nil {
		t.Error("two types are compared")
	}
	if _, err := schema.EncodeChanged(base, (*kitchen)(nil)); err == nil {
		t.Error("nil is compared")
	}
}

// text draws any bytes, as names on Unix are.
var text = rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 9), func(b []byte) string { return string(b) }))

func duration(lo, hi time.Duration) *rapid.Generator[time.Duration] {
	return rapid.Map(rapid.Int64Range(int64(lo), int64(hi)), func(i int64) time.Duration { return time.Duration(i) })
}

var plainValue = anyPlain(2)

func anyPlain(depth int) *rapid.Generator[any] {
	box := []*rapid.Generator[any]{
		rapid.Just[any](nil),
		rapid.Map(rapid.Bool(), func(v bool) any { return v }),
		rapid.Map(rapid.Int64(), func(v int64) any { return v }),
		rapid.Map(rapid.Uint64Min(1<<63), func(v uint64) any { return v }),
		rapid.Map(rapid.Float64(), func(v float64) any { return v }),
		rapid.Map(text, func(v string) any { return v }),
		rapid.Map(text, func(v string) any { return schema.NewSecret(v) }),
		rapid.Map(duration(-math.MaxInt64, math.MaxInt64), func(v time.Duration) any { return v }),
		rapid.Map(rapid.Int64(), func(v int64) any { return schema.Size(v) }),
		rapid.Just[any](schema.Mode("u+x")),
		rapid.Just[any](schema.Ref{Kind: "a", Name: "b"}),
	}
	if depth > 0 {
		inner := anyPlain(depth - 1)
		box = append(box,
			rapid.Map(rapid.SliceOfN(inner, 0, 3), func(v []any) any { return v }),
			rapid.Map(rapid.MapOfN(text, inner, 0, 3), func(v map[string]any) any { return v }))
	}
	return rapid.OneOf(box...)
}

func drawItem(rt *rapid.T, label string) item {
	return item{Name: text.Draw(rt, label+" name"), Count: rapid.Int8Max(100).Draw(rt, label+" count")}
}

func drawKitchen(rt *rapid.T) *kitchen {
	k := &kitchen{
		common:  common{Owner: text.Draw(rt, "owner"), Group: text.Draw(rt, "group")},
		Path:    text.Draw(rt, "path"),
		State:   rapid.SampledFrom([]string{"exists", "absent", "undefined"}).Draw(rt, "state"),
		Lang:    rapid.Bool().Draw(rt, "lang"),
		Small:   rapid.Int8().Draw(rt, "small"),
		Port:    rapid.Uint16Range(1, 65000).Draw(rt, "port"),
		Huge:    rapid.Uint64().Draw(rt, "huge"),
		Ratio:   rapid.Float64Range(0, 1).Draw(rt, "ratio"),
		Thin:    rapid.Float32().Draw(rt, "thin"),
		Delay:   duration(0, math.MaxInt64).Draw(rt, "delay"),
		Shift:   duration(-time.Hour, time.Hour).Draw(rt, "shift"),
		Limit:   schema.Size(rapid.Int64Min(0).Draw(rt, "limit")),
		Mode:    rapid.SampledFrom([]schema.Mode{"", "0644", "4755", "u=rwX,go=rX"}).Draw(rt, "mode"),
		After:   rapid.SampledFrom([]schema.Ref{{}, {Kind: "a", Name: "b]["}, {Kind: "a", Name: "b", Key: "c"}}).Draw(rt, "after"),
		Token:   schema.NewSecret(text.Draw(rt, "token")),
		When:    time.Unix(rapid.Int64Range(0, 1<<33).Draw(rt, "when"), 0).UTC(),
		Raw:     []byte(text.Draw(rt, "raw")),
		Args:    rapid.SliceOfN(text, 0, 3).Draw(rt, "args"),
		Env:     rapid.MapOfN(text, text, 0, 3).Draw(rt, "env"),
		Sub:     drawItem(rt, "sub"),
		Free:    plainValue.Draw(rt, "free"),
		Items:   []item{},
		private: "",
	}
	if rapid.Bool().Draw(rt, "optional") {
		k.Content, k.Maybe = new(text.Draw(rt, "content")), new(drawItem(rt, "maybe"))
	}
	for range rapid.IntRange(0, 2).Draw(rt, "items") {
		k.Items = append(k.Items, drawItem(rt, "item"))
	}
	return k
}

// TestRoundTrip turns a struct into values, those into a Node, and that into a
// struct again.
func TestRoundTrip(t *testing.T) {
	ty := typeOf[kitchen](t)
	rapid.Check(t, func(rt *rapid.T) {
		k := drawKitchen(rt)
		v, err := schema.EncodeAll(k)
		if err != nil {
			rt.Fatal(err)
		}
		if ds := schema.Check(ty, v); len(ds) > 0 {
			rt.Fatalf("Check: %v", ds)
		}
		n, err := schema.NodeOf(v)
		if err != nil {
			rt.Fatal(err)
		}
		plain, ds := schema.Value(ty, n)
		if len(ds) > 0 || !schema.Equal(plain, v) || !schema.Equal(v, k) || !schema.Equal(schema.Clone(v), v) {
			rt.Fatalf("Value gives %v for %v, %v", plain, v, ds)
		}
		var back kitchen
		if ds := schema.Decode(n, &back); len(ds) > 0 {
			rt.Fatalf("Decode: %v", ds)
		}
		if d := schema.Diff(ty, k, &back); len(d) > 0 {
			rt.Fatalf("differs: %v", d)
		}
		if d := schema.Diff(ty, v, &back); len(d) > 0 {
			rt.Fatalf("as plain values it differs: %v", d)
		}
	})
}

// TestRoundTripSparse does the same with Encode, whose result leaves out zeros.
func TestRoundTripSparse(t *testing.T) {
	type loose struct {
		A int
		B *int
		C []int
		D map[string]*bool
		E struct{ F, G string }
		H *struct{ I any }
		J time.Duration
	}
	ty := typeOf[loose](t)
	rapid.Check(t, func(rt *rapid.T) {
		var l loose
		l.A = rapid.IntRange(0, 2).Draw(rt, "a")
		l.C = rapid.SliceOfN(rapid.Int(), 0, 2).Draw(rt, "c")
		l.E.F = rapid.SampledFrom([]string{"", "x"}).Draw(rt, "f")
		if rapid.Bool().Draw(rt, "set") {
			l.B = new(rapid.IntRange(0, 2).Draw(rt, "b"))
			l.D = map[string]*bool{"x": nil, "y": new(false)}
			l.H = &struct{ I any }{plainValue.Draw(rt, "i")}
		}
		v, err := schema.Encode(&l)
		if err != nil {
			rt.Fatal(err)
		}
		n, _ := schema.NodeOf(v)
		var back loose
		if ds := schema.Decode(n, &back); len(ds) > 0 {
			rt.Fatal(ds)
		}
		if d := schema.Diff(ty, &l, &back); len(d) > 0 {
			rt.Fatalf("%v: %v", v, d)
		}
	})
}

func TestCheckAndValue(t *testing.T) {
	ty := typeOf[kitchen](t)
	ds := schema.Check(ty, map[string]any{
		"stat":    1,
		"port":    70000,
		"delay":   -time.Second,
		"mode":    5,
		"state":   "exist",
		"content": 7,
		"force":   "yes",
		"limit":   time.Second,
		"items":   []any{map[string]any{"name": true}},
		"env":     map[string]any{"a b": 1.5},
		"token":   schema.NewSecret("hush"),
		"when":    schema.NewSecret("hush"),
		"args":    []string{"fine"},
		"small":   uint64(math.MaxUint64),
		"thin":    0.1,
		"ratio":   int64(1),
		"after":   schema.Ref{Kind: "a", Name: "b"},
		"owner":   schema.Mode("0644"),
	})
	got := strings.Join(lines(ds), "\n")
	for _, want := range []string{
		`unknown key "stat" (did you mean "state"?)`, "port must be a whole number from 1 to 65000, not 70000", "delay is -1s, it must not be negative",
		`mode must be a mode such as "0644" or u=rwX,go=rX, not 5`, `state must be one of exists, absent, undefined, not "exist" (did you mean "exists"?)`,
		"content must be text or null, not 7", `force must be true or false, not the text "yes"`, `limit must be a size such as 64k or 10MiB, not the text "1s"`,
		"items[0].name must be text, not true", `env["a b"] must be text, not 1.5`, "when must be text, not that text",
		"small must be a whole number from -128 to 127, not 18446744073709551615", "thin must be a number, not 0.1, which is not exact in 32 bits",
		`owner must be text, not the text "0644"`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("missing: %s", want)
		}
	}
	if len(ds) != 14 || strings.Contains(got, "hush") {
		t.Errorf("%d findings:\n%s", len(ds), got)
	}
	if ds := schema.Check(ty, make(chan int)); ds.Err() == nil {
		t.Error("a channel is fine")
	}
	v, ds := schema.Value(ty, dict(
		"port", num("0x50"),
		"env", dict("A", num("1")),
		"content", null(),
		"sub", null(),
		"args", null(),
		"huge", num("18446744073709551615"),
	))
	want := map[string]any{
		"port":    int64(80),
		"env":     map[string]any{"A": "1"},
		"content": nil,
		"huge":    uint64(math.MaxUint64),
	}
	if got := lines(ds); len(got) != 1 || got[0] != "g:4:9: sub.name is required: text" {
		t.Error(got)
	}
	delete(v.(map[string]any), "sub")
	if diff := cmp.Diff(want, v); diff != "" {
		t.Error(diff)
	}
}

func TestNumbers(t *testing.T) {
	type numbers struct {
		I int64
		U uint8
		F float64
		A any
		N int `mgmt:"min=-5,max=-1"`
	}
	for _, tc := range []struct {
		key  string
		n    *schema.Node
		want any // a value, or the message
	}{
		{"i", num("0x7f"), int64(127)},
		{"i", num("-0b11"), int64(-3)},
		{"i", num("0o17"), int64(15)},
		{"i", num("1_000"), int64(1000)},
		{"i", num("+5"), int64(5)},
		{"i", num("-9223372036854775808"), int64(math.MinInt64)},
		{"i", num("9223372036854775808"), "i must be a whole number from -9223372036854775808 to 9223372036854775807, not 9223372036854775808"},
		{"i", num("99999999999999999999"), "i must be a whole number from -9223372036854775808 to 9223372036854775807, not 99999999999999999999"},
		{"i", flt("1e3"), int64(1000)},
		{"i", flt("1.5"), "i must be a whole number, not 1.5"},
		{"i", flt("1e16"), "i must be a whole number, not 1e16, which is not exact; write it without a point or an exponent"},
		{"i", flt("1e999999999"), "i must be a whole number, not 1e999999999"},
		{"i", flt(".inf"), "i must be a whole number, not .inf"},
		{"i", flt("-0.0"), int64(0)},
		{"i", num("08"), "i must be a whole number, not 08"},
		{"i", num(""), "i must be a whole number, not "},
		{"i", num("--5"), "i must be a whole number, not --5"},
		{"i", str("5"), `i must be a whole number, not the text "5"; leave out the quotes`},
		{"i", boo("true"), "i must be a whole number, not true"},
		{"i", num(strings.Repeat("9", 200)), "i must be a whole number, not " + strings.Repeat("9", 40) + "..."},
		{"u", num("255"), uint8(255)},
		{"u", num("-0"), uint8(0)},
		{"u", num("256"), "u must be a whole number from 0 to 255, not 256"},
		{"u", num("-1"), "u must be a whole number from 0 to 255, not -1"},
		{"n", num("0"), "n must be a whole number from -5 to -1, not 0"}, {"n", num("-3"), -3},
		{"f", num("3"), 3.0},
		{"f", flt("1e308"), 1e308},
		{"f", flt("1e309"), "f must be a number, not 1e309"},
		{"f", flt(".nan"), "f must be a number, not .nan"},
		{"f", flt("1_0.5"), 10.5},
		{"f", flt("nan"), "f must be a number, not nan"},
		{"f", str("1"), `f must be a number, not the text "1"`},
		{"f", num("9223372036854775807"), 9223372036854775807.0},
		{"a", num("007"), int64(7)},
		{"a", num("18446744073709551615"), uint64(math.MaxUint64)},
		{"a", num("18446744073709551616"), "a must be a whole number from 0 to 18446744073709551615, not 18446744073709551616"},
		{"a", num("-18446744073709551616"), "a must be a whole number from -9223372036854775808 to 9223372036854775807, not -18446744073709551616"},
		{"a", flt(".nan"), "a must be a number, not .nan"},
		{"a", boo("x"), "a must be true or false, not x"},
	} {
		var v numbers
		err := schema.Decode(dict(tc.key, tc.n), &v).Err()
		got := reflect.ValueOf(v).FieldByIndex(typeOf[numbers](t).Field(tc.key).Index).Interface()
		if message, ok := tc.want.(string); ok {
			if err == nil || err.Error() != "g:1:9: "+message {
				t.Errorf("%s: got %v, %v", tc.n.Text, got, err)
			}
		} else if err != nil || !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s: got %v, %v", tc.n.Text, got, err)
		}
	}
	var v numbers
	if ds := schema.Decode(dict("i", num("0644")), &v); v.I != 420 || len(ds) != 1 || ds.Err() != nil ||
		ds[0].String() != "g:1:9: warning: 0644 is octal here and means 420; write 0o644 or 420" {
		t.Errorf("%d, %v", v.I, ds)
	}
	var k kitchen
	if ds := schema.Decode(dict("mode", num("420")), &k); k.Mode != "0420" || len(ds) != 1 || ds[0].Severity != schema.Warning {
		t.Errorf("%s, %v", k.Mode, ds)
	}
}

func TestBounds(t *testing.T) {
	type bounded struct {
		S string            `mgmt:"min=2,max=3"`
		L []string          `mgmt:"max=1"`
		M map[string]string `mgmt:"min=1"`
		D time.Duration     `mgmt:"min=1s,max=1m"`
		Z schema.Size       `mgmt:"max=1k"`
		F float64           `mgmt:"min=1"`
	}
	var b bounded
	ds := schema.Decode(dict(
		"s", str("äöüß"),
		"l", list(str("a"), str("b")),
		"m", dict(),
		"d", str("2m"),
		"z", num("2000"),
		"f", flt("0.5"),
	), &b)
	want := []string{
		`g:1:9: s must be text of 2 to 3 characters, not the text "äöüß"`,
		"g:2:9: l must be a list of text of at most 1 element, not of 2",
		"g:1:1: m must be a map of text of at least 1 key, not of 0",
		`g:4:9: d must be a length of time such as 500ms or 1h30m from 1s to 1m, not the text "2m"`,
		"g:5:9: z must be a size such as 64k or 10MiB of at most 1kB, not 2000",
		"g:6:9: f must be a number of at least 1, not 0.5",
	}
	if diff := cmp.Diff(want, lines(ds)); diff != "" {
		t.Error(diff)
	}
	var k kitchen
	if ds := schema.Decode(dict("shift", str("-2h")), &k); len(ds) != 1 || ds[0].Message != `shift must be a length of time such as 500ms or 1h30m of at least -1h, not the text "-2h"` {
		t.Error(ds)
	}
	if ds := schema.Decode(dict("s", str("äöü"), "l", list(str("a")), "m", dict("a", str("")), "d", num("60"), "z", str("1kB"), "f", num("1")), &b); len(ds) > 0 {
		t.Error(ds)
	}
}
