package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"go.etcd.io/bbolt"

	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/model/store"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/bolt"
)

// modelRows measure objects of models: the stores in memory with 100,000 objects, and the NB API on a file.
//
// A store has no floor: a bare map answers no question by an index. The limits are absolute, and hold for the store
// maps, which is the default. The other stores have wider limits, so that their rows show a change and no more. The
// linear store looks at each object for each question, so it has few objects and few questions.
//
// An update on bolt has a floor: a commit of the same size to a file of bbolt that has nothing else. Both files are in
// the same folder, and the commits take turns, so a slow disk slows both. Both have 10,000 objects: a file with a single
// key is one page, and no store is that.
func modelRows() []row {
	const clock = "processor time of the process, for a question"
	return []row{
		{"a get by id and by index among 100,000 objects, store maps", library, clock, "1 µs; 2 µs + 0.2 µs a hit; 1.4 KB an object", func(*bench) result {
			return askStore(store.Maps(), 100_000, 1)
		}},
		{"a get by id and by index among 100,000 objects, store btree", library, clock, "10 x the limits of maps", func(*bench) result {
			return askStore(store.BTree(), 100_000, 10)
		}},
		{"a get by id and by index among 1,000 objects, store linear", library, clock, "none: it is the oracle of the tests", func(*bench) result {
			return askStore(store.NewLinear(), 1000, 100_000)
		}},
		{"an update of one object on bolt", library, "commits, with the hooks and checks of the NB API, one after the other; the floor is a bare commit of bbolt of the same size in the same run",
			"1.3 x a bare commit", updateObjects},
		{"a create of one object on bolt", library, "the same; the bare commit has the record and the key with its topic, too", "1.3 x a bare commit", createObjects},
		{"updates by 16 writers on bolt", library, "from the first update to the last one, for each of 3,200; the floor is a bare commit alone", "0.5 x a bare commit: groups share one", updateByMany},
	}
}

// itemModel has three indexes: topic, mac, and a tuple. Most objects of a real model have fewer.
func itemModel() *model.Model {
	text := &schema.Type{Kind: schema.KindString}
	m, err := model.Define(model.Spec{
		Name: "Item", Table: "item", Mixins: []model.Mixin{model.Topic, model.Version},
		Fields:  []model.Field{{Key: "mac", Type: text}, {Key: "group", Type: text}},
		Indexes: map[string][]string{"mac": {"mac"}, "group": {"group", "topic"}},
	})
	must(err)
	return m
}

// makeItem makes an object; 20 objects share a group, and the hosts share all objects.
func makeItem(m *model.Model, i, version int) *model.Object {
	o, err := m.New(map[string]any{
		"id": fmt.Sprintf("object-%06d", i), "topic": fmt.Sprintf("host:%04d", i%1000), "version": version,
		"mac": fmt.Sprintf("52:54:00:%06d", i), "group": fmt.Sprintf("g%05d", i/20),
	})
	must(err)
	return o
}

