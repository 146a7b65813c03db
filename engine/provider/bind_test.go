package provider_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/reactivegraph/mgmt/engine/provider"
	"github.com/reactivegraph/mgmt/engine/provider/puppettype"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// bound is a struct with a field of each sort.
type bound struct {
	ID     string                             `attr:"id"`
	Ensure string                             `attr:"ensure"`
	Flag   provider.Opt[bool]                 `attr:"flag"`
	Port   provider.Opt[uint16]               `attr:"port"`
	Big    uint64                             `attr:"big"`
	Ratio  float64                            `attr:"ratio"`
	Words  []string                           `attr:"words"`
	Sizes  map[string][]int8                  `attr:"sizes"`
	When   provider.Opt[time.Time]            `attr:"stamp"`
	Span   provider.Opt[time.Duration]        `attr:"span"`
	Raw    []byte                             `attr:"raw"`
	Secret provider.Opt[schema.Secret]        `attr:"secret"`
	Pin    provider.Opt[puppettype.Sensitive] `attr:"pin"`
	Free   any                                `attr:"free"`
	Force  provider.Opt[bool]                 `attr:"force"`
}

var boundAttributes = []provider.Attribute{
	{Name: "id", Type: "Pattern[/^.*$/]", Role: provider.Namevar},
	{Name: "ensure", Type: "Enum[present, absent]"},
	{Name: "flag", Type: "Optional[Boolean]"},
	{Name: "port", Type: "Optional[Integer[1, 65535]]"},
	{Name: "big", Type: "Integer[0]"},
	{Name: "ratio", Type: "Float[0.0, 1.0]"},
	{Name: "words", Type: "Array[Enum[a, b]]"},
	{Name: "sizes", Type: "Hash[String[1], Array[Integer[-1, 5]]]"},
	{Name: "stamp", Type: "Optional[Timestamp]"},
	{Name: "span", Type: "Optional[Timespan]"},
	{Name: "raw", Type: "Binary"},
	{Name: "secret", Type: "Optional[String]", Sensitive: true},
	{Name: "pin", Type: "Optional[Sensitive[Integer]]"},
	{Name: "free", Type: "Variant[Integer, Undef, Array[String]]"},
	{Name: "force", Type: "Optional[Boolean]", Role: provider.Parameter},
}

func boundDefinition() provider.Definition {
	d := provider.Definition{Name: "bound", Doc: "x", Attributes: append([]provider.Attribute(nil), boundAttributes...)}
	for i := range d.Attributes {
		d.Attributes[i].Doc = "x"
	}
	return d
}

// typedThings is a typed provider that keeps what it is given.
type typedThings[T any] struct {
	things  []T
	changes []provider.TypedChange[T]
	err     error
}

func (p *typedThings[T]) Get(context.Context, *provider.Runtime, provider.Filter) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, v := range p.things {
			if !yield(v, nil) {
				return
			}
		}
		if p.err != nil {
			var none T
			yield(none, p.err)
		}
	}
}

func (p *typedThings[T]) Set(_ context.Context, _ *provider.Runtime, c []provider.TypedChange[T]) error {
	p.changes = append(p.changes, c...)
	return p.err
}

func bind(t testing.TB, p provider.TypedProvider[bound], d provider.Definition) provider.Provider {
	t.Helper()
	make, err := provider.Bind(d, func() provider.TypedProvider[bound] { return p })
	if err != nil {
		t.Fatal(err)
	}
	return make()
}

func runtimeFor(t testing.TB, titles ...string) *provider.Runtime {
	kind, err := provider.New(boundDefinition(), func() provider.Provider { return anyProvider{} })
	if err != nil {
		t.Fatal(err)
	}
	return &provider.Runtime{Type: kind, Log: provider.NewLogger(provider.LogOptions{Titles: titles})}
}

