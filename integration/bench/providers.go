package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/plugin"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/static"
	"github.com/reactivegraph/mgmt/provider"
)

// A provider is a process of its own: this program again. Its things are in memory, so the row is about the way to it and the records.
func providerRows() []row {
	return []row{
		{"CPU of 10,000 things made by a provider", program, "graph in Go handed to Run, to the end of the engine and the process", "3 x 10,000 files", madeByProvider},
	}
}

// asProvider tells this program to be the provider.
const asProvider = "MGMT_BENCH_PROVIDER"

const madeSchema = `{"format": 1, "name": "bench", "version": "1.0.0", "types": [
  {"token": "bench:index:Made", "named": true, "schema": {"version": 1, "type": {"kind": "struct", "doc": "A thing.", "fields": [
    {"key": "name", "role": "identity", "type": {"kind": "string", "optional": true}},
    {"key": "text", "type": {"kind": "string", "optional": true}},
    {"key": "serial", "role": "readonly", "type": {"kind": "string", "optional": true}}]}}}]}`

// made is a thing.
type made struct {
	Name   string  `json:"name,omitempty"`
	Text   *string `json:"text,omitempty"`
	Serial *string `json:"serial,omitempty"`
}

// maker has the things by their names.
type maker struct {
	provider.Defaults[made]
	mu  sync.Mutex
	all map[string]made
}

// Get returns a thing.
func (m *maker) Get(_ context.Context, c *provider.Call, _ *made) (*made, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t, ok := m.all[c.Name]; ok {
		c.ID = c.Name
		return &t, nil
	}
	return nil, nil
}

// Create makes one.
func (m *maker) Create(_ context.Context, c *provider.Call, in *made) (*made, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c.ID, in.Serial = c.Name, &c.Name
	m.all[c.Name] = *in
	return in, nil
}

// Update alters one.
func (m *maker) Update(_ context.Context, c *provider.Call, _, now *made) (*made, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.all[c.Name] = *now
	return now, nil
}

// Delete removes one.
func (m *maker) Delete(_ context.Context, c *provider.Call, _ *made) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.all, c.Name)
	return nil
}

// serveMade is the provider.
func serveMade() error {
	return provider.Serve(context.Background(), &provider.Provider{
		Name: "bench", Version: "1.0.0", Schema: []byte(madeSchema),
		Resources: map[string]provider.Resource{"bench:index:Made": provider.Typed[made](&maker{all: map[string]made{}})},
	})
}

// madeByProvider takes the median ratio of alternating pairs. The CPU of the provider counts, too.
func madeByProvider(b *bench) result {
	const n = 10_000
	var got, floor []time.Duration
	for i := range 3 {
		dir := filepath.Join(b.dir, fmt.Sprint("files", i))
		before := cpu()
		r := start(graphOf(files(dir, n, n)), mgmt.Options{State: mgmt.StateIn(filepath.Join(b.dir, fmt.Sprint("state", i)))})
		r.rest()
		r.close()
		floor = append(floor, cpu()-before)
		checkFiles(dir, n, n)
		must(os.RemoveAll(dir))
		got = append(got, makeAll(filepath.Join(b.dir, fmt.Sprint("provider", i)), n))
	}
	return versus(median(got), median(floor), 3)
}

// makeAll has a provider make n things, and returns the CPU of both processes.
func makeAll(dir string, n int) time.Duration {
	must(os.Mkdir(dir, 0o700))
	defer os.RemoveAll(dir)
	must(os.WriteFile(filepath.Join(dir, "schema.json"), []byte(madeSchema), 0o600))
	self, err := os.Executable()
	must(err)
	node, err := schema.NodeOf(map[string]any{
		"name": "bench", "command": []any{self}, "schema": filepath.Join(dir, "schema.json"), "env": map[string]any{asProvider: "1"},
	})
	must(err)
	set, ds := plugin.Load([]*schema.Node{node}, plugin.Options{ReadFile: os.ReadFile})
	must(ds.Err())
	kind := set.Plugins()[0].Kinds()[0]
	kinds := engine.NewRegistry()
	must(set.Register(kinds))
	decls := make([]gapi.Declaration, n)
	for i := range decls {
		node, err := schema.NodeOf(map[string]any{"text": content(i)})
		must(err)
		decls[i] = gapi.Declaration{Kind: kind, Name: thingName(i), Value: node}
	}
	before := cpu() + childCPU()
	r := start(static.New(&gapi.Declared{Name: "bench", Resources: decls}), mgmt.Options{Registry: kinds, State: mgmt.StateIn(filepath.Join(dir, "state"))})
	r.rest()
	r.close()
	return cpu() + childCPU() - before
}

// childCPU is the processor time of the processes that have ended.
func childCPU() time.Duration {
	var u unix.Rusage
	must(unix.Getrusage(unix.RUSAGE_CHILDREN, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