// askStore counts processor time, which a busy machine alters little. It fills a store, and asks by id, and by an index with few and with many hits.
func askStore(s model.Store, n int, slack float64) result {
	m := itemModel()
	var before, after runtime.MemStats // the heap of a filled store, without garbage
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range n {
		must(s.Put(makeItem(m, i, 1)))
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	// all that an object costs: its fields, its keys, and its place in each index
	size := float64(after.HeapAlloc-before.HeapAlloc) / float64(n)
	ctx := context.Background()
	rounds := int(200_000 / slack)
	get := ask(rounds, n, func(i int) func() int {
		id := fmt.Sprintf("object-%06d", i)
		return func() int {
			_, err := s.Get(ctx, m, id)
			must(err)
			return 1
		}
	})
	by := func(index, path, format string, mod int) asked {
		return ask(rounds, n, func(i int) func() int {
			q := model.Query{Model: m, Index: index, Where: map[string]any{path: fmt.Sprintf(format, i%mod)}}
			return func() int {
				list, err := s.List(ctx, q)
				must(err)
				return len(list)
			}
		})
	}
	// one hit, and the hundred objects of a host
	one, many := by("mac", "mac", "52:54:00:%06d", n), by("topic", "topic", "host:%04d", min(n, 1000))
	most := func(hits int) time.Duration {
		return time.Duration(slack * float64(2000+200*hits))
	}
	return result{
		Figure: fmt.Sprintf("%s; %s, %s for %d hits; %.0f B an object", get.took, one.took, many.took, many.hits, size),
		OK:     get.took <= most(-5) && one.took <= most(1) && many.took <= most(many.hits) && (size <= 1400 || slack > 10),
	}
}

// asked has the time of an answer, and the number of objects in the last answer. All questions of a sort have as many.
type asked struct {
	took time.Duration
	hits int
}

// ask asks questions that are made before the clock starts, so that it measures the answers alone. Their keys are from
// all over the store, so that the cache of the processor does not have everything.
func ask(rounds, n int, question func(i int) func() int) (a asked) {
	// not all of them are kept at once; they are asked again from the beginning
	questions := make([]func() int, min(max(rounds, 1), 20_000))
	for i := range questions {
		questions[i] = question(i * 7919 % n)
	}
	begin := cpu()
	for i := range max(rounds, 1) {
		a.hits = questions[i%len(questions)]()
	}
	a.took = (cpu() - begin) / time.Duration(max(rounds, 1))
	return a
}

// fill puts objects into both files, many in a commit.
func fill(ctx context.Context, w world.World, bare *bbolt.DB, value []byte, n int) {
	for begin := 0; begin < n; begin += 100 {
		var ops []world.Op
		for i := range 100 {
			ops = append(ops, world.Op{Key: fmt.Sprintf("m/host:%04d/item/object-%06d", (begin+i)%1000, begin+i+1), Value: value})
		}
		_, _, err := w.Txn(ctx, nil, ops)
		must(err)
		must(bare.Update(func(tx *bbolt.Tx) error {
			bucket, err := tx.CreateBucketIfNotExists([]byte("b"))
			must(err)
			for _, op := range ops {
				must(bucket.Put([]byte(op.Key), value))
			}
			return nil
		}))
	}
}

// A commit has two syncs in bbolt: of the pages, and of the page that leads to them. Each takes most of the time on a disk,
// and nothing in memory. There the ratio would be that of the processor's work, 3 to 4, which no user sees.

// inMemory is the figure of a row that needs a disk and has none.
const inMemory = "not measured: the working folder is in memory"

// onBolt is a World in a file, with a bare file of bbolt that has as many objects.
// The files are in one folder, so that both meet the same disk.
type onBolt struct {
	w     world.World
	bare  *bbolt.DB
	nb    *model.NB // as a daemon has it, without hooks of its own
	m     *model.Model
	value []byte // about the size of a record, with its envelope
	dir   string // on a disk: in memory nothing is made durable, which is most of a commit
}

// openBoth fills both files with 10,000 objects. The caller closes them. It returns nil where the working folder is in memory.
func openBoth(b *bench) *onBolt {
	dir, err := os.MkdirTemp(filepath.Dir(b.binary), "bench-")
	must(err)
	if fsName(dir) == "tmpfs" {
		must(os.RemoveAll(dir))
		return nil
	}
	w, err := bolt.Open(filepath.Join(dir, "world.db"), bolt.Options{})
	must(err)
	bare, err := bbolt.Open(filepath.Join(dir, "bare.db"), 0o600, nil)
	must(err)
	reg, m := model.NewRegistry(nil), itemModel()
	must(reg.Add(m))
	o := &onBolt{w: w, bare: bare, nb: model.Open(w, reg, model.Options{}), m: m, value: make([]byte, 180), dir: dir}
	fill(context.Background(), w, bare, o.value, 10_000)
	return o
}

// close waits for the last commit of the World, too.
// The folder goes with the files, since they are not in the folder of the row.
func (o *onBolt) close() {
	must(o.bare.Close())
	must(o.w.Close())
	must(os.RemoveAll(o.dir))
}

// commit is a bare commit of some keys. The value differs each time.
// bbolt writes a page only if it was altered, but does not compare values.
func (o *onBolt) commit(i int, keys ...string) {
	must(o.bare.Update(func(tx *bbolt.Tx) error {
		o.value[0] = byte(i)
		must(tx.Bucket([]byte("b")).Put([]byte(keys[0]), o.value))
		for _, key := range keys[1:] {
			must(tx.Bucket([]byte("b")).Put([]byte(key), []byte("host:0000")))
		}
		return nil
	}))
}

// byTurns measures a write to the World and a bare commit in turns, so that both meet the same disk. The disk of a shared machine
// is uneven, so the median of many counts.
func byTurns(b *bench, write func(i int), floor func(i int)) result {
	rounds := 400
	if b.quick {
		rounds = 40
	}
	var took, floors []time.Duration
	for i := range rounds {
		begin := time.Now()
		write(i)
		took = append(took, time.Since(begin))
		begin = time.Now()
		floor(i)
		floors = append(floors, time.Since(begin))
	}
	return versus(median(took), median(floors), 1.3)
}

// updateObjects updates one object again and again, since another key would cost both sides the same.
func updateObjects(b *bench) result {
	o, ctx := openBoth(b), context.Background()
	if o == nil {
		return result{Figure: inMemory}
	}
	defer o.close()
	_, err := o.nb.Create(ctx, makeItem(o.m, 0, 1), model.Write{})
	must(err)
	return byTurns(b, func(i int) {
		part, err := o.m.New(map[string]any{"id": "object-000000", "group": fmt.Sprint("g", i)})
		must(err)
		_, err = o.nb.Update(ctx, part, model.Write{})
		must(err)
	}, func(i int) { o.commit(i, "m/host:0000/item/object-000000") })
}

// createObjects creates objects whose keys come after all others.
// A create is two operations: the record, and the key by which an id finds its topic. The key with the topic is a second key on both sides.
func createObjects(b *bench) result {
	o, ctx := openBoth(b), context.Background()
	if o == nil {
		return result{Figure: inMemory}
	}
	defer o.close()
	return byTurns(b, func(i int) {
		_, err := o.nb.Create(ctx, makeItem(o.m, 100_000+i, 1), model.Write{})
		must(err)
	}, func(i int) {
		o.commit(i, fmt.Sprintf("m/host:%04d/item/object-%06d", i, 100_000+i), fmt.Sprintf("i/item/object-%06d", 100_000+i))
	})
}

// updateByMany measures the share of one update in the commits of groups.
// It has each writer update an object of its own. While one commit is written, the others gather for the next.
func updateByMany(b *bench) result {
	const writers, each = 16, 200
	o, ctx := openBoth(b), context.Background()
	if o == nil {
		return result{Figure: inMemory}
	}
	defer o.close()
	for i := range writers {
		_, err := o.nb.Create(ctx, makeItem(o.m, 100_000+i, 1), model.Write{})
		must(err)
	}
	// The floor comes first and alone: next to sixteen writers a bare commit would wait for their syncs.
	var floors []time.Duration
	for i := range each {
		begin := time.Now()
		o.commit(i, "m/host:0000/item/object-000000")
		floors = append(floors, time.Since(begin))
	}
	// No two writers meet at an object, so no update is made twice.
	var all sync.WaitGroup
	begin := time.Now()
	for n := range writers {
		all.Go(func() {
			for i := range each {
				part, err := o.m.New(map[string]any{"id": fmt.Sprintf("object-%06d", 100_000+n), "group": fmt.Sprint("g", i)})
				must(err)
				_, err = o.nb.Update(ctx, part, model.Write{})
				must(err)
			}
		})
	}
	all.Wait()
	return versus(time.Since(begin)/(writers*each), median(floors), 0.5)
}
