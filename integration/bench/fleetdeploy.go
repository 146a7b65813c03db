package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/deploy"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/deployed"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// deployHost starts one host that takes the deploys for all, and reports how they stand.
// It is done when its report is in the store.
func (f *fleet) deployHost(ctx context.Context, name string, trusted deploy.Public) {
	// Each host has a connection of its own to the store, and all share one counter of its traffic.
	own := f.store.join()
	world := &counted{own, &f.traffic}
	front := deployed.New(deployed.Options{
		World: world, Host: name, Topic: "all", Trusted: func() []deploy.Public { return []deploy.Public{trusted} },
		Load: func(b *deploy.Bundle, _ gapi.Env) gapi.Reading {
			return yaml.ReadFiles(b.Graphs[0], b.Map(), yaml.Options{})
		},
	})
	// A host reports that it has converged only if its engine says so: the frontend alone would be done too early.
	var rests atomic.Bool
	report := deployed.Reporter{
		World: world, Host: name, Fronts: []*deployed.Frontend{front}, Clock: clock.System{}, Log: slog.New(slog.DiscardHandler),
		Stand: func(context.Context) (deployed.Stand, error) { return deployed.Stand{Rests: rests.Load()}, nil },
	}
	// The reporter is complete before the engine starts, because the observer calls it.
	report.Init()
	e, err := mgmt.Open(ctx, mgmt.Options{
		Hostname: name, Host: enginetest.NewHost(), World: mgmt.Share(world), Lease: time.Hour, NoAutoGroup: true, Logger: slog.New(slog.DiscardHandler),
		Observer: mgmt.Observer{
			Ran:       func(reactor.Run) { f.runs.Add(1) },
			Converged: func(yes bool, _ reactor.Counts) { rests.Store(yes); report.Touch() },
		},
	}, front)
	must(err)
	f.all.Go(func() { must(e.Wait()); must(own.Close()) })
	f.all.Go(func() { report.Run(ctx) })
}

// Laws of a deploy in a row: it is signed and checked as any other, all hosts are one batch, and its end is that of
// the rollout in the store. So the time has the reports of all hosts in it, and the looks of the operator at them, 20 a second.

// fleetStoreID is the id of the store, for which each deploy is signed.
const fleetStoreID = "bench"

// order is a deploy of the fleet's objects as a graph, with another value each time. All hosts are one batch.
func (f *fleet) order(value int) deploy.Order {
	var text strings.Builder
	text.WriteString("resources:\n  value:\n")
	for i := range fleetObjects {
		fmt.Fprintf(&text, "  - {name: v%d, any: \"%d\"}\n", i, value)
	}
	// The bundle is what mgmt deploy sends: the files, by their names, and a digest that is signed.
	b := &deploy.Bundle{Graphs: []string{"g.yaml"}, Files: []deploy.File{{Name: "g.yaml", Data: []byte(text.String())}}}
	content, digest, err := b.Encode()
	must(err)
	return deploy.Order{Store: fleetStoreID, Topic: "all", Content: content, Digest: digest, Graphs: b.Graphs, By: "bench", MaxFailed: 1, Batch: "100%"}
}

// deploy leads one deploy to its end: every host has taken it over and has converged.
func (f *fleet) deploy(key deploy.Key, value int, live []string) {
	ctx, store := context.Background(), deploy.Store{World: f.operator}
	// Begin writes the signed order. The hosts take it over by themselves; the leader only watches the reports.
	lead, err := store.Begin(ctx, key, f.order(value))
	must(err)
	// The verb deploy looks less often. A long pause here would be most of the time that is measured.
	for end := time.Now().Add(5 * time.Minute); lead.Rollout.State == deploy.Running; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			panic(fmt.Sprintf("the deploy stands at %+v", lead.Rollout.State))
		}
		reports, err := store.Reports(ctx)
		must(err)
		_, err = lead.Step(ctx, live, reports, nil)
		must(err)
	}
	// Failed hosts would make the figure that of another work, so they end the row.
	if lead.Rollout.State != deploy.Done {
		panic("the deploy ends as " + string(lead.Rollout.State))
	}
}

// fleetDeployed measures the second deploy: the first one brings the graph to hosts that have none.
func fleetDeployed(in func(*bench) *fleetStore) func(*bench) result {
	return func(b *bench) result {
		// The store is opened by the row, so a row without etcd on the machine says so and fails nothing.
		store := in(b)
		if store == nil {
			return result{Figure: noEtcd}
		}
		n := int64(fleetHosts)
		if b.quick {
			n = 100
		}
		key, err := deploy.NewKey()
		must(err)
		f, live := newFleet(store), []string{}
		ctx, cancel := context.WithCancel(context.Background())
		f.stop = func() { cancel(); f.all.Wait(); f.close() }
		defer f.stop()
		// The hosts meet a store that the operator has signed, as they do in a fleet.
		signed, err := deploy.Store{World: f.operator}.Fleet(ctx, []deploy.Public{key.Public()})
		must(err)
		must(deploy.Store{World: f.operator}.Found(ctx, key, signed, fleetStoreID, "bench", time.Now()))
		for i := range n {
			live = append(live, fmt.Sprint("host", i))
			f.deployHost(ctx, live[i], key.Public())
		}
		// One goroutine of this process leads, and the hosts run in it too: the figure is about messages and not about processors.
		// All hosts start and take the first deploy over. That work is not measured.
		f.deploy(key, 0, live)
		time.Sleep(time.Second) // the hosts write their own states soon after their reports
		// The runs tell that every host has applied every object, and no object twice.
		before, runs := f.traffic.now(), f.runs.Load()
		begin := time.Now()
		f.deploy(key, 1, live)
		took := time.Since(begin)
		ran := f.runs.Load() - runs
		return result{
			Figure: fmt.Sprintf("done after %s; %d runs; %s; %s", round(took), ran, f.traffic.now().since(before), store.weight()),
			OK:     took < time.Minute && ran == n*fleetObjects,
		}
	}
}
