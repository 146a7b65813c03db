package main

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/provider"
	"github.com/reactivegraph/mgmt/engine/provider/puppettype"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/static"
)

// typeRows are about types as data.
// A type as data is a provider.Definition: no Go struct stands for its resources.
func typeRows() []row {
	return []row{
		{"10,000 things of one type", library, "a graph of plain values handed to Run, to converged; Get returns 10,000 records", "300 ms, one Get", things},
		{"one of 10,000 things changed from the outside", library, "the provider tells, to the thing set right; median of 99", "one Get to see it, one CheckApply", thingChanged},
		{"checking a value against a type", library, "the slowest of seven scalar types", "1µs, no allocation", checkValue},
	}
}

// shop holds the things: a provider that counts its calls.
// Its lock guards all fields but the channels. The provider may be called from several
// goroutines.
type shop struct {
	mu         sync.Mutex
	things     []provider.Record
	gets, sets int
	seen       int // Gets before the last Set
	news       chan provider.Name
	set        chan time.Time
}

// All of them come from one Get, when the provider can list.
// thingsEach is the number of things. It is the size of a large type of a real provider, such as rules of a firewall.
const thingsEach = 10_000

// newShop fills a shop with things that are as they should be. Its channels have no room: each news and each
// Set meets its reader, so no change is counted twice.
func newShop() *shop {
	s := &shop{news: make(chan provider.Name), set: make(chan time.Time)}
	for i := range thingsEach {
		s.things = append(s.things, thing(i))
	}
	return s
}

// thingName is the title of a thing. Set reads the number from it.
func thingName(i int) string { return fmt.Sprintf("thing %d", i) }

// This is the right state of a thing, and the graph declares the same.
// thing is the record of a thing.
func thing(i int) provider.Record {
	return provider.Record{"ensure": "present", "name": thingName(i), "size": int64(i), "text": "as it should be", "tags": []any{"a", "b"}}
}

// Without a filter of names it yields all things. The lock is held while the reader runs,
// so a reader must not call the shop.
// Get counts how often the provider is read.
func (s *shop) Get(_ context.Context, _ *provider.Runtime, f provider.Filter) iter.Seq2[provider.Record, error] {
	return func(yield func(provider.Record, error) bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.gets++
		for _, t := range s.things {
			if (f.All || f.Has(provider.NameOf(t["name"].(string)))) && !yield(t, nil) {
				return
			}
		}
	}
}

// It tells the time on a channel that only thingChanged reads: the row things never has a
// change.
// Set puts things right, and notes how many Gets came before it.
func (s *shop) Set(_ context.Context, _ *provider.Runtime, changes []provider.Change) error {
	s.mu.Lock()
	s.sets += len(changes)
	s.seen = s.gets
	for _, c := range changes {
		var i int
		_, err := fmt.Sscanf(c.Title, "thing %d", &i)
		must(err)
		s.things[i] = thing(i)
	}
	s.mu.Unlock()
	s.set <- time.Now()
	return nil
}

// Armed is called before the first wait, as the contract of Watch asks.
// Watch passes on the news of changes from the outside, by name.
func (s *shop) Watch(ctx context.Context, _ *provider.Runtime, armed func(), changed func(...provider.Name)) error {
	armed()
	for {
		select {
		case <-ctx.Done():
			return nil
		case n := <-s.news:
			changed(n)
		}
	}
}

// spoil changes one thing from the outside, and returns how often Get was called.
// It sends no news: the caller starts its clock first.
func (s *shop) spoil(i int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := thing(i)
	t["text"] = "something else"
	s.things[i] = t
	return s.gets
}

// Its attributes have one of each common type. Pattern and Enum make checking cost time.
// thingType is the type that all rows use; the row sets its features.
var thingType = provider.Definition{
	Name: "thing", Doc: "A thing in a shop.",
	Attributes: []provider.Attribute{
		{Name: "ensure", Type: "Enum[present, absent]", Doc: "Whether it is there.", Default: "present", HasDefault: true},
		{Name: "name", Type: "String[1]", Doc: "Its name.", Role: provider.Namevar},
		{Name: "size", Type: "Optional[Integer[0]]", Doc: "Its size."},
		{Name: "text", Type: "Optional[Pattern[/^[a-z ]*$/]]", Doc: "What is on it."},
		{Name: "tags", Type: "Optional[Array[String[1]]]", Doc: "What it is called too."},
	},
}

