package main

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/memory"
	"github.com/reactivegraph/mgmt/gapi/native"
)

// The fleet: so many hosts, and so many objects that each of them has.
const (
	fleetHosts   = 1000
	fleetObjects = 10
)

// fleetRows are about many hosts on one store.
// In memory, it is the engines and the contract of the store that are measured.
func fleetRows() []row {
	const (
		changed = "10 objects for all changed in one transaction, to the last host at rest with them, and to the last status in the store; 1,000 engines in one process on one store"
		sent    = "a graph of 10 resources in the place of another one, from the order to the end of the rollout, in one batch; the same engines"
		limit   = "60s, each host once"
	)
	return []row{
		{"one change to 1,000 hosts", library, changed, limit, fleetChanged(inMemoryStore)},
		{"one change to 1,000 hosts on etcd", library, changed + ", a server of etcd", limit, fleetChanged(inEtcd)},
		{"one deploy to 1,000 hosts", library, sent, limit, fleetDeployed(inMemoryStore)},
		{"one deploy to 1,000 hosts on etcd", library, sent + ", and a server of etcd", limit, fleetDeployed(inEtcd)},
	}
}

// noEtcd is the figure of a row on a machine without a server.
const noEtcd = "not measured: this machine has no etcd-server"

// traffic is what passes between the hosts and their store.
// It is shared by all hosts; values that a host reads by itself count as messages to it.
type traffic struct {
	calls, batches     atomic.Int64 // questions and transactions; revisions that a Watch has brought
	bytesIn, bytesOut  atomic.Int64 // written by the hosts; brought to them
	transactions, puts atomic.Int64
}

// counts are the figures of traffic at one moment.
type counts struct{ calls, batches, in, out, txns, puts int64 }

// now reads all figures. They go on while it does.
// The hosts rest at such a moment, so the figures belong together.
func (t *traffic) now() counts {
	return counts{t.calls.Load(), t.batches.Load(), t.bytesIn.Load(), t.bytesOut.Load(), t.transactions.Load(), t.puts.Load()}
}

// since tells the traffic after an earlier moment.
// Bytes are those of keys and values: the frames of a protocol come on top.
func (c counts) since(b counts) string {
	return fmt.Sprintf("to the hosts %d revisions, %s; from them %d calls, %d of them transactions with %d operations, %s",
		c.batches-b.batches, kib(c.out-b.out), c.calls-b.calls, c.txns-b.txns, c.puts-b.puts, kib(c.in-b.in))
}

// counted is the World of one host, whose traffic is counted.
// The size of a message is that of its keys and values.
type counted struct {
	world.World
	to *traffic
}

// Get implements world.World.
func (c *counted) Get(ctx context.Context, key string) (world.KV, error) {
	kv, err := c.World.Get(ctx, key)
	c.to.calls.Add(1)
	c.to.bytesOut.Add(int64(len(kv.Key) + len(kv.Value)))
	return kv, err
}

// List implements world.World.
func (c *counted) List(ctx context.Context, prefix string, o world.ListOptions) (world.Page, error) {
	p, err := c.World.List(ctx, prefix, o)
	c.to.calls.Add(1)
	for _, kv := range p.KVs {
		c.to.bytesOut.Add(int64(len(kv.Key) + len(kv.Value)))
	}
	return p, err
}

// Txn implements world.World.
func (c *counted) Txn(ctx context.Context, compares []world.Compare, ops []world.Op) (int64, bool, error) {
	c.to.calls.Add(1)
	c.to.transactions.Add(1)
	c.to.puts.Add(int64(len(ops)))
	for _, op := range ops {
		c.to.bytesIn.Add(int64(len(op.Key) + len(op.Value)))
	}
	return c.World.Txn(ctx, compares, ops)
}

// Watch implements world.World.
func (c *counted) Watch(ctx context.Context, prefix string, from int64) iter.Seq2[world.Batch, error] {
	return func(yield func(world.Batch, error) bool) {
		for b, err := range c.World.Watch(ctx, prefix, from) {
			if len(b.Updates) > 0 {
				c.to.batches.Add(1)
			}
			for _, u := range b.Updates {
				c.to.bytesOut.Add(int64(len(u.Key) + len(u.Value)))
			}
			if !yield(b, err) {
				return
			}
		}
	}
}

// fleet is the hosts of one process.
// Its counters are written by the observers of all engines.
type fleet struct {
	store    *fleetStore
	operator world.World // whose traffic is not counted
	traffic  traffic
	runs     atomic.Int64 // CheckApply calls that ended
	stop     func()
	all      sync.WaitGroup
}

// newFleet returns a fleet without hosts. The caller sets stop, and calls it in the end.
// The operator has a connection of its own, as a person at another machine.
func newFleet(store *fleetStore) *fleet { return &fleet{store: store, operator: store.join()} }

// close ends the store, after the hosts.
// A host whose store went first would wait for it.
func (f *fleet) close() {
	must(f.operator.Close())
	f.store.stop()
}

// startFleet starts n hosts on a store that has the objects of all.
// The hosts begin one after the other, since a thousand at once would only wait for each other.
func startFleet(n int, store *fleetStore) *fleet {
	f := newFleet(store)
	must(f.write(0))
	ctx, cancel := context.WithCancel(context.Background())
	f.stop = func() { cancel(); f.all.Wait(); f.close() }
	for i := range n {
		f.host(ctx, fmt.Sprint("host", i))
	}
	return f
}

