package modeltest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/model/store"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/world"
)

// counted is a Source that counts its answers, and that fails for one id.
type counted struct {
	model.Source
	asked []string
	fail  string
}

// Get counts.
func (c *counted) Get(ctx context.Context, m *model.Model, id string) (*model.Object, error) {
	if c.asked = append(c.asked, id); id == c.fail {
		return nil, world.ErrUnavailable
	}
	return c.Source.Get(ctx, m, id)
}

// house has hosts that refer to networks in each form. The networks a, b and c are a circle, and d refers to nothing.
func house(t *testing.T) (reg *model.Registry, src *counted, host *model.Model, h *model.Object) {
	t.Helper()
	reg = model.NewRegistry(nil)
	net := define(t, model.Spec{Name: "Net", Table: "net", Fields: []model.Field{{Key: "label", Type: text, Default: "none"}, {Key: "up", Type: text, Target: "Net"}}})
	card := define(t, model.Spec{Name: "Card", Fields: []model.Field{{Key: "net", Type: text, Target: "Net"}, {Key: "speed", Type: number, Default: int64(10)}}})
	host = define(t, model.Spec{Name: "Host", Table: "host", Fields: []model.Field{
		{Key: "label", Type: text}, {Key: "net", Type: text, Target: "Net"}, {Key: "eager", Type: text, Target: "Net", Eager: true},
		{Key: "nets", Type: &schema.Type{Kind: schema.KindList, Elem: text}, Target: "Net"}, {Key: "cards", Type: &schema.Type{Kind: schema.KindList}, Nested: card},
		{Key: "one", Nested: card}, {Key: "key", Type: &schema.Type{Kind: schema.KindString, Secret: true}}, {Key: "notes", Type: &schema.Type{Kind: schema.KindMap, Elem: text}},
	}})
	s := store.Maps()
	src = &counted{Source: s}
	if err := errors.Join(reg.Add(net), reg.Add(host)); err != nil {
		t.Fatal(err)
	}
	for id, up := range map[string]string{"a": "b", "b": "c", "c": "a", "d": ""} {
		fields := map[string]any{"id": id, "label": "net " + id}
		if up != "" {
			fields["up"] = up
		} else {
			delete(fields, "label")
		}
		if err := s.Put(made(t, net, fields)); err != nil {
			t.Fatal(err)
		}
	}
	return reg, src, host, made(t, host, map[string]any{
		"id": "h", "net": "a", "nets": []any{"d", "gone"}, "key": "canary", "notes": map[string]any{"k": "v"},
		"cards": []any{map[string]any{"id": "c1", "net": "b"}, map[string]any{"id": "c2", "speed": 5}}, "one": map[string]any{"id": "c3", "net": "gone"},
	})
}

// TestViewReadsBehindReferences: each path has its value, and a target is asked for only where more than its id is read.
func TestViewReadsBehindReferences(t *testing.T) {
	reg, src, _, h := house(t)
	for _, c := range []struct {
		path  string
		want  any
		asked int
	}{
		{"id", "h", 0}, {"label", nil, 0}, {"label.more", nil, 0}, {"net", "a", 0}, {"net.id", "a", 0}, {"net.label", "net a", 1}, {"net.up.id", "b", 1},
		{"net.up.up.up.label", "net a", 3}, {"nets.0", "d", 0}, {"nets.1.id", "gone", 0}, {"nets.0.label", "none", 1}, {"nets.0.up", nil, 1},
		{"cards.0.id", "c1", 0}, {"cards.0.net.label", "net b", 1}, {"cards.0.speed", int64(10), 0}, {"cards.1.speed", int64(5), 0}, {"cards.1.net.label", nil, 0},
		{"one.id", "c3", 0}, {"one.net.id", "gone", 0}, {"notes.k", "v", 0}, {"notes.absent", nil, 0},
	} {
		src.asked = nil
		v := model.NewView(t.Context(), h, reg, src)
		for range 2 { // the second time from what is known
			if got, err := v.Get(t.Context(), c.path); err != nil || got != c.want {
				t.Errorf("%s: %#v, %v; want %#v", c.path, got, err, c.want)
			}
		}
		if len(src.asked) != c.asked {
			t.Errorf("%s: the source was asked for %v", c.path, src.asked)
		}
	}
	v := model.NewView(t.Context(), h, reg, src)
	for path, want := range map[string]int{"nets": 2, "cards": 2} {
		if got, err := v.Get(t.Context(), path); err != nil || len(got.([]any)) != want {
			t.Errorf("%s: %v, %v", path, got, err)
		}
	}
	if got, err := v.Get(t.Context(), "one"); err != nil || got.(map[string]any)["id"] != "c3" {
		t.Errorf("a nested object: %v, %v", got, err)
	}
}

