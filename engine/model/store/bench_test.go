package store_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/model/store"
	"github.com/reactivegraph/mgmt/engine/schema"
)

const objects = 100_000

// filled returns a store with many objects of a model with three indexes; 20 objects share each value of group.
func filled(tb testing.TB, s model.Store) (*model.Model, int) {
	text := &schema.Type{Kind: schema.KindString}
	m, err := model.Define(model.Spec{
		Name: "Item", Table: "item", Mixins: []model.Mixin{model.Topic, model.Version},
		Fields:  []model.Field{{Key: "mac", Type: text}, {Key: "group", Type: text}},
		Indexes: map[string][]string{"mac": {"mac"}, "topic": {"topic"}, "group": {"group", "topic"}},
	})
	if err != nil {
		tb.Fatal(err)
	}
	before := heap()
	for i := range objects {
		o, err := m.New(map[string]any{
			"id": fmt.Sprintf("object-%06d", i), "topic": fmt.Sprintf("host:%04d", i%1000), "version": 1,
			"mac": fmt.Sprintf("52:54:00:%06d", i), "group": fmt.Sprintf("g%05d", i/20),
		})
		if err != nil {
			tb.Fatal(err)
		}
		if err := s.Put(o); err != nil {
			tb.Fatal(err)
		}
	}
	return m, int(heap()-before) / objects
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func BenchmarkStore(b *testing.B) {
	for name, s := range map[string]model.Store{"maps": store.Maps(), "btree": store.BTree()} {
		m, size := filled(b, s)
		ids := make([]string, 1024)
		for i := range ids {
			ids[i] = fmt.Sprintf("object-%06d", i*97%objects)
		}
		b.Run(name+"/get", func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				if o, err := s.Get(b.Context(), m, ids[i%len(ids)]); err != nil || o == nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(size), "B/object")
		})
		for index, where := range map[string]map[string]any{"mac": {"mac": "52:54:00:004711"}, "topic": {"topic": "host:0007"}, "group": {"group": "g00077"}} {
			b.Run(name+"/"+index, func(b *testing.B) {
				hits := 0
				for b.Loop() {
					list, err := s.List(b.Context(), model.Query{Model: m, Index: index, Where: where})
					if err != nil || len(list) == 0 {
						b.Fatal(err)
					}
					hits = len(list)
				}
				b.ReportMetric(float64(hits), "hits")
			})
		}
		b.Run(name+"/put", func(b *testing.B) {
			var olds [2]*model.Object
			for i := range olds {
				olds[i], _ = m.New(map[string]any{"id": "object-000500", "topic": "host:0500", "version": i, "mac": fmt.Sprint("x", i), "group": "g"})
			}
			for i := 0; b.Loop(); i++ {
				if err := s.Put(olds[i%2]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
