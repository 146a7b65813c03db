package virtual

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/callsafe"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// Resource is a resource of a virtual kind.
type Resource interface {
	engine.VirtualRes
	// VirtualKind is what it was made with.
	VirtualKind() *Kind
	// Backend is the name of the wanted backend: from the metaparameter, or from
	// another declaration; empty for the backend that suits the machine.
	Backend() string
	// Needs returns the functions that the resource may call, as it is declared, and the
	// parameters that it may give in addition to the ones of every backend: start,
	// start.session.
	Needs() []string
}

// UsingRes is a Resource that says, for the docs, the needs of each declaration. An author of a
// backend reads there which functions to begin with.
type UsingRes interface {
	Resource
	Uses() []Use
}

// Use is a way to declare a resource, and the result of Needs then.
type Use struct {
	Declared  string
	Functions []string
}

// Kind is what all resources of a virtual kind have in common: its interface,
// and the choice of the backend. It is safe for concurrent use.
type Kind struct {
	catalog *Catalog
	module  string
	system  SystemFunc
	make    func(*Kind) Resource // of RegisterKind; else nil
	asides  chan struct{}        // of capacity asidesAtOnce: one for each Aside that runs

	told   Told
	mu     sync.Mutex
	chosen map[string]*Backend // by what was asked for: the last choice
	plans  map[*Backend]known  // what was checked last

	kept sync.Map
}

// Keep returns the value that the kind keeps under a key from one graph to the next, made when it is first
// asked for.
func (k *Kind) Keep(key any, empty func() any) any {
	if kept, ok := k.kept.Load(key); ok {
		return kept
	}
	kept, _ := k.kept.LoadOrStore(key, empty())
	return kept
}

// Cmp is the Cmp of a resource of a virtual kind. Resources differ also where their kinds choose among
// different backends: so a graph with other backends replaces the resource.
func Cmp(a Resource, b engine.Res) error {
	if err := engine.CmpFields(a, b); err != nil {
		return err
	}
	if other, ok := b.(Resource); ok && !a.VirtualKind().chooses(other.VirtualKind()) {
		return fmt.Errorf("the backends of %s are others", a.Kind())
	}
	return nil
}

// chooses reports whether two kinds choose among the same backends of one interface. A kind that is nil is that of
// a resource that no registry has made.
func (k *Kind) chooses(o *Kind) bool {
	if k == o || k == nil || o == nil || k.catalog == o.catalog {
		return true
	}
	mine, err := k.catalog.Interface(k.module)
	others, wrong := o.catalog.Interface(o.module)
	return errors.Join(err, wrong) == nil && mine == others && slices.Equal(k.catalog.Backends(k.module), o.catalog.Backends(o.module))
}

// known is a plan and the facts that it is for.
type known struct {
	facts Facts
	plan  *plan
}

// RegisterKind registers the kind of a module. make gets the Kind and makes an empty
// resource. It fails if the module has no interface in the catalog. system says what
// the machine is; it is asked whenever a module is opened.
func RegisterKind(r *engine.Registry, c *Catalog, module string, system SystemFunc, make func(*Kind) Resource) error {
	k, err := NewKind(c, module, system)
	if err != nil {
		return fmt.Errorf("kind %s: a virtual kind needs an interface: %w", module, err)
	}
	k.make = make
	return r.Register(module, func() engine.Res { return make(k) })
}

// Rebind returns a layer over r, in which the kinds of RegisterKind that r has now
// choose among the backends of c, on the machine that system describes. So a program
// that knows more backends, or more of the machine, says so for itself alone.
func Rebind(r *engine.Registry, c *Catalog, system SystemFunc) (*engine.Registry, error) {
	bound := r.Layer()
	for _, module := range c.Modules() {
		if !r.Has(module) {
			continue
		}
		made, err := r.New(module)
		if err != nil {
			return nil, err
		}
		v, ok := made.(Resource)
		if !ok || v.VirtualKind() == nil || v.VirtualKind().make == nil {
			continue
		}
		make := v.VirtualKind().make
		k, err := NewKind(c, module, system)
		if err != nil {
			return nil, err
		}
		k.make = make
		if err = bound.Register(module, func() engine.Res { return make(k) }); err != nil {
			return nil, err
		}
	}
	return bound, nil
}

// NewKind returns the Kind of a module, whose interface must be declared.
func NewKind(c *Catalog, module string, system SystemFunc) (*Kind, error) {
	if err := c.known(module); err != nil {
		return nil, err
	}
	return &Kind{catalog: c, module: module, system: system, chosen: map[string]*Backend{}, plans: map[*Backend]known{}, asides: make(chan struct{}, asidesAtOnce)}, nil
}

// System returns the machine on which the kind opens modules.
func (k *Kind) System() System { return k.system(nil) }