// TestViewFaults: a wrong path is an UnknownField, an absent target a RefNotFound, and an error of the source is that error.
func TestViewFaults(t *testing.T) {
	reg, src, _, h := house(t)
	src.fail = "c"
	v := model.NewView(t.Context(), h, reg, src)
	for path, want := range map[string]error{
		"nowhere": model.UnknownField, "id.more": model.UnknownField, "nets.2": model.UnknownField, "nets.-1": model.UnknownField, "nets.x": model.UnknownField,
		"cards.0.speed.x": model.UnknownField, "notes.k.x": model.UnknownField, "net.nowhere": model.UnknownField,
		"nets.1.label": model.RefNotFound, "one.net.label": model.RefNotFound, "net.up.up.label": world.ErrUnavailable,
	} {
		if got, err := v.Get(t.Context(), path); !errors.Is(err, want) || got != nil {
			t.Errorf("%s: %v, %v; want %v", path, got, err, want)
		}
	}
	if got, err := v.Get(t.Context(), "nets.1.label"); err == nil || got != nil {
		t.Error("an absent target is not remembered as an object:", got)
	}
}

// TestViewIsEager: the target of an eager field is fetched at once, and an absent one does no harm before it is read.
func TestViewIsEager(t *testing.T) {
	reg, src, host, _ := house(t)
	for _, id := range []string{"a", "gone"} {
		src.asked = nil
		v := model.NewView(t.Context(), made(t, host, map[string]any{"id": "h", "eager": id, "net": "b"}), reg, src)
		if !slices.Equal(src.asked, []string{id}) {
			t.Errorf("the source was asked for %v", src.asked)
		}
		src.asked = nil
		got, err := v.Get(t.Context(), "eager.label")
		if id == "a" && (got != "net a" || err != nil || len(src.asked) > 0) || id == "gone" && model.CodeOf(err) != model.RefNotFound {
			t.Errorf("%s: %v, %v, asked %v", id, got, err, src.asked)
		}
	}
}

// TestRefsAtAnyDepth: each target comes once, the nearer ones first, and the first absent one is the error.
func TestRefsAtAnyDepth(t *testing.T) {
	reg, src, host, h := house(t)
	for _, c := range []struct {
		fields map[string]any
		want   string
	}{
		{map[string]any{"id": "x"}, ""}, {map[string]any{"id": "x", "net": "d"}, "d"}, {map[string]any{"id": "x", "net": "a"}, "a b c"},
		{map[string]any{"id": "x", "net": "c", "nets": []any{"d", "b", "d"}}, "c d b a"},
		{map[string]any{"id": "x", "cards": []any{map[string]any{"id": "k", "net": "d"}}, "one": map[string]any{"id": "l", "net": "d"}}, "d"},
	} {
		src.asked = nil
		all, err := model.Refs(t.Context(), reg, src, made(t, host, c.fields))
		if got := ids(all); err != nil || got != c.want || len(src.asked) != len(all) {
			t.Errorf("%v: %q, %v, asked %v; want %q", c.fields, got, err, src.asked, c.want)
		}
	}
	_, err := model.Refs(t.Context(), reg, src, h)
	if f := model.Faults(err); len(f) != 1 || f[0].Code != model.RefNotFound || f[0].ID != "gone" || f[0].Table != "net" {
		t.Errorf("an absent target: %v", err)
	}
	src.fail = "b"
	if _, err := model.Refs(t.Context(), reg, src, made(t, host, map[string]any{"id": "x", "net": "a"})); !errors.Is(err, world.ErrUnavailable) {
		t.Errorf("a source that fails: %v", err)
	}
}