// drawRecord draws what a resource of the bound type may want.
func drawRecord(t *rapid.T) provider.Record {
	small := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) any { return rapid.Int64Range(-1, 5).Draw(t, "n") }), 0, 3)
	all := provider.Record{
		"id": rapid.String().Draw(t, "id"), "ensure": rapid.SampledFrom([]string{"present", "absent"}).Draw(t, "ensure"),
		"flag": rapid.Bool().Draw(t, "flag"), "port": rapid.Int64Range(1, 65535).Draw(t, "port"),
		"big": rapid.Int64Range(0, math.MaxInt64).Draw(t, "big"), "ratio": rapid.Float64Range(0, 1).Draw(t, "ratio"),
		"words": []any{"a", "b"}[:rapid.IntRange(0, 2).Draw(t, "words")],
		"sizes": map[string]any{rapid.StringN(1, 3, -1).Draw(t, "key"): small.Draw(t, "sizes")},
		"stamp": time.Unix(rapid.Int64Range(0, 1e9).Draw(t, "stamp"), 0).UTC(), "span": time.Duration(rapid.Int64().Draw(t, "span")),
		"raw": rapid.SliceOfN(rapid.Byte(), 1, 4).Draw(t, "raw"), "secret": schema.NewSecret(rapid.String().Draw(t, "secret")),
		"pin":  puppettype.NewSensitive(rapid.Int64().Draw(t, "pin")),
		"free": rapid.SampledFrom([]any{int64(5), []any{"x"}, []any{}}).Draw(t, "free"),
	}
	for _, a := range boundAttributes {
		if a.Name == "id" || !strings.HasPrefix(a.Type, "Optional") {
			continue
		}
		switch rapid.IntRange(0, 3).Draw(t, a.Name) {
		case 0:
			delete(all, a.Name)
		case 1:
			all[a.Name] = nil
		}
	}
	delete(all, "force")
	return all
}

// TestBindLaw holds that a record that goes through a struct is the same, undef and
// unset kept apart.
func TestBindLaw(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := &typedThings[bound]{}
		untyped := bind(t, p, boundDefinition())
		in := drawRecord(rt)
		run := runtimeFor(t, "x")
		if err := untyped.Set(t.Context(), run, []provider.Change{{Title: "x", Should: in}}); err != nil {
			rt.Fatal(err)
		}
		if len(p.changes) != 1 {
			rt.Fatal(run.Log.Status("x"))
		}
		p.things = []bound{p.changes[0].Should}
		for out, err := range untyped.Get(t.Context(), run, provider.Filter{All: true}) {
			if err != nil || !sameRecord(in, out) {
				rt.Fatalf("%#v came back as %#v, %v", in, out, err)
			}
		}
	})
}

func sameRecord(a, b provider.Record) bool {
	return reflect.DeepEqual(openRecord(a), openRecord(b))
}

// openRecord reveals secrets, for the comparison.
func openRecord(r provider.Record) map[string]any {
	out := map[string]any{}
	for k, v := range r {
		switch s := v.(type) {
		case schema.Secret:
			v = []any{"secret", s.Reveal()}
		case puppettype.Sensitive:
			v = []any{"secret", s.Reveal()}
		}
		out[k] = v
	}
	return out
}

// TestBindChange holds what a typed provider is given.
func TestBindChange(t *testing.T) {
	p := &typedThings[bound]{}
	run := runtimeFor(t, "x", "y", "z")
	err := bind(t, p, boundDefinition()).Set(t.Context(), run, []provider.Change{
		{Title: "x", Name: provider.NameOf("x"), Is: provider.State{Presence: provider.Known, Record: provider.Record{"id": "x", "big": int64(1)}},
			Should: provider.Record{"id": "x", "big": new(big.Int).SetUint64(math.MaxUint64), "force": true, "pin": schema.NewSecret("5")}, Noop: true},
		{Title: "y", Is: provider.State{Presence: provider.Absent}, Should: provider.Record{"big": new(big.Int).Lsh(big.NewInt(1), 70)}},
		{Title: "z", Should: provider.Record{"port": int64(70000), "ratio": "much"}},
	})
	if err != nil || len(p.changes) != 1 {
		t.Fatal(err, p.changes)
	}
	c := p.changes[0]
	if c.Title != "x" || c.Name != provider.NameOf("x") || c.Presence != provider.Known || !c.Noop || c.Is.Big != 1 || c.Should.Big != math.MaxUint64 {
		t.Errorf("%+v", c)
	}
	if force, ok := c.Should.Force.Get(); !ok || !force || c.Should.Flag.Set || c.Should.Pin.Value.Reveal() != "5" {
		t.Errorf("%+v", c.Should)
	}
	for title, want := range map[string]string{"y": "big: a uint64 can't hold this value, which is a *big.Int",
		"z": "port: a uint16 can't hold this value, which is a int64\nratio: a float64 can't hold this value, which is a string"} {
		if s, text := run.Log.Status(title); s != provider.Failed || text != want {
			t.Errorf("%s: %v %q", title, s, text)
		}
	}
}

// TestBindGet holds that parameters are not read back, and errors are passed on.
func TestBindGet(t *testing.T) {
	boom := errors.New("boom")
	p := &typedThings[bound]{things: []bound{{ID: "x", Force: provider.Some(true)}}, err: boom}
	var got []provider.Record
	var last error
	for rec, err := range bind(t, p, boundDefinition()).Get(t.Context(), runtimeFor(t), provider.Filter{All: true}) {
		got, last = append(got, rec), err
	}
	if !errors.Is(last, boom) || len(got) != 2 || got[1] != nil {
		t.Error(got, last)
	}
	if _, there := got[0]["force"]; there || got[0]["id"] != "x" || got[0]["port"] != nil {
		t.Error(got[0])
	}
}

