package cmd

import (
	"reflect"
	"sync/atomic"

	"github.com/reactivegraph/mgmt/cmd/config"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/plugin"
	"github.com/reactivegraph/mgmt/engine/provider"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/virtual"
)

// kindset is what the folders of backends, types and targets make of the kinds of the program, in this order. Each
// step is kept with the files that it was made of. A reload makes a step anew only where it, or a step before, has
// changed. So resources whose kind stays keep their place in the graph.
type kindset struct {
	program *step // without any folder; nil before the first step
	backed  step  // with the backends of a folder, and the roles
	typed   step  // with the types of a folder too
	plugged step  // with the kinds of providers too
	aimed   step  // with the targets too

	live *atomic.Pointer[plugin.Set] // the providers that were read last, for the desk of a daemon; nil for another verb
	ask  *atomic.Pointer[func()]     // has a daemon read all again, where a provider has another schema; holds nil for another verb
}

// step is a set of kinds.
type step struct {
	from  *engine.Registry // the kinds of the step before
	nodes []*schema.Node   // the files

	kinds      *engine.Registry
	catalog    *virtual.Catalog     // of backed
	transports *provider.Transports // of typed
	plugins    *plugin.Set          // of plugged
}

// madeOf reports whether a step was made of these kinds and files.
func (s *step) madeOf(from *engine.Registry, nodes []*schema.Node) bool {
	// Registries are compared by their address: a step before that was made anew has another one.
	return s.kinds != nil && s.from == from && reflect.DeepEqual(s.nodes, nodes)
}

// begin takes the kinds back to those of the program.
// The first call keeps them. A reload calls it again before all other steps.
func (a *app) begin() {
	if a.sets.program == nil {
		a.sets.program = &step{kinds: a.registry, catalog: a.catalog, transports: a.transports}
	}
	a.registry, a.catalog, a.transports = a.sets.program.kinds, a.sets.program.catalog, a.sets.program.transports
}

// with returns the program as it is with other settings: with the kinds of their folders. It is not altered itself.
// Faults of all folders come together. With an error the result is of no use, and the old app
// stays in effect.
func (a *app) with(now config.Resolved) (*app, schema.Diagnostics) {
	// The copy has the kept steps, so that only the changed ones are made anew.
	b := *a
	b.settled = now
	b.backends, b.types, b.targetsFolder, b.pluginsFolder = now["backends"].Text(), now["types"].Text(), now["targets"].Text(), now["plugins"].Text()
	b.modelsFolder = now["models"].Text()
	// The order is that of kindset: backends, types, providers, targets, and then the models.
	ds := b.bindMachine()
	ds = append(ds, b.loadTypes()...)
	ds = append(ds, b.loadPlugins()...)
	list, found := b.readTargets()
	ds = append(ds, found...)
	if ds.Err() == nil {
		ds = append(ds, b.bindTargets()...)
	}
	if ds.Err() == nil { // a model may refer to a kind
		ds = append(ds, b.loadModels()...)
	}
	b.list = list
	return &b, ds
}

// from adds the place of a setting to findings about its folder as a whole.
func (a *app) from(key string, ds schema.Diagnostics) schema.Diagnostics {
	v := a.settled[key]
	if v.Source != config.SourceFile {
		return ds
	}
	for i := range ds {
		// A finding with a line is about a file in the folder, and needs no further place.
		if ds[i].Pos.Line == 0 && ds[i].Pos.File == v.Text() {
			ds[i].Related = append(ds[i].Related, schema.Related{Pos: v.Pos, Message: "named here"})
		}
	}
	return ds
}
