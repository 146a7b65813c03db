package engine

import (
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// Registry knows kinds by their names. The zero value is not usable; see
// NewRegistry and DefaultRegistry. It is safe for concurrent use.
type Registry struct {
	mu    sync.RWMutex
	kinds map[string]*kind
}

type kind struct {
	make func() Res
	once sync.Once
	info Kind
	err  error
}

// Kind is what a registry knows of one kind.
type Kind struct {
	Name      string
	Type      *schema.Type // with the defaults of Default
	Doc       string       // Markdown, may be empty
	Abilities Abilities
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
// empty resource and has no side effects.
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
	r.kinds[name] = &kind{make: make}
	return nil
}

// Kinds returns the names of all kinds, sorted.
func (r *Registry) Kinds() []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Sorted(maps.Keys(r.kinds))
}

// Has reports whether the kind is known.
func (r *Registry) Has(name string) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	_, ok := r.kinds[name]
	return ok
}

// New makes a resource of a kind with its defaults, its kind set, and no name.
func (r *Registry) New(name string) (Res, error) {
	k, err := r.find(name)
	if err != nil {
		return nil, err
	}
	return k.new(name), nil
}

func (k *kind) new(name string) Res {
	res := k.make()
	if d := res.Default(); d != nil {
		res = d
	}
	res.SetKind(name)
	return res
}

// Kind describes a kind. The error says what is wrong with its struct.
func (r *Registry) Kind(name string) (Kind, error) {
	k, err := r.find(name)
	if err != nil {
		return Kind{}, err
	}
	k.once.Do(func() { k.info, k.err = k.describe(name) })
	return k.info, k.err
}

func (k *kind) describe(name string) (_ Kind, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("kind %q: %w", name, &PanicError{Method: "Default", Value: p, Stack: debug.Stack()})
		}
	}()
	res := k.new(name)
	t, err := schema.Of(res)
	if err != nil {
		return Kind{}, fmt.Errorf("kind %q: %w", name, err)
	}
	a, err := AbilitiesOf(res)
	if err != nil {
		return Kind{}, err
	}
	info := Kind{Name: name, Type: t, Abilities: a}
	if d, ok := As[DescribedRes](res); ok {
		info.Doc = d.Doc()
	}
	return info, nil
}

func (r *Registry) find(name string) (*kind, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if k, ok := r.kinds[name]; ok {
		return k, nil
	}
	return nil, &UnknownKindError{Kind: name, Near: schema.Nearest(name, slices.Sorted(maps.Keys(r.kinds)))}
}

// Clone returns a registry with the same kinds that can be altered alone.
func (r *Registry) Clone() *Registry {
	r.mu.RLock()
	defer r.mu.RUnlock()
	c := NewRegistry()
	for name, k := range r.kinds {
		c.kinds[name] = &kind{make: k.make}
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
