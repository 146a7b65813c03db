package schema_test

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/reactivegraph/mgmt/engine/schema"
)

func TestGet(t *testing.T) {
	k := &kitchen{
		Content: new("c"),
		Env:     map[string]string{"A": "1", "a.b": "2"},
		Items:   []item{{"x", 1}},
		Free:    map[string]any{"l": []int{7}},
		Token:   schema.NewSecret("s"),
	}
	for path, want := range map[string]any{
		"content":        "c",
		"Content":        "c",
		"maybe":          nil,
		"env.A":          "1",
		`env["a.b"]`:     "2",
		"items[0].name":  "x",
		"items[0].Count": int64(1),
		"free.l[0]":      int64(7),
		"sub.name":       "",
		"owner":          "",
		"args":           []any{},
		"items":          []any{map[string]any{"name": "x", "count": int64(1)}},
		"token":          k.Token,
		"limit":          schema.Size(0),
	} {
		got, err := schema.Get(k, path)
		if diff := cmp.Diff(want, got, cmp.Comparer(schema.Secret.Equal)); err != nil || diff != "" {
			t.Errorf("%s: %v %s", path, err, diff)
		}
	}
	for path, want := range map[string]string{
		"env.B":      `env: there is no key "B"`,
		"items[1]":   "items: there is no element 1, the list has 1",
		"maybe.name": "maybe: it is not set",
		"contnt":     `unknown key "contnt" (did you mean "content"?)`,
		"free.x":     `free: there is no key "x"`,
		"free.l[1]":  "free.l: there is no element 1, the list has 1",
		"":           "an empty path names nothing",
		"force.x":    `force: true or false has no keys, so none named "x"`,
	} {
		if got, err := schema.Get(k, path); err == nil || err.Error() != want {
			t.Errorf("%s: %v, %v", path, got, err)
		}
	}
	if got, err := schema.Get(struct{ A []string }{[]string{"x"}}, "a"); err != nil || !schema.Equal(got, []string{"x"}) {
		t.Errorf("of a struct that is no pointer: %v, %v", got, err)
	}
	if _, err := schema.Get((*kitchen)(nil), "a"); err == nil {
		t.Error("nil has fields")
	}
	if _, err := schema.Get(&kitchen{}, "free.x"); err == nil {
		t.Error("nil any has keys")
	}
}

func TestSet(t *testing.T) {
	for _, tc := range []struct {
		path  string
		value any
		want  any // what Get gives then; nil for value itself
	}{
		{"content", "x", nil},
		{"Content", schema.NewSecret("x"), "x"},
		{"content", nil, nil},
		{"token", "x", schema.NewSecret("x")},
		{"token", schema.NewSecret("y"), schema.NewSecret("y")},
		{"small", 5, nil},
		{"small", uint64(5), nil},
		{"small", 5.0, nil},
		{"huge", uint64(math.MaxUint64), nil},
		{"ratio", 1, 1.0},
		{"thin", 0.5, nil},
		{"thin", float32(0.1), float64(float32(0.1))},
		{"delay", time.Second, nil},
		{"delay", "2s", 2 * time.Second},
		{"delay", 1500, 1500 * time.Millisecond},
		{"limit", schema.Size(5), nil},
		{"limit", "1k", schema.Size(1000)},
		{"mode", schema.Mode("755"), schema.Mode("0755")},
		{"mode", "u+x", schema.Mode("u+x")},
		{"after", schema.Ref{Kind: "a", Name: "b"}, nil},
		{"after", "a[b].c", schema.Ref{Kind: "a", Name: "b", Key: "c"}},
		{"when", "2026-01-02T03:04:05Z", nil},
		{"raw", []byte("x"), "x"},
		{"args", []string{"a"}, nil},
		{"args", []any{"a", schema.NewSecret("b")}, []any{"a", "b"}},
		{"args", nil, []any{}},
		{"args[0]", "z", nil},
		{"env.NEW", "x", nil},
		{"env.OLD", schema.NewSecret("x"), "x"},
		{`env["a.b"]`, "x", nil},
		{"env", map[string]any{}, nil},
		{"env", nil, map[string]any{}},
		{"items[1].name", "n", nil},
		{"items[0]", item{"a", 3}, nil},
		{"sub", map[string]any{"name": "n"}, map[string]any{"name": "n", "count": 0}},
		{"maybe.name", "n", nil},
		{"maybe", &item{"m", 1}, nil},
		{"maybe", nil, nil},
		{"free", []int{1}, nil},
		{"free", schema.NewSecret("x"), nil},
		{"free", time.Second, nil},
		{"free", nil, nil},
		{"free.k", 1, nil},
		{"free.l[0]", "x", nil},
		{"free.new.deep", "x", nil},
		{"owner", "x", nil},
		{"state", "absent", nil},
	} {
		k := setTarget()
		if err := schema.Set(k, tc.path, tc.value); err != nil {
			t.Errorf("%s: %v", tc.path, err)
			continue
		}
		want := tc.want
		if want == nil {
			want = tc.value
		}
		if got, err := schema.Get(k, tc.path); err != nil || !schema.Equal(got, want) {
			t.Errorf("%s: got %v, %v, want %v", tc.path, got, err, want)
		}
	}
}

