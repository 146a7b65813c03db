package model_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/world"
)

// site returns models with a path of each form: through lists, maps, structs, nested objects and references.
func site(t *testing.T) (r *model.Registry, host, net *model.Model) {
	t.Helper()
	r = model.NewRegistry(nil)
	loaded(t, r,
		`{"model": "Net", "table": "net", "fields": {"label": {"type": "string"}, "up": {"type": "string", "ref": "Net"}}}`,
		`{"model": "Card", "fields": {"mac": {"type": "mac"}, "net": {"type": "string", "ref": "Net"}}}`,
		`{"model": "Host", "table": "host", "fields": {
			"label": {"type": "string"}, "size": {"type": "int", "default": 5}, "on": {"type": "bool"}, "wait": {"type": "duration"},
			"net": {"type": "string", "ref": "Net"}, "nets": {"type": "list", "of": {"type": "string", "ref": "Net"}},
			"cards": {"type": "list", "of": {"type": "object", "model": "Card"}}, "slots": {"type": "map", "of": {"type": "object", "model": "Card"}},
			"tags": {"type": "set", "of": {"type": "string"}}, "notes": {"type": "map", "of": {"type": "string"}}, "address": {"type": "ip"}},
			"indexes": {"one": ["label"], "pair": ["tags", "nets"], "behind": ["net.label", "label"]}}`)
	host, err := r.Model("Host")
	if err == nil {
		net, err = r.Model("net")
	}
	if err != nil {
		t.Fatal(err)
	}
	return r, host, net
}

// sampleHost has a value at each path.
func sampleHost(t *testing.T, m *model.Model) *model.Object {
	return object(t, m, map[string]any{
		"id": "h", "label": "x", "net": "a", "nets": []any{"a", "b", "gone"}, "tags": []any{"q", "p"}, "notes": map[string]any{"k": "v", "l": "v"},
		"cards": []any{map[string]any{"id": "c1", "mac": "02:00:00:00:00:01", "net": "a"}, map[string]any{"id": "c2", "net": "b"}},
		"slots": map[string]any{"left": map[string]any{"id": "s", "mac": "02:00:00:00:00:02"}},
	})
}

// nets looks up the networks a and b; a is below b.
func nets(t *testing.T, m *model.Model) model.Lookup {
	known := map[string]*model.Object{
		"a": object(t, m, map[string]any{"id": "a", "label": "red", "up": "b"}), "b": object(t, m, map[string]any{"id": "b", "label": "blue"}),
	}
	return func(target, id string) *model.Object {
		if target != "Net" {
			t.Errorf("the target is %q", target)
		}
		return known[id]
	}
}

// TestAtEachForm: each value at a path comes once, and an absent value is Missing.
func TestAtEachForm(t *testing.T) {
	_, host, net := site(t)
	o := sampleHost(t, host)
	none := "absent"
	for path, want := range map[string][]string{
		"label": {"x"}, "size": {"5"}, "on": {none}, "id": {"h"}, "nowhere": {none}, "label.more": {none},
		"tags": {"p", "q"}, "notes": {"v"}, "notes.deep": {none},
		"net": {"a"}, "net.id": {"a"}, "net.label": {"red"}, "net.up": {"b"}, "net.up.label": {"blue"}, "net.up.up.label": {none}, "net.nowhere": {none},
		"nets": {"a", "b", "gone"}, "nets.id": {"a", "b", "gone"}, "nets.label": {none, "blue", "red"},
		"cards": {none}, "cards.id": {"c1", "c2"}, "cards.mac": {"02:00:00:00:00:01", none}, "cards.net.label": {"blue", "red"}, "cards.nowhere": {none},
		"slots.mac": {"02:00:00:00:00:02"}, "slots.net": {none}, "slots": {none},
	} {
		var got []string
		for _, v := range o.At(path, nets(t, net)) {
			if v == model.Missing {
				v = none
			}
			got = append(got, fmt.Sprint(v))
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s has %v, want %v", path, got, want)
		}
	}
	empty := object(t, host, map[string]any{"id": "e", "nets": []any{}, "notes": map[string]any{}, "tags": nil})
	for _, path := range []string{"nets", "nets.label", "notes", "tags", "cards.mac"} {
		if got := empty.At(path, nets(t, net)); len(got) != 1 || got[0] != model.Missing {
			t.Errorf("the empty %s has %v", path, got)
		}
	}
}

