package kinds

import (
	"cmp"
	"reflect"
	"sync"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/host"
	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/plugin"
	"github.com/reactivegraph/mgmt/engine/provider"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/virtual"
	"github.com/reactivegraph/mgmt/gapi"
)

// Options say what the kinds are made of. The zero value is good: then they are those of the program.
type Options struct {
	Kinds   *engine.Registry // of the program; engine.DefaultRegistry when nil
	Catalog *virtual.Catalog // its virtual modules and backends; virtual.DefaultCatalog when nil

	// These are folders; empty for none.
	Backends, Types, Plugins, Targets, Models string

	Roles    []string        // the purposes of the machine
	Hostname string          // its name; its own when empty
	Machine  *virtual.System // another machine to choose backends for; nil for this one

	Source  gapi.Source                     // opens the files
	Place   func(setting string) schema.Pos // where a setting names its folder, as "types"; nil where nothing is known
	Attach  map[string]string               // the sockets of providers that run already, by name; see plugin.ParseAttach
	Program string                          // the name of this program, as a provider is told it
	Version string
	Changed func() // called, on any goroutine, when a provider has another schema; it does not block; nil for none
}

// System has the facts of the machine. They are read when the function is called.
func (o *Options) System() virtual.SystemFunc {
	if o.Machine != nil {
		return func(virtual.Facts) virtual.System { return *o.Machine }
	}
	return virtual.LocalSystem((&host.FactReader{Roles: o.Roles, Hostname: o.Hostname}).Facts)
}

// Set is the kinds of one reading. A nil Set has those of engine.DefaultRegistry.
type Set struct {
	program step // without any folder
	backed  step // with backends, the roles and the name of the machine
	typed   step // with types too
	plugged step // with the kinds of providers too
	aimed   step // with targets too

	targets *provider.Targets // of this reading and all before; nil without a folder
	listed  []*provider.Target
	models  []*schema.Node
	tables  func() *model.Registry
}

// step is what one folder makes of the kinds of the step before.
type step struct {
	from  *engine.Registry // of the step before
	nodes []*schema.Node   // the files

	kinds      *engine.Registry
	catalog    *virtual.Catalog     // of program and backed
	transports *provider.Transports // of typed
	plugins    *plugin.Set          // of plugged
}

// madeOf reports whether a step was made of these kinds, by their address, and of these files.
func (s *step) madeOf(from *engine.Registry, nodes []*schema.Node) bool {
	return s.kinds != nil && s.from == from && reflect.DeepEqual(s.nodes, nodes)
}

// Load reads the folders. The Set before, nil for none, lends what has not changed. With an error among the findings the Set is nil.
func Load(o Options, before *Set) (*Set, schema.Diagnostics) {
	if before == nil {
		before = &Set{}
	}
	l := &loading{Options: o, set: *before, now: cmp.Or(o.Kinds, engine.DefaultRegistry())}
	l.set.program = step{kinds: l.now, catalog: o.Catalog}
	// The first steps are taken even after a fault of another one, so that a person hears of all faults at once.
	l.loadBackends()
	l.loadTypes()
	l.loadPlugins()
	l.loadTargets()
	if l.found.Errors() == 0 { // a model may refer to a kind
		l.loadModels()
	}
	if l.found.Errors() > 0 {
		return nil, l.found.All()
	}
	return &l.set, l.found.All()
}

// loading is a Set that is being made.
type loading struct {
	Options
	set   Set
	now   *engine.Registry // the kinds so far
	found schema.Findings  // bounded
}

// Kinds returns the kinds.
func (s *Set) Kinds() *engine.Registry {
	if s != nil {
		for _, of := range []*step{&s.aimed, &s.plugged, &s.typed, &s.backed, &s.program} {
			if of.kinds != nil {
				return of.kinds
			}
		}
	}
	return engine.DefaultRegistry()
}

// Catalog returns the virtual modules with their backends; nil for those of the program.
func (s *Set) Catalog() *virtual.Catalog {
	if s == nil {
		return nil
	}
	return cmp.Or(s.backed.catalog, s.program.catalog)
}

// Transports returns how targets are reached.
func (s *Set) Transports() *provider.Transports {
	if s == nil {
		return provider.DefaultTransports()
	}
	return cmp.Or(s.typed.transports, provider.DefaultTransports())
}

// Targets returns the targets, empty ones where no folder has any.
func (s *Set) Targets() *provider.Targets {
	if s == nil || s.targets == nil {
		return provider.NewTargets()
	}
	return s.targets
}

// Plugins returns the providers of the folder; nil without one.
func (s *Set) Plugins() *plugin.Set {
	if s == nil {
		return nil
	}
	return s.plugged.plugins
}

// Tables returns the models of stored objects: the kinds, those of the program itself, and those of the folder. Each call returns the
// same registry, and so do the Sets that have taken its place; see Take.
func (s *Set) Tables() *model.Registry { return s.tables() }

// Models returns the files of the folder of models.
func (s *Set) Models() []*schema.Node {
	if s == nil {
		return nil
	}
	return s.models
}

// Take has next take the place of s in a running program: the resources and the API that hold the targets and the tables of s see those
// of next from now on. It reports whether the models are others. Call it once, before anything else uses next.
func (s *Set) Take(next *Set) (models bool) {
	if next.targets != nil {
		next.targets.Replace(next.listed)
	}
	r := s.Tables()
	models = !reflect.DeepEqual(s.models, next.models)
	if models || r.Kinds() != next.Kinds() {
		r.Replace(next.Tables())
	}
	next.tables = func() *model.Registry { return r }
	return models
}

// tablesOf returns a function that makes the tables once, at its first call.
func tablesOf(kinds *engine.Registry) func() *model.Registry {
	return sync.OnceValue(func() *model.Registry { return newTables(kinds) })
}