// Backends returns the names of all backends, sorted, whatever this machine is.
func (k *Kind) Backends() (names []string) {
	for _, b := range k.catalog.Backends(k.module) {
		names = append(names, b.Name)
	}
	return names
}

// Check is called by the CheckMachine of a resource (engine.MachineCheckedRes): its error says that no backend
// can be used on this machine, or which of the needed functions are not implemented, not supported
// or mismatched by the backend that will be. Of an Unknown machine it says nothing. It looks at nothing else.
func (k *Kind) Check(r Resource, s System) error {
	if s.Unknown {
		return nil
	}
	i, sel, err := k.catalog.Select(k.module, s, r.Backend())
	if err != nil {
		return err
	}
	p := k.planOf(i, sel.Backend, s.Facts)
	return needs(i, sel.Backend, p.byName, r.Needs())
}

// planOf returns the result of a check. All resources of the kind share it.
func (k *Kind) planOf(i *Interface, b *Backend, facts Facts) *plan {
	k.mu.Lock()
	defer k.mu.Unlock()
	if last, ok := k.plans[b]; ok && schema.Equal(map[string]any(last.facts), map[string]any(facts)) {
		return last.plan
	}
	p := newPlan(i, b, facts)
	k.plans[b] = known{maps.Clone(facts), p}
	return p
}

// Open chooses the backend for the facts of env, those of its Host if it has no others,
// and binds it. want is what Resource.Backend returns. A choice between equals is warned about, and
// another choice than the last one is told; without env.Log that is left to a later call. Deprecated functions are logged once for
// all that the Kind opens, unless env has a Told of its own.
func (k *Kind) Open(ctx context.Context, env Env, want string, options ...Option) (*Module, error) {
	s := k.on(&env)
	i, sel, err := k.catalog.Select(k.module, s, want)
	if err != nil {
		return nil, err
	}
	quiet := env.Log == nil
	if quiet {
		env.Log = slog.New(slog.DiscardHandler)
	}
	env.Told = cmp.Or(env.Told, &k.told)
	m, err := bind(ctx, i, sel.Backend, k.planOf(i, sel.Backend, s.Facts), env, options)
	if err != nil {
		return nil, err
	}
	if !quiet {
		k.choose(m, sel, want, env.Log)
	}
	return m, nil
}

// on returns the machine with the facts of env, which are filled in.
func (k *Kind) on(env *Env) System {
	if env.Facts == nil && env.Host != nil {
		env.Facts = env.Host.Facts().Map()
	}
	s := k.system(env.Facts)
	if env.Facts == nil {
		env.Facts = s.Facts
	}
	s.Facts = env.Facts
	return s
}

// choose keeps the choice, and tells of it if it is a new one.
func (k *Kind) choose(m *Module, sel *Selection, want string, log *slog.Logger) {
	k.mu.Lock()
	before := k.chosen[want]
	k.chosen[want] = sel.Backend
	k.mu.Unlock()
	if before == sel.Backend {
		return
	}
	if len(sel.Ambiguous) > 0 {
		log.Warn("several backends suit this machine; the first by name is used", "event", "ambiguous_backend", "module", k.module, "backend", sel.Backend.Name, "others", sel.Ambiguous)
	}
	m.plan.warn(m.logger())
	if before != nil {
		log.Info("another backend is used from now on", "event", "backend_changed", "module", k.module, "backend", sel.Backend.Name, "before", before.Name)
	}
}

// Stale reports whether something else would be opened now than m, which was opened with
// env.Host and want: another backend or none, or the same one with functions that now do something
// else. Then m should be closed and opened anew, and its knowledge forgotten. A caller that
// has a module open for long asks this whenever Host.WatchFacts wakes.
func (k *Kind) Stale(m *Module, env Env, want string) bool {
	s := k.on(&env)
	i, sel, err := k.catalog.Select(k.module, s, want)
	return err != nil || sel.Backend != m.Backend || !k.planOf(i, sel.Backend, s.Facts).same(m.plan)
}

// asidesAtOnce is how many calls of Aside run at the same time.
const asidesAtOnce = 16

// Aside runs f, a part of a Watch, on a goroutine of its own and waits for it; a panic of f is an error, and f
// must not call Aside. A Watch waits for as long as the graph lasts, and the stack that a call has made grow
// would stay as large. Others wait while many run: the runtime never gives back the memory of an ended
// goroutine either.
func (k *Kind) Aside(f func() error) error {
	k.asides <- struct{}{}
	ended := make(chan error)
	go func() {
		var err error
		defer func() { ended <- err }()
		defer callsafe.Recover("Watch", &err)
		err = f()
	}()
	err := <-ended
	<-k.asides
	return err
}