// openShop runs 10,000 things until they have converged, and says when it began.
// Each call makes a kind and a registry of its own, so rounds do not share a cache.
func openShop(features provider.Features) (*shop, *running, time.Time) {
	s := newShop()
	d := thingType
	d.Features = features
	// The features say whether the engine may ask for a few names, or always gets the whole list.
	// With a filter the answer to one change is one record.
	kind, err := provider.New(d, func() provider.Provider { return s })
	must(err)
	kinds, err := engine.DefaultRegistry().With(kind.Name(), kind.New)
	must(err)
	decls := make([]gapi.Declaration, thingsEach)
	for i := range decls {
		node, err := schema.NodeOf(map[string]any{"size": int64(i), "text": "as it should be", "tags": []any{"a", "b"}})
		must(err)
		decls[i] = gapi.Declaration{Kind: kind.Name(), Name: thingName(i), Value: node}
	}
	begin := time.Now()
	r := start(static.New(&gapi.Declared{Name: "bench", Resources: decls}), mgmt.Options{Registry: kinds})
	return s, r, begin
}

// A Get for each thing would be ten thousand; exactly one is right.
// things measures a start: every thing is read and right, and nothing is set.
func things(*bench) result {
	var took []time.Duration
	gets := 0
	for range 5 {
		s, r, begin := openShop(0)
		took = append(took, r.rest().Sub(begin))
		r.close()
		gets = max(gets, s.gets)
	}
	m := median(took)
	return result{Figure: fmt.Sprintf("%s, %d Get", round(m), gets), OK: m < 300*time.Millisecond && gets == 1}
}

// It runs once for a provider that lists all, and once for one with a filter of names.
// Each change costs one Get to see it and one Set.
// thingChanged measures the repair of one thing, from the news of it to the Set.
func thingChanged(*bench) result {
	var text string
	ok := true
	for _, c := range []struct {
		words    string
		features provider.Features
	}{{"all at once", 0}, {"by name", provider.SimpleGetFilter}} {
		s, r, _ := openShop(c.features)
		r.rest()
		var took []time.Duration
		most := 0
		for i := range 99 {
			before := s.spoil(i)
			begin := time.Now()
			s.news <- provider.NameOf(thingName(i))
			took = append(took, (<-s.set).Sub(begin))
			r.rest()
			most = max(most, s.seen-before)
		}
		r.close()
		if text != "" {
			text += "; "
		}
		text += fmt.Sprintf("%s: %s, %d Get, %d set", c.words, round(median(took)), most, s.sets)
		ok = ok && most == 1 && s.sets == 99
	}
	return result{Figure: text, OK: ok}
}

// The check of a right value must not allocate, since each value of each resource passes
// it.
// checkValue measures one check of the slowest scalar type. The value is right, as nearly all values are.
func checkValue(*bench) result {
	var slowest time.Duration
	var allocs int64
	for text, v := range map[string]any{
		"Boolean": true, "Integer[0, 65535]": int64(22), "Float[0.0, 1.0]": 0.5, "String[1, 64]": "some text",
		"Enum[present, absent]": "absent", "Pattern[/^[a-z]+$/]": "letters", "Optional[Variant[Integer, String[1]]]": "x",
	} {
		t := puppettype.MustParse(text)
		r := testing.Benchmark(func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if t.Check("thing.value", v) != nil {
					panic(text)
				}
			}
		})
		slowest = max(slowest, time.Duration(r.NsPerOp()))
		allocs = max(allocs, r.AllocsPerOp())
	}
	return result{
		Figure: fmt.Sprintf("%s, %d allocations", slowest, allocs),
		OK:     slowest < time.Microsecond && allocs == 0,
	}
}