// TestDeepShowsTargets: references become their targets, but for absent ones and those of a circle. Secrets stay hidden.
func TestDeepShowsTargets(t *testing.T) {
	reg, src, _, h := house(t)
	out, err := model.Deep(t.Context(), reg, src, h)
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(out)
	circle := func(first, second, third string) string {
		return fmt.Sprintf(`{"id":%q,"label":"net %s","up":{"id":%q,"label":"net %s","up":{"id":%q,"label":"net %s","up":%q}}}`, first, first, second, second, third, third, first)
	}
	want := `{"cards":[{"id":"c1","net":` + circle("b", "c", "a") + `,"speed":10},{"id":"c2","speed":5}],"id":"h","key":"` + schema.Redacted + `","net":` + circle("a", "b", "c") +
		`,"nets":[{"id":"d","label":"none"},"gone"],"notes":{"k":"v"},"one":{"id":"c3","net":"gone","speed":10}}`
	var plain, expected any
	if err = errors.Join(err, json.Unmarshal(got, &plain), json.Unmarshal([]byte(want), &expected)); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(plain) != fmt.Sprint(expected) {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	slices.Sort(src.asked)
	if !slices.Equal(src.asked, []string{"a", "b", "c", "d", "gone"}) {
		t.Errorf("each target is read once: %v", src.asked)
	}
	if !slices.Equal(h.Get("nets").([]any), []any{"d", "gone"}) || h.Get("net") != "a" {
		t.Error("the object was altered")
	}
	src.fail = "c"
	if _, err := model.Deep(t.Context(), reg, src, h); !errors.Is(err, world.ErrUnavailable) {
		t.Errorf("a source that fails: %v", err)
	}
}

// TestKeysOfAMapAreNames: a map of nested objects has keys that are no fields, also where a field is called so.
func TestKeysOfAMapAreNames(t *testing.T) {
	reg, src, _, _ := house(t)
	net, err := reg.Model("Net")
	if err != nil {
		t.Fatal(err)
	}
	card := define(t, model.Spec{Name: "Port", Fields: []model.Field{{Key: "net", Type: text, Target: "Net"}}})
	rack := define(t, model.Spec{Name: "Rack", Table: "rack", Fields: []model.Field{{Key: "slots", Type: &schema.Type{Kind: schema.KindMap}, Nested: card}}})
	o := made(t, rack, map[string]any{"id": "r", "slots": map[string]any{
		"net": map[string]any{"id": "k", "net": made(t, net, map[string]any{"id": "d"})}, "id": map[string]any{"id": "l", "net": "d"}, "other": map[string]any{"id": "m"},
	}})
	v := model.NewView(t.Context(), o, reg, src)
	for path, want := range map[string]any{
		"slots.net.id": "k", "slots.net.net": "d", "slots.net.net.label": "none", "slots.id.id": "l", "slots.id.net.label": "none", "slots.other.id": "m", "slots.absent.id": nil,
	} {
		if got, err := v.Get(t.Context(), path); err != nil || got != want {
			t.Errorf("%s: %v, %v; want %v", path, got, err, want)
		}
	}
	if all, err := model.Refs(t.Context(), reg, src, o); err != nil || ids(all) != "d" {
		t.Errorf("the targets are %q: %v", ids(all), err)
	}
	out, err := model.Deep(t.Context(), reg, src, o)
	if want := "map[id:map[id:l net:map[id:d label:none]] net:map[id:k net:map[id:d label:none]] other:map[id:m]]"; err != nil || fmt.Sprint(out["slots"]) != want {
		t.Errorf("%v, want %s: %v", out["slots"], want, err)
	}
}