// TestBindRefusals holds that everything that does not fit is said at once.
func TestBindRefusals(t *testing.T) {
	type wrong struct {
		ID     string               `attr:"id"`
		Again  string               `attr:"id"`
		Ensur  string               `attr:"ensur"`
		Flag   bool                 `attr:"flag"`
		Port   provider.Opt[int8]   `attr:"port"`
		Big    int32                `attr:"big"`
		Ratio  float32              `attr:"ratio"`
		Words  []int                `attr:"words"`
		Sizes  map[int]string       `attr:"sizes"`
		Secret provider.Opt[string] `attr:"secret"`
		pin    any                  `attr:"pin"`
	}
	_ = wrong{}.pin
	_, err := provider.Bind(boundDefinition(), func() provider.TypedProvider[wrong] { return &typedThings[wrong]{} })
	if err == nil {
		t.Fatal("no error")
	}
	compareGolden(t, "testdata/bind.txt", err.Error()+"\n")
	if _, err := provider.Bind(boundDefinition(), func() provider.TypedProvider[int] { return nil }); err == nil || !strings.Contains(err.Error(), "a struct is wanted") {
		t.Error(err)
	}
	broken := boundDefinition()
	broken.Attributes[0].Type = "Strin"
	if _, err := provider.Bind(broken, func() provider.TypedProvider[bound] { return nil }); err == nil || !strings.Contains(err.Error(), "Strin") {
		t.Error(err)
	}
	for _, make := range []func() provider.TypedProvider[bound]{nil, func() provider.TypedProvider[bound] { return nil }, func() provider.TypedProvider[bound] { panic("boom") }} {
		if _, err := provider.Bind(boundDefinition(), make); err == nil {
			t.Error("no error")
		}
	}
}

// typedExtras has the optional methods in their typed forms.
type typedExtras struct{ typedThings[bound] }

func (p *typedExtras) Canonicalize(_ context.Context, _ *provider.Runtime, list []bound) ([]bound, error) {
	for i := range list {
		list[i].ID, list[i].Ensure = strings.ToUpper(list[i].ID), "present"
		if list[i].Port.Set {
			list[i].Flag = provider.Some(true)
		}
		if list[i].ID == "MORE" {
			return append(list, list[i]), nil
		}
	}
	return list, p.err
}

func (p *typedExtras) Find(_ context.Context, _ *provider.Runtime, n provider.Name) (bound, bool, error) {
	return bound{ID: n.String(), Force: provider.Some(true)}, n != provider.NameOf("none"), p.err
}

func (p *typedExtras) Refresh(_ context.Context, _ *provider.Runtime, c []provider.TypedChange[bound]) error {
	p.changes = append(p.changes, c...)
	return p.err
}

func (p *typedExtras) Close() error { return errors.New("closed") }

func TestBindExtras(t *testing.T) {
	d := boundDefinition()
	d.Features = provider.Canonicalize | provider.Find | provider.Refreshable
	p := &typedExtras{}
	b := bind(t, p, d)
	run := runtimeFor(t, "x")
	in := []provider.Record{{"id": "a", "port": int64(1)}, {"id": "b", "ensure": "absent"}}
	out, err := b.(provider.Canonicalizer).Canonicalize(t.Context(), run, in)
	want := []provider.Record{{"id": "A", "port": int64(1), "flag": true}, {"id": "B", "ensure": "present"}}
	if err != nil || !reflect.DeepEqual(out, want) {
		t.Error(out, err)
	}
	if _, err := b.(provider.Canonicalizer).Canonicalize(t.Context(), run, []provider.Record{{"id": "more"}}); err == nil || !strings.Contains(err.Error(), "2 records for 1") {
		t.Error(err)
	}
	if _, err := b.(provider.Canonicalizer).Canonicalize(t.Context(), run, []provider.Record{{"big": "x"}}); err == nil {
		t.Error("a record that does not fit is passed on")
	}
	rec, found, err := b.(provider.Finder).Find(t.Context(), run, provider.NameOf("x"))
	if err != nil || !found || rec["id"] != "x" || rec["force"] != nil {
		t.Error(rec, found, err)
	}
	if rec, found, err = b.(provider.Finder).Find(t.Context(), run, provider.NameOf("none")); rec != nil || found || err != nil {
		t.Error(rec, found, err)
	}
	if err := b.(provider.Refresher).Refresh(t.Context(), run, []provider.Change{{Title: "x"}}); err != nil || len(p.changes) != 1 {
		t.Error(err)
	}
	closer, _ := provider.As[provider.Closer](b)
	if err := closer.Close(); err == nil || err.Error() != "closed" {
		t.Error(err)
	}
}