// TestKeysAreAProduct: a tuple has a key for each pair of values, and more than MaxKeys are a fault with the path.
func TestKeysAreAProduct(t *testing.T) {
	_, host, net := site(t)
	x, err := host.Index("pair")
	if err != nil {
		t.Fatal(err)
	}
	keys, err := sampleHost(t, host).Keys(x, nets(t, net))
	if want := "[[p a] [p b] [p gone] [q a] [q b] [q gone]]"; err != nil || fmt.Sprint(keys) != want {
		t.Errorf("%v, %v; want %s", keys, err, want)
	}
	many := func(n int) (list []any) {
		for i := range n {
			list = append(list, fmt.Sprint(i))
		}
		return list
	}
	o := object(t, host, map[string]any{"id": "h", "tags": many(100), "nets": many(101)})
	_, err = o.Keys(x, nets(t, net))
	if fault := model.Faults(err); len(fault) != 1 || fault[0].Code != model.Validation || fault[0].Field != "nets" || fault[0].ID != "h" {
		t.Errorf("10,100 keys: %v", err)
	}
	if keys, err := object(t, host, map[string]any{"id": "h", "tags": many(100), "nets": many(100)}).Keys(x, nets(t, net)); err != nil || len(keys) != model.MaxKeys {
		t.Errorf("%d keys: %v", len(keys), err)
	}
}

// TestQueryKeys: an example, and values by path, say which keys are wanted.
func TestQueryKeys(t *testing.T) {
	_, host, net := site(t)
	for _, c := range []struct {
		name string
		q    model.Query
		want string
	}{
		{"no index", model.Query{Where: map[string]any{"label": "x"}}, ""},
		{"nothing asked", model.Query{Index: "behind"}, "* *"},
		{"by path", model.Query{Index: "behind", Where: map[string]any{"label": "x"}}, "* x"},
		{"nil is everything", model.Query{Index: "behind", Where: map[string]any{"label": nil, "net.label": "red"}}, "red *"},
		{"by example", model.Query{Index: "behind", Like: object(t, host, map[string]any{"net": "a"})}, "red *"},
		{"an absent target", model.Query{Index: "behind", Like: object(t, host, map[string]any{"net": "gone"})}, ""},
		{"a default is no wish", model.Query{Index: "one", Like: object(t, host, map[string]any{})}, "*"},
		{"one of several", model.Query{Index: "pair", Like: object(t, host, map[string]any{"tags": []any{"p", "q"}})}, "p *,q *"},
		{"the id", model.Query{Index: "id", Where: map[string]any{"id": "h"}}, "h"},
	} {
		c.q.Model = host
		_, keys, err := c.q.Keys(nets(t, net))
		var got []string
		for _, key := range keys {
			words := make([]string, len(key))
			for i, v := range key {
				if words[i] = fmt.Sprint(v); v == model.Any {
					words[i] = "*"
				}
			}
			got = append(got, strings.Join(words, " "))
		}
		if err != nil || strings.Join(got, ",") != c.want {
			t.Errorf("%s: %v, %v; want %q", c.name, got, err, c.want)
		}
		if (keys == nil) != (c.q.Index == "") {
			t.Errorf("%s: nil keys, which mean everything: %t", c.name, keys == nil)
		}
	}
	for code, q := range map[model.Code]model.Query{
		model.UnknownIndex: {Model: host, Index: "oen"}, model.UnknownField: {Model: host, Index: "one", Where: map[string]any{"size": 5}},
	} {
		if _, _, err := q.Keys(nil); !errors.Is(err, code) {
			t.Errorf("%v, want %s", err, code)
		}
	}
}

// TestMatches: Any finds each value and Missing; Missing is found by nothing else.
func TestMatches(t *testing.T) {
	for _, c := range []struct {
		wanted, key []any
		want        bool
	}{
		{[]any{model.Any}, []any{"x"}, true}, {[]any{model.Any}, []any{model.Missing}, true}, {[]any{"x"}, []any{model.Missing}, false},
		{[]any{"x", model.Any}, []any{"x", "y"}, true}, {[]any{"x", "z"}, []any{"x", "y"}, false}, {[]any{int64(1)}, []any{"1"}, false}, {nil, []any{"x"}, true},
	} {
		if got := model.Matches(c.wanted, c.key); got != c.want {
			t.Errorf("%v on %v: %t", c.wanted, c.key, got)
		}
	}
	if q := (model.Query{}); !q.InTopics("t") || !q.InTopics("") {
		t.Error("no topics leave out none")
	}
	if q := (model.Query{Topics: []string{""}}); q.InTopics("t") || !q.InTopics("") {
		t.Error("the empty word is an object without a topic")
	}
}

// TestCompareOrdersTypes: the list is in order, so each pair is compared as its places are.
func TestCompareOrdersTypes(t *testing.T) {
	list := []any{
		model.Missing, false, true, int64(-1), int64(2), uint64(1), uint64(3), 0.5, 1.5, time.Second, time.Minute, schema.Size(1), schema.Size(2), "", "a", "b",
		schema.NewSecret("a"), schema.NewSecret("b"), []any{}, []any{"a"}, []any{"a", "a"}, []any{"b"},
		map[string]any{}, map[string]any{"a": "x"}, map[string]any{"a": "y"}, map[string]any{"b": "x"}, schema.Ref{Kind: "file", Name: "a"}, schema.Ref{Kind: "file", Name: "b"},
	}
	for i, a := range list {
		for j, b := range list {
			if got, want := model.Compare(a, b), compareInts(i, j); got != want {
				t.Errorf("%#v and %#v: %d, want %d", a, b, got, want)
			}
		}
	}
}