func setTarget() *kitchen {
	return &kitchen{
		Args:  []string{"a", "b"},
		Env:   map[string]string{"OLD": "o"},
		Items: []item{{}, {}},
		Sub:   item{"old", 7},
		Free:  map[string]any{"k": "v", "l": []any{"w"}},
	}
}

func TestSetRefuses(t *testing.T) {
	for _, tc := range []struct {
		path  string
		value any
		want  string
	}{
		{"small", 128, "small must be a whole number from -128 to 127, not 128"},
		{"small", 1.5, "small must be a whole number, not 1.5"},
		{"small", nil, "small must be a whole number, not null"},
		{"huge", -1, "huge must be a whole number from 0 to 18446744073709551615, not -1"},
		{"thin", 0.1, "thin must be a number, not 0.1, which is not exact in 32 bits"},
		{"ratio", math.NaN(), "ratio must be a number from 0 to 1, not .nan"},
		{"thin", int64(1<<53 + 1), "thin must be a number, not 9007199254740993, which is not exact as a number with a point"},
		{"content", 5, "content must be text or null, not 5"},
		{"content", true, "content must be text or null, not true"},
		{"content", time.Second, `content must be text or null, not the text "1s"`},
		{"force", "yes", `force must be true or false, not the text "yes"`},
		{"port", "80", `port must be a whole number from 1 to 65000, not the text "80"`},
		{"port", 0, "port must be a whole number from 1 to 65000, not 0"},
		{"delay", schema.Size(5), `delay must be a length of time such as 500ms or 1h30m, not the text "5"`},
		{"delay", -time.Second, "delay is -1s, it must not be negative"},
		{"mode", 644, `mode must be a mode such as "0644" or u=rwX,go=rX, not 644`},
		{"mode", schema.NewSecret("hush"), `mode must be a mode such as "0644" or u=rwX,go=rX, not that text`},
		{"state", "gone", `state must be one of exists, absent, undefined, not "gone"`},
		{"state", schema.NewSecret("hush"), "state must be one of exists, absent, undefined, not that text"},
		{"args", "a", `args must be a list of text, not the text "a"`},
		{"args", []int{1}, "args[0] must be text, not 1"},
		{"args[2]", "x", "args: there is no element 2, the list has 2"},
		{"env.X", 1, "env.X must be text, not 1"},
		{"env.X.y", "z", `env.X: text has no keys, so none named "y"`},
		{"items[0].name", 5, "items[0].name must be text, not 5"},
		{"sub", map[string]any{}, "sub.name is required: text"},
		{"evn.X", 1, `unknown key "evn" (did you mean "env"?)`},
		{"free.k.x", 1, "free.k: it holds text, which has no x"},
		{"free.l[3]", 1, "free.l: there is no element 3, the list has 1"},
		{"free[0]", 1, "free: it holds a map, which has no [0]"},
		{"free", make(chan int), "free: chan int: the type chan int is not supported"},
		{"", 1, "an empty path names nothing"},
	} {
		k := setTarget()
		err := schema.Set(k, tc.path, tc.value)
		if err == nil || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %s", tc.path, err, tc.want)
		}
		if d := schema.Diff(typeOf[kitchen](t), setTarget(), k); len(d) > 0 {
			t.Errorf("%s: after the error it differs: %v", tc.path, d)
		}
	}
	for _, bad := range []any{nil, kitchen{}, (*kitchen)(nil)} {
		if schema.Set(bad, "content", "x") == nil {
			t.Errorf("a %T was set", bad)
		}
	}
	if err := schema.Set(&kitchen{}, "free[0]", 1); err == nil {
		t.Error("nil has an element")
	}
}