// Providers with the methods that are found by themselves.
type (
	plainTyped struct{ typedThings[bound] }
	watching   struct{}
	stamping   struct{}
	closing    struct{}
)

func (watching) Watch(context.Context, *provider.Runtime, func(), func(...provider.Name)) error {
	return errors.New("watched")
}
func (stamping) Stamp(context.Context, *provider.Runtime) (string, error) { return "s", nil }
func (closing) Close() error                                              { return errors.New("closed") }

// TestBindDress holds that a bound provider watches, stamps and closes exactly if the
// author's does.
func TestBindDress(t *testing.T) {
	base := func() *typedThings[bound] { return &typedThings[bound]{} }
	for i, p := range []provider.TypedProvider[bound]{
		base(),
		struct {
			*typedThings[bound]
			watching
		}{base(), watching{}},
		struct {
			*typedThings[bound]
			stamping
		}{base(), stamping{}},
		struct {
			*typedThings[bound]
			watching
			stamping
		}{base(), watching{}, stamping{}},
		struct {
			*typedThings[bound]
			closing
		}{base(), closing{}},
		struct {
			*typedThings[bound]
			watching
			closing
		}{base(), watching{}, closing{}},
		struct {
			*typedThings[bound]
			stamping
			closing
		}{base(), stamping{}, closing{}},
		struct {
			*typedThings[bound]
			watching
			stamping
			closing
		}{base(), watching{}, stamping{}, closing{}},
	} {
		b := bind(t, p, boundDefinition())
		w, watches := provider.As[provider.Watcher](b)
		s, stamps := provider.As[provider.Stamper](b)
		c, closes := provider.As[provider.Closer](b)
		if got := fmt.Sprint(watches, stamps, closes); got != fmt.Sprint(i&1 != 0, i&2 != 0, i&4 != 0) {
			t.Errorf("%d: %s", i, got)
		}
		if watches && w.Watch(t.Context(), nil, nil, nil).Error() != "watched" {
			t.Error("another Watch")
		}
		if stamps {
			if text, _ := s.Stamp(t.Context(), nil); text != "s" {
				t.Error("another Stamp")
			}
		}
		if closes && c.Close().Error() != "closed" {
			t.Error("another Close")
		}
	}
}

// TestBindFeatures holds that a feature needs its method, in one of its two forms.
func TestBindFeatures(t *testing.T) {
	d := boundDefinition()
	d.Features = provider.Canonicalize | provider.Find | provider.Refreshable | provider.CustomInSync
	_, err := provider.Bind(d, func() provider.TypedProvider[bound] { return &plainTyped{} })
	if err == nil || strings.Count(err.Error(), "has no method of that name") != 4 {
		t.Error(err)
	}
	untyped := struct {
		*typedThings[bound]
		untypedExtras
	}{&typedThings[bound]{}, untypedExtras{}}
	b := bind(t, untyped, d)
	run := runtimeFor(t)
	if out, err := b.(provider.Canonicalizer).Canonicalize(t.Context(), run, []provider.Record{{"id": "x"}}); err != nil || out[0]["id"] != "x" {
		t.Error(out, err)
	}
	if _, found, err := b.(provider.Finder).Find(t.Context(), run, provider.Name{}); found || err != nil {
		t.Error(found, err)
	}
	if err := b.(provider.Refresher).Refresh(t.Context(), run, nil); err != nil {
		t.Error(err)
	}
	if a, _, err := b.(provider.InSyncer).InSync(t.Context(), run, provider.Name{}, "x", nil, nil); a != provider.Default || err != nil {
		t.Error(a, err)
	}
}

// untypedExtras has the optional methods with records.
type untypedExtras struct{}

func (untypedExtras) Canonicalize(ctx context.Context, rt *provider.Runtime, r []provider.Record) ([]provider.Record, error) {
	return anyProvider{}.Canonicalize(ctx, rt, r)
}
func (untypedExtras) Find(ctx context.Context, rt *provider.Runtime, n provider.Name) (provider.Record, bool, error) {
	return anyProvider{}.Find(ctx, rt, n)
}
func (untypedExtras) Refresh(context.Context, *provider.Runtime, []provider.Change) error { return nil }
func (untypedExtras) InSync(context.Context, *provider.Runtime, provider.Name, string, provider.Record, provider.Record) (provider.Answer, string, error) {
	return provider.Default, "", nil
}
