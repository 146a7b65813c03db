package virtual

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/host"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// Resource is a resource of a virtual kind.
type Resource interface {
	engine.Res
	// Provider is the name of the backend that the user asked for, or empty.
	Provider() string
	// Needs returns the functions that the resource may call, as it is declared.
	Needs() []string
}

// Kind is what all resources of a virtual kind have in common: its interface,
// and the choice of the backend. It is safe for concurrent use.
type Kind struct {
	catalog *Catalog
	module  string
	system  func() System

	mu     sync.Mutex
	chosen map[string]*Backend // by what was asked for: the last choice
	plans  map[*Backend]known  // what was checked last
}

// known is a plan and the facts that it is for.
type known struct {
	facts Facts
	plan  *plan
}

// RegisterKind registers the kind of a module. make gets the Kind and makes an empty
// resource. It fails if the module has no interface in the catalog. system says what
// the machine is; it is asked whenever a graph is loaded.
func RegisterKind(r *engine.Registry, c *Catalog, module string, system func() System, make func(*Kind) Resource) error {
	k, err := NewKind(c, module, system)
	if err != nil {
		return fmt.Errorf("kind %s: a virtual kind needs an interface: %w", module, err)
	}
	return r.Register(module, func() engine.Res { return make(k) })
}

// NewKind returns the Kind of a module, whose interface must be declared.
func NewKind(c *Catalog, module string, system func() System) (*Kind, error) {
	if _, err := c.Interface(module); err != nil {
		return nil, err
	}
	return &Kind{catalog: c, module: module, system: system, chosen: map[string]*Backend{}, plans: map[*Backend]known{}}, nil
}

// Check is called by the Validate of a resource: its error says that no backend
// can be used, or which of the needed functions are not implemented, not
// supported or mismatched by the one that will be.
func (k *Kind) Check(r Resource) error {
	s := k.system()
	i, sel, err := k.catalog.Select(k.module, s, r.Provider())
	if err != nil {
		return err
	}
	p := k.planOf(i, sel.Backend, s.Facts)
	return needs(i, sel.Backend, p.byName, r.Needs())
}

// planOf returns what a check says. All resources of the kind share it.
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

// Key is the key of the Shared in which resources that ask for a backend, or for
// none, keep their Module.
func (k *Kind) Key(provider string) string { return k.module + ":" + provider }

// Open chooses the backend for the facts of env and binds it. A choice between
// equals is warned about. changed says that another backend was chosen when this was
// last asked.
func (k *Kind) Open(ctx context.Context, env Env, provider string, options ...Option) (m *Module, changed bool, err error) {
	s := k.system()
	if env.Facts == nil {
		env.Facts = s.Facts
	}
	s.Facts = env.Facts
	i, sel, err := k.catalog.Select(k.module, s, provider)
	if err != nil {
		return nil, false, err
	}
	if env.Log == nil {
		env.Log = slog.New(slog.DiscardHandler)
	}
	p := k.planOf(i, sel.Backend, s.Facts)
	m, err = bind(ctx, i, sel.Backend, p, env, options)
	if err != nil {
		return nil, false, err
	}
	return m, k.choose(m, sel, provider, env.Log), nil
}

// choose keeps the choice, tells of it if it is a new one, and reports whether it
// is another one than before.
func (k *Kind) choose(m *Module, sel *Selection, provider string, log *slog.Logger) (changed bool) {
	k.mu.Lock()
	before := k.chosen[provider]
	k.chosen[provider] = sel.Backend
	k.mu.Unlock()
	if before == sel.Backend {
		return false
	}
	if len(sel.Ambiguous) > 0 {
		log.Warn("several backends suit this machine; the first by name is used", "event", "ambiguous_backend", "module", k.module, "backend", sel.Backend.Name, "others", sel.Ambiguous)
	}
	m.plan.warn(m.log)
	if before != nil {
		log.Info("another backend is used from now on", "event", "backend_changed", "module", k.module, "backend", sel.Backend.Name, "before", before.Name)
	}
	return before != nil
}

// Watch subscribes to what may change the choice: the files that facts come from.
// Whoever is woken asks Stale with the facts of the host as they are then.
func (k *Kind) Watch(ctx context.Context, h engine.Host) (engine.Subscription, error) {
	return h.Watch(ctx, host.FactPaths(), engine.WatchOptions{})
}

// Stale reports whether another backend than that of m, or none, would be chosen
// for the facts: m should be closed and opened anew, and what it knows forgotten.
func (k *Kind) Stale(m *Module, facts Facts, provider string) bool {
	s := k.system()
	s.Facts = facts
	_, sel, err := k.catalog.Select(k.module, s, provider)
	if err != nil {
		return !errors.As(err, new(*UnknownModuleError))
	}
	return sel.Backend != m.Backend
}