// TestSetSharesNothing alters what was sent, and what the receiver held before,
// and looks whether the other side sees it.
func TestSetSharesNothing(t *testing.T) {
	k := setTarget()
	env, args, items, free := k.Env, k.Args, k.Items, k.Free.(map[string]any)
	k.Maybe = &item{"shared", 1}
	maybe := k.Maybe
	keep := map[string]any{}
	for path, v := range map[string]any{"env.X": "x", "args[0]": "x", "items[1].name": "x", "free.k": "x", "free.l[0]": "x", "maybe.name": "x"} {
		if err := schema.Set(k, path, v); err != nil {
			t.Fatal(err)
		}
		keep[path] = v
	}
	for name, kept := range map[string]bool{
		"map":          maps.Equal(env, map[string]string{"OLD": "o"}),
		"list":         slices.Equal(args, []string{"a", "b"}),
		"list of maps": items[1].Name == "",
		"any":          free["k"] == "v",
		"list in any":  free["l"].([]any)[0] == "w",
		"pointer":      maybe.Name == "shared",
	} {
		if !kept {
			t.Errorf("Set wrote through a %s that another may hold", name)
		}
	}

	sentMap, sentList := map[string]any{"a": []any{"b"}}, []string{"a"}
	if err := schema.Set(k, "free", sentMap); err != nil {
		t.Fatal(err)
	}
	if err := schema.Set(k, "args", sentList); err != nil {
		t.Fatal(err)
	}
	sentMap["a"].([]any)[0], sentList[0] = "altered", "altered"
	if k.Args[0] != "a" || !schema.Equal(k.Free, map[string]any{"a": []any{"b"}}) {
		t.Error("the receiver holds a part of what was sent")
	}
	got, _ := schema.Get(k, "free")
	got.(map[string]any)["a"].([]any)[0] = "altered"
	if !schema.Equal(k.Free, map[string]any{"a": []any{"b"}}) {
		t.Error("Get gives a part of the value")
	}
	shared := map[string]any{"x": []any{"y"}}
	c := schema.Clone(shared).(map[string]any)
	c["x"].([]any)[0] = "altered"
	if shared["x"].([]any)[0] != "y" {
		t.Error("Clone shares")
	}
}

// TestDecodeSharesNothing does so for Decode.
func TestDecodeSharesNothing(t *testing.T) {
	def := setTarget()
	def.Content, def.Maybe = new("old"), &item{"old", 1}
	k := *def
	ds := schema.Decode(dict(
		"args", list(str("x")),
		"env", dict("N", str("n")),
		"content", str("new"),
		"maybe", dict("name", str("new")),
		"items", list(dict("name", str("i"))),
	), &k)
	if len(ds) > 0 {
		t.Fatal(ds)
	}
	if *def.Content != "old" || def.Maybe.Name != "old" || def.Args[0] != "a" || len(def.Env) != 1 || len(def.Items) != 2 {
		t.Errorf("the defaults were altered: %+v", def)
	}
	if k.Maybe.Count != 1 {
		t.Error("an optional struct lost what it held")
	}
	if len(k.Env) != 1 || k.Env["N"] != "n" {
		t.Error("a map in the Node is not the whole value")
	}
}