// write stores the objects with another value each time, in one transaction.
// The operator has an own connection, which is not counted.
func (f *fleet) write(value int) error {
	nb := model.Open(f.operator, model.NewRegistry(engine.DefaultRegistry()), model.Options{})
	m, err := nb.Registry().Model("value")
	must(err)
	_, err = nb.Txn(context.Background(), func(tx *model.Tx) error {
		for i := range fleetObjects {
			o, err := m.Parse("", fmt.Appendf(nil, `{"id":"v%d","topic":"all","any":"%d"}`, i, value))
			must(err)
			if value == 0 {
				_, err = tx.Create(o, model.Write{})
			} else {
				_, err = tx.Update(o, model.Write{})
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	return err
}

// host starts one host with a made-up machine.
// It runs the objects, publishes itself, and writes the status of each object back.
func (f *fleet) host(ctx context.Context, name string) {
	own := f.store.join()
	world := &counted{own, &f.traffic}
	nb := model.Open(world, model.NewRegistry(engine.DefaultRegistry()), model.Options{})
	front := native.New(nb, native.Options{Topics: []string{"", "all", "host:" + name}})
	var writer *native.Writer
	known := make(chan struct{})
	e, err := mgmt.Open(ctx, mgmt.Options{
		Hostname: name, Host: enginetest.NewHost(), World: mgmt.Share(world), Lease: time.Hour, NoAutoGroup: true, Logger: slog.New(slog.DiscardHandler),
		Observer: mgmt.Observer{Ran: func(r reactor.Run) {
			f.runs.Add(1)
			<-known
			writer.Touch(r.Resource)
		}},
	}, front)
	must(err)
	writer = native.NewWriter(front, name, fleetEngine{e}, nil, slog.New(slog.DiscardHandler))
	close(known)
	f.all.Go(func() { must(e.Wait()); must(own.Close()) })
	f.all.Go(func() { writer.Run(ctx) })
}

// fleetEngine tells the states of one engine to the writer of statuses.
// The daemon has an adapter of the same kind.
type fleetEngine struct{ e *mgmt.Engine }

// State implements native.Engine.
func (x fleetEngine) State(ctx context.Context, id string) (native.State, bool) {
	st, err := x.e.Status(ctx, id)
	return native.State{Resource: st.Resource, State: st.State.String(), Changed: st.Changed}, err == nil
}

// States implements native.Engine.
func (x fleetEngine) States(ctx context.Context) (list []native.State, err error) {
	now, err := x.e.Snapshot(ctx)
	for _, st := range now.Statuses {
		list = append(list, native.State{Resource: st.Resource, State: st.State.String(), Changed: st.Changed})
	}
	return list, err
}

// await waits until a number has been reached.
// It panics after five minutes, as every wait of a row.
func await(what string, want int64, now func() int64) {
	for end := time.Now().Add(5 * time.Minute); now() < want; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			panic(fmt.Sprintf("%s: %d of %d", what, now(), want))
		}
	}
}

// statuses counts the statuses in the store that are of a version of their object.
// It reads through a page of the store at a time.
func (f *fleet) statuses(version int64) (n int64) {
	p, err := f.operator.List(context.Background(), "s/", world.ListOptions{})
	must(err)
	for _, kv := range p.KVs {
		var st native.Status
		if json.Unmarshal(kv.Value, &st) == nil && st.Version == version && st.State == "ok" {
			n++
		}
	}
	return n
}

// weigh returns the keys of a store, their bytes, and the memory of a fresh store that holds the same.
// The hosts' own memory is not part of it.
func weigh(of world.World) (keys, size int, heap uint64) {
	p, err := of.List(context.Background(), "", world.ListOptions{})
	must(err)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	w := memory.New()
	for _, kv := range p.KVs {
		size += len(kv.Key) + len(kv.Value)
		_, _, err := w.Txn(context.Background(), nil, []world.Op{{Key: strings.Clone(kv.Key), Value: slices.Clone(kv.Value)}})
		must(err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(w)
	return len(p.KVs), size, after.HeapAlloc - before.HeapAlloc
}

// fleetChanged measures one change of all objects.
// Every host must have run each object once more, and no more.
func fleetChanged(in func(*bench) *fleetStore) func(*bench) result {
	return func(b *bench) result {
		store := in(b)
		if store == nil {
			return result{Figure: noEtcd}
		}
		n := int64(fleetHosts)
		if b.quick {
			n = 100
		}
		f := startFleet(int(n), store)
		defer f.stop()
		all := n * fleetObjects
		await("the first statuses", all, func() int64 { return f.statuses(1) })
		weight := store.weight()
		// The hosts write their own states soon after the statuses of the objects.
		time.Sleep(time.Second)
		// The start of the hosts is no part of the change, so the counters are read before it.
		before, runs := f.traffic.now(), f.runs.Load()
		begin := time.Now()
		must(f.write(1))
		await("the runs", runs+all, f.runs.Load)
		ran := time.Since(begin)
		await("the statuses", all, func() int64 { return f.statuses(2) })
		told := time.Since(begin)
		return result{
			Figure: fmt.Sprintf("at rest after %s, told after %s; %d runs; %s; %s", round(ran), round(told), f.runs.Load()-runs, f.traffic.now().since(before), weight),
			OK:     told < time.Minute && f.runs.Load()-runs == all,
		}
	}
}

// kib writes bytes for people.
func kib(n int64) string { return fmt.Sprintf("%.1f KiB", float64(n)/1024) }
