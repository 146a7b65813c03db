package engine

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/reactivegraph/mgmt/engine/callsafe"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// Registry knows kinds by their names. Kinds may come and go at any time: each graph is built with the kinds of that
// moment, and a graph that runs keeps its own. The zero value is not usable; see NewRegistry and DefaultRegistry. It is
// safe for concurrent use.
type Registry struct {
	below *Registry // of a Layer; else nil
	mu    sync.RWMutex
	kinds map[string]*kind
}

type kind struct {
	make  func() Res
	model func() Res // of make, the same each time: its Default makes the others
	over  bool       // it stands in the place of one of the registry below
	once  sync.Once
	info  Kind
	err   error
}

func newKind(make func() Res) *kind { return &kind{make: make, model: sync.OnceValue(make)} }

// Kind is what a registry knows of one kind.
type Kind struct {
	Name      string
	Type      *schema.Type // with the defaults of Default
	Doc       string       // Markdown, may be empty
	Abilities Abilities

	// Meta are the metaparameters of a new resource, if those of others may be lent to it (MetaLender); else nil. They
	// are not altered.
	Meta *MetaParams
}

var defaultRegistry = NewRegistry()

// DefaultRegistry returns the registry that RegisterResource fills. An embedder
// may use another one.
func DefaultRegistry() *Registry { return defaultRegistry }

// RegisterResource adds a kind to the default registry. It is meant for init
// functions, and panics where Register returns an error.
func RegisterResource(name string, make func() Res) {
	if err := defaultRegistry.Register(name, make); err != nil {
		panic(err)
	}
}

// NewRegistry returns an empty registry.
func NewRegistry() *Registry { return &Registry{kinds: map[string]*kind{}} }

// Register adds a kind: its name in lower case, and a function that makes an
// empty resource and has no side effects. It is called for the first resource, whose Default makes the others, or for each one
// where Default returns nil.
func (r *Registry) Register(name string, make func() Res) error {
	switch {
	case name == "" || name != strings.ToLower(name) || strings.ContainsAny(name, "[]. \t\n"):
		return fmt.Errorf("kind %q: a kind is a lower case word without brackets, dots and spaces", name)
	case make == nil:
		return fmt.Errorf("kind %q: no constructor", name)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.kinds[name]; ok {
		return fmt.Errorf("kind %q is registered already", name)
	}
	k := newKind(make)
	k.over = r.below != nil && r.below.Has(name)
	r.kinds[name] = k
	return nil
}

// Unregister takes a kind out, and reports whether it was there. Resources of it that run go on. A graph that is built
// from now on can have none.
func (r *Registry) Unregister(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.kinds[name]
	delete(r.kinds, name)
	return ok
}

// Layer returns a registry with all kinds that r has, now and later. A kind that is registered in it does not become one
// of r, and may stand in the place of one of r for as long as r has that.
func (r *Registry) Layer() *Registry {
	l := NewRegistry()
	l.below = r
	return l
}

// all returns the kinds by their names, with those below.
func (r *Registry) all() map[string]*kind {
	all := map[string]*kind{}
	if r.below != nil {
		all = r.below.all()
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	for name, k := range r.kinds {
		if _, ok := all[name]; ok || !k.over {
			all[name] = k
		}
	}
	return all
}

// lookUp returns a kind, nil if there is none of that name.
func (r *Registry) lookUp(name string) *kind {
	r.mu.RLock()
	k := r.kinds[name]
	r.mu.RUnlock()
	if r.below == nil || k != nil && !k.over {
		return k
	}
	if lower := r.below.lookUp(name); lower == nil || k == nil {
		return lower
	}
	return k
}

// Kinds returns the names of all kinds, sorted.
func (r *Registry) Kinds() []string { return slices.Sorted(maps.Keys(r.all())) }

// Has reports whether the kind is known.
func (r *Registry) Has(name string) bool { return r.lookUp(name) != nil }

// New makes a resource of a kind with its defaults, its kind set, and no name. A panic of the kind is an error.
func (r *Registry) New(name string) (made Res, err error) {
	k, err := r.find(name)
	if err != nil {
		return nil, err
	}
	defer callsafe.Recover("Default", &err)
	return k.new(name), nil
}

// NewNamedResource makes a resource of the default registry that another one holds and drives itself: a kind with its defaults, and a name.
func NewNamedResource(kind, name string) (Res, error) {
	if name == "" {
		return nil, fmt.Errorf("a resource of kind %q needs a name", kind)
	}
	res, err := defaultRegistry.New(kind)
	if err != nil {
		return nil, err
	}
	res.SetName(name)
	return res, nil
}

func (k *kind) new(name string) Res {
	model := k.model()
	res := model.Default()
	if res == nil || isSame(res, model) {
		res = k.make()
	}
	res.SetKind(name)
	return res
}

// isSame reports whether both are the same resource.
func isSame(a, b Res) bool { return reflect.TypeOf(a).Comparable() && a == b }

// Kind describes a kind. The error says what is wrong with its struct.
func (r *Registry) Kind(name string) (Kind, error) {
	k, err := r.find(name)
	if err != nil {
		return Kind{}, err
	}
	k.once.Do(func() {
		k.err = fmt.Errorf("kind %q: its Default has not returned", name) // unless it does
		k.info, k.err = k.describe(name)
	})
	return k.info, k.err
}

func (k *kind) describe(name string) (info Kind, err error) {
	caught := callsafe.Do("Default", func() error {
		info, err = k.look(name)
		return nil
	})
	if caught != nil {
		return Kind{}, fmt.Errorf("kind %q: %w", name, caught)
	}
	return info, err
}

func (k *kind) look(name string) (Kind, error) {
	res := k.new(name)
	t, err := schema.Of(res)
	if err != nil {
		return Kind{}, fmt.Errorf("kind %q: %w", name, err)
	}
	a, err := AbilitiesOf(res)
	if err != nil {
		return Kind{}, err
	}
	info := Kind{Name: name, Type: t, Abilities: a, Meta: lends(k.new(name))}
	if d, ok := As[DescribedRes](res); ok {
		info.Doc = d.Doc()
	}
	return info, nil
}

func (r *Registry) find(name string) (*kind, error) {
	if k := r.lookUp(name); k != nil {
		return k, nil
	}
	return nil, &UnknownKindError{Kind: name, Near: schema.Nearest(name, r.Kinds())}
}

// Clone returns a registry with the same kinds that can be altered alone.
func (r *Registry) Clone() *Registry {
	c := NewRegistry()
	for name, k := range r.all() {
		c.kinds[name] = newKind(k.make)
	}
	return c
}

// With returns a clone that has one kind more, or another constructor for it.
func (r *Registry) With(name string, make func() Res) (*Registry, error) {
	c := r.Without(name)
	return c, c.Register(name, make)
}

// Without returns a clone that lacks some kinds.
func (r *Registry) Without(names ...string) *Registry {
	c := r.Clone()
	for _, n := range names {
		delete(c.kinds, n)
	}
	return c
}