func TestSave(t *testing.T) {
	for path, v := range map[string]any{
		"port":          80,
		"env.NEW":       "x",
		"env":           map[string]any{},
		"args[0]":       "x",
		"content":       "x",
		"maybe.name":    "x",
		"items[0].name": "x",
		"free.l[0]":     "x",
		"sub.name":      "x",
		"token":         "x",
	} {
		k := setTarget() // its port 0 is out of bounds
		restore, err := schema.Save(k, path)
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Set(k, path, v); err != nil {
			t.Fatal(err)
		}
		if d := schema.Diff(typeOf[kitchen](t), setTarget(), k); len(d) == 0 {
			t.Errorf("%s: nothing was set", path)
		}
		restore()
		if d := schema.Diff(typeOf[kitchen](t), setTarget(), k); len(d) > 0 {
			t.Errorf("%s: %v", path, d)
		}
	}
	for path, v := range map[string]any{"zzz": &kitchen{}, "": &kitchen{}, "a": 5, "b": (*kitchen)(nil), "c": &struct{ C chan int }{}} {
		if _, err := schema.Save(v, path); err == nil {
			t.Errorf("%q of %T was saved", path, v)
		}
	}
}

func TestDiff(t *testing.T) {
	ty := typeOf[kitchen](t)
	a := &kitchen{
		State: "exists",
		Env:   map[string]string{"same": "1", "gone": "2", "other": "3"},
		Args:  []string{},
		Mode:  "644",
		Sub:   item{"a", 1},
		Token: schema.NewSecret("one"),
		Free:  []any{1},
		Items: []item{{"x", 1}},
	}
	b := &kitchen{
		State:   "absent",
		Env:     map[string]string{"same": "1", "new.": "2", "other": "4"},
		Mode:    "0644",
		Sub:     item{"a", 2},
		Token:   schema.NewSecret("two"),
		Free:    []any{int8(1)},
		Items:   []item{{"x", 2}},
		Content: new(""),
	}
	want := []string{
		`state: exists -> absent`,
		`content: <nil> -> `,
		`token: (secret) -> (secret)`,
		`env.gone: 2 -> <nil>`,
		`env["new."]: <nil> -> 2`,
		`env.other: 3 -> 4`,
		`items: [map[count:1 name:x]] -> [map[count:2 name:x]]`, `sub.count: 1 -> 2`,
	}
	check := func(name string, a, b any) {
		t.Helper()
		var got []string
		var fields []*schema.Field
		for _, d := range schema.Diff(ty, a, b) {
			if len(fields) == 0 || fields[len(fields)-1] != d.Field {
				fields = append(fields, d.Field)
			}
			got = append(got, d.String())
			if d.Field == nil || !strings.HasPrefix(d.Path, d.Field.Key) {
				t.Errorf("%s: %s has the field %v", name, d.Path, d.Field)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if got := slices.Collect(schema.Differing(ty, a, b)); !slices.Equal(got, fields) {
			t.Errorf("%s: Differing yields %v, want %v", name, got, fields)
		}
	}
	check("structs", a, b)
	pa, _ := schema.EncodeAll(a)
	pb, _ := schema.EncodeAll(b)
	check("plain values", pa, pb)
	check("mixed", pa, b)
	if d := schema.Diff(ty, a, make(chan int)); len(d) != 1 {
		t.Error("a value that cannot be encoded equals something")
	}
	if fields := slices.Collect(schema.Differing(ty, a, make(chan int))); len(fields) != 1 || fields[0] != nil {
		t.Errorf("a value that cannot be encoded: %v", fields)
	}
	// A plain text where the type says secret is guarded too.
	for _, d := range schema.Diff(ty, map[string]any{"token": "canary1"}, map[string]any{"token": "canary2"}) {
		if strings.Contains(d.String(), "canary") {
			t.Errorf("a secret is shown: %s", d)
		}
	}
	for _, d := range schema.Diff(typeOf[struct{ M map[string][]schema.Secret }](t), map[string]any{"m": map[string]any{"a": []any{"canary"}}}, map[string]any{}) {
		if strings.Contains(d.String(), "canary") {
			t.Errorf("a secret inside is shown: %s", d)
		}
	}
}

func TestDiffNaN(t *testing.T) {
	type floats struct {
		F float64
		A any
	}
	nan := func() *floats { return &floats{math.NaN(), math.NaN()} }
	if d := schema.Diff(typeOf[floats](t), nan(), nan()); len(d) > 0 {
		t.Errorf("NaN differs from itself, so a resource would never be right: %v", d)
	}
}

// TestDiffIsSymmetric and agrees with Equal.
func TestDiffIsSymmetric(t *testing.T) {
	ty := typeOf[kitchen](t)
	rapid.Check(t, func(rt *rapid.T) {
		a, b := drawKitchen(rt), drawKitchen(rt)
		ab, ba := schema.Diff(ty, a, b), schema.Diff(ty, b, a)
		if len(ab) != len(ba) || (len(ab) == 0) != schema.Equal(a, b) {
			rt.Fatalf("%v\n%v", ab, ba)
		}
		for i := range ab {
			if ab[i].Path != ba[i].Path || !schema.Equal(ab[i].From, ba[i].To) || !schema.Equal(ab[i].To, ba[i].From) {
				rt.Fatalf("%v\n%v", ab[i], ba[i])
			}
		}
		if d := schema.Diff(ty, a, a); len(d) > 0 {
			rt.Fatalf("differs from itself: %v", d)
		}
	})
}

func TestEqual(t *testing.T) {
	type text string
	groups := [][]any{
		{nil, (*int)(nil)},
		{1, int8(1), uint64(1), 1.0, float32(1), new(1)},
		{uint64(math.MaxUint64)},
		{int64(-1)},
		{math.NaN()},
		{math.Inf(1)},
		{float64(1 << 63), uint64(1 << 63)},
		{0.1},
		{float32(0.1)},
		{1.5},
		{2},
		{1e300},
		{int64(math.MinInt64), -math.Pow(2, 63)},
		{int64(math.MaxInt64)}, {true}, {false},
		{"x", schema.NewSecret("x"), text("x"), []byte("x")}, {"", schema.Secret{}}, {"y"},
		{time.Second},
		{schema.Size(1e9)},
		{schema.Mode("0644"), schema.Mode("644")},
		{schema.Mode("u+x")},
		{schema.Ref{Kind: "a", Name: "b"}},
		{[]any{}, []string{}, []string(nil)},
		{[]any{"x"}, []string{"x"}, []schema.Secret{schema.NewSecret("x")}},
		{[]any{nil}},
		{map[string]any{}, map[string]string{}, struct{}{}},
		{map[string]any{"a": 1}, struct{ A int8 }{1}, &struct{ A any }{1.0}},
		{map[string]any{"a": nil}},
	}
	for i, g := range groups {
		for j, h := range groups {
			for _, a := range g {
				for _, b := range h {
					if schema.Equal(a, b) != (i == j) {
						t.Errorf("%#v and %#v: Equal is %v", a, b, i != j)
					}
				}
			}
		}
	}
}

func TestCloneOther(t *testing.T) {
	in := map[string][]any{"a": {1, nil, []string{"x"}, map[string]any(nil)}, "b": nil}
	out := schema.Clone(in).(map[string][]any)
	if diff := cmp.Diff(in, out); diff != "" {
		t.Error(diff)
	}
	out["a"][2].([]string)[0] = "altered"
	if in["a"][2].([]string)[0] != "x" {
		t.Error("Clone shares")
	}
	for _, v := range []any{nil, []any(nil), map[string]any(nil), time.Second, schema.NewSecret("x")} {
		if got := schema.Clone(v); !cmp.Equal(got, v, cmp.Comparer(schema.Secret.Equal)) {
			t.Errorf("%#v became %#v", v, got)
		}
	}
}