func compareInts(a, b int) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// TestWantReadsText: the text of a command line becomes the value that an index has.
func TestWantReadsText(t *testing.T) {
	r, host, _ := site(t)
	for _, c := range []struct {
		path, text string
		want       any
	}{
		{"label", "5", "5"}, {"size", "12", int64(12)}, {"on", "true", true}, {"on", "false", false}, {"wait", "1m", time.Minute},
		{"cards.mac", "02-00-00-00-00-0A", "02:00:00:00:00:0a"}, {"slots.mac", "x", "x"}, {"address", "2001:DB8:0::1", "2001:db8::1"}, {"tags", "a", "a"},
		{"net.label", "red", "red"}, {"nets.up.up.label", "red", "red"}, {"net.id", "a", "a"},
	} {
		if got, err := r.Want(host, c.path, c.text); err != nil || got != c.want {
			t.Errorf("%s %q: %#v, %v; want %#v", c.path, c.text, got, err, c.want)
		}
	}
	for _, c := range []struct {
		path, text string
		code       model.Code
		says       string
	}{
		{"size", "many", model.BadValue, "size"}, {"on", "perhaps", model.BadValue, "on"}, {"wait", "soon", model.BadValue, "wait"},
		{"nowhere", "x", model.UnknownField, "host has no field nowhere"}, {"net.nowhere", "x", model.UnknownField, "net.nowhere"},
		{"label.more", "x", model.UnknownField, "label.more"}, {"cards.nowhere.x", "x", model.UnknownField, "cards.nowhere"},
	} {
		_, err := r.Want(host, c.path, c.text)
		if fault := model.Faults(err); len(fault) != 1 || fault[0].Code != c.code || fault[0].Field != c.path || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s %q: %v", c.path, c.text, err)
		}
	}
}

// TestThroughAsksForTargets: an index depends on other objects where a path reads more of them than the id.
func TestThroughAsksForTargets(t *testing.T) {
	_, host, _ := site(t)
	for path, want := range map[string]bool{
		"label": false, "net": false, "net.id": false, "net.label": true, "nets.label": true, "cards.mac": false, "cards.net": false, "cards.net.id": false,
		"cards.net.label": true, "slots.net.up.id": true, "nowhere.x": false, "label.x": false,
	} {
		if got := host.Through(model.Index{Paths: []string{"label", path}}); got != want {
			t.Errorf("%s: %t", path, got)
		}
	}
}

// TestErrorsSayWhere: an Error is written with its place, object, cause and suggestion, and is found by its code.
func TestErrorsSayWhere(t *testing.T) {
	cause := errors.New("the cause")
	for _, c := range []struct {
		e    *model.Error
		want string
	}{
		{&model.Error{Code: model.NotFound}, "not_found"},
		{&model.Error{Code: model.NotFound, Message: "gone"}, "gone"},
		{&model.Error{Code: model.NotFound, ID: "i", Message: "gone"}, "gone"},
		{&model.Error{Code: model.NotFound, Table: "t", Message: "gone"}, "t: gone"},
		{&model.Error{Code: model.NotFound, Table: "t", ID: "i", Message: "gone", Err: cause}, "t[i]: gone: the cause"},
		{&model.Error{Code: model.UnknownField, Pos: schema.Pos{File: "f", Line: 2, Col: 3}, Message: "no", Suggestion: "yes"}, `f:2:3: no (did you mean "yes"?)`},
	} {
		if got := c.e.Error(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
		if !errors.Is(c.e, c.e.Code) || errors.Is(c.e, model.Conflict) || errors.Is(c.e, world.ErrNotFound) != (c.e.Code == model.NotFound) || errors.Is(c.e, cause) != (c.e.Err != nil) {
			t.Errorf("%v is not found by its class", c.e)
		}
	}
	one, two := &model.Error{Code: model.Exists}, &model.Error{Code: model.Conflict}
	all := fmt.Errorf("around: %w", errors.Join(one, errors.Join(cause, two)))
	if model.CodeOf(all) != model.Exists || model.CodeOf(cause) != "" || model.CodeOf(nil) != "" {
		t.Error("the class of the first Error:", model.CodeOf(all))
	}
	if got := model.Faults(errors.Join(one, errors.Join(cause, two))); !slices.Equal(got, []*model.Error{one, two}) {
		t.Errorf("the faults are %v", got)
	}
	if len(model.Faults(nil))+len(model.Faults(cause)) != 0 {
		t.Error("an error of another package is no fault")
	}
}
