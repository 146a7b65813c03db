package virtual

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// Catalog holds interfaces and their backends. It is safe for concurrent use; its
// content is not altered.
type Catalog struct {
	mu         sync.RWMutex
	unread     map[string]func() (*Interface, []*Backend) // modules that were not asked about yet
	interfaces map[string]*Interface
	backends   map[string][]*Backend // by module, sorted by name
}

var defaultCatalog = NewCatalog()

// DefaultCatalog returns the catalog that Register fills. An embedder may use
// another one.
func DefaultCatalog() *Catalog { return defaultCatalog }

// Register adds a module to the default catalog: its interface, and backends, which are made at the
// first question about the module, since most programs use few. It is meant for init functions, and
// panics if the module is there already, and later where Declare or Add return an error. A backend
// without a Module gets this one.
func Register(module string, make func() (*Interface, []*Backend)) {
	if err := defaultCatalog.register(module, make); err != nil {
		panic(err)
	}
}

func (c *Catalog) register(module string, make func() (*Interface, []*Backend)) error {
	if c.known(module) == nil {
		return fmt.Errorf("interface %s is declared already", module)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unread[module] = sync.OnceValues(func() (*Interface, []*Backend) {
		i, backends := make()
		for _, b := range backends {
			b.Module = cmp.Or(b.Module, module)
		}
		return i, backends
	})
	return nil
}

// read makes what Register has put off.
func (c *Catalog) read(module string) {
	c.mu.RLock()
	_, unread := c.unread[module]
	c.mu.RUnlock()
	if !unread {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	make, unread := c.unread[module]
	if !unread {
		return
	}
	delete(c.unread, module)
	i, backends := make()
	errs := []error{c.declare(i)}
	for _, b := range backends {
		errs = append(errs, c.add(b))
	}
	if i.Module != module {
		errs = append(errs, fmt.Errorf("the interface of %s is registered as %s", i.Module, module))
	}
	if err := errors.Join(errs...); err != nil {
		panic(err) // a mistake in the program, found by any test
	}
}

// RegisterBackend adds backends, of modules that need not be registered yet, to
// the default catalog. It panics where Add returns an error.
func RegisterBackend(backends ...*Backend) {
	if err := defaultCatalog.Add(backends...); err != nil {
		panic(err)
	}
}

// NewCatalog returns an empty catalog.
func NewCatalog() *Catalog {
	return &Catalog{unread: map[string]func() (*Interface, []*Backend){}, interfaces: map[string]*Interface{}, backends: map[string][]*Backend{}}
}

// Declare adds an interface.
func (c *Catalog) Declare(i *Interface) error {
	c.read(i.Module)
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.declare(i)
}

// declare adds an interface. The lock is held.
func (c *Catalog) declare(i *Interface) error {
	if err := i.Validate(); err != nil {
		return err
	}
	if _, there := c.interfaces[i.Module]; there {
		return fmt.Errorf("interface %s is declared already", i.Module)
	}
	c.interfaces[i.Module] = i
	return nil
}

// Add adds backends, in any order. Their modules may be declared later: until then
// they can't be chosen.
func (c *Catalog) Add(backends ...*Backend) error {
	var errs []error
	for _, b := range backends {
		c.read(b.Module)
		c.mu.Lock()
		errs = append(errs, c.add(b))
		c.mu.Unlock()
	}
	return errors.Join(errs...)
}

// add adds a backend. The lock is held.
func (c *Catalog) add(b *Backend) error {
	if err := b.Validate(); err != nil {
		return err
	}
	all := c.backends[b.Module]
	at, there := slices.BinarySearchFunc(all, b, func(x, y *Backend) int { return cmp.Compare(x.Name, y.Name) })
	if there {
		return fmt.Errorf("backend %s of %s is there already", b.Name, b.Module)
	}
	c.backends[b.Module] = slices.Insert(slices.Clone(all), at, b)
	return nil
}

// Modules returns the names of all modules, sorted.
func (c *Catalog) Modules() []string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return slices.Sorted(maps.Keys(c.names()))
}

// names are those of all modules. The lock is held.
func (c *Catalog) names() map[string]bool {
	names := map[string]bool{}
	for name := range c.interfaces {
		names[name] = true
	}
	for name := range c.unread {
		names[name] = true
	}
	return names
}

// known returns nil if an interface is declared for a module, else an
// *UnknownModuleError.
func (c *Catalog) known(module string) error {
	c.mu.RLock()
	defer c.mu.RUnlock()
	names := c.names()
	if names[module] {
		return nil
	}
	return &UnknownModuleError{module, schema.Nearest(module, slices.Collect(maps.Keys(names)))}
}

// Clone returns a catalog with the same interfaces and backends, to which others can be
// added.
func (c *Catalog) Clone() *Catalog {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return &Catalog{unread: maps.Clone(c.unread), interfaces: maps.Clone(c.interfaces), backends: maps.Clone(c.backends)} // add does not alter a list
}

// Interface returns the interface of a module. The error is an
// *UnknownModuleError.
func (c *Catalog) Interface(module string) (*Interface, error) {
	c.read(module)
	c.mu.RLock()
	i, ok := c.interfaces[module]
	c.mu.RUnlock()
	if ok {
		return i, nil
	}
	return nil, c.known(module)
}

// Backends returns the backends of a module, sorted by name.
func (c *Catalog) Backends(module string) []*Backend {
	c.read(module)
	c.mu.RLock()
	defer c.mu.RUnlock()
	return slices.Clone(c.backends[module])
}

// Orphans returns the backends whose modules are not declared, as MODULE/NAME,
// sorted: a test of a program says that there are none.
func (c *Catalog) Orphans() (names []string) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for module, backends := range c.backends {
		for _, b := range backends {
			if known := c.names(); !known[module] {
				names = append(names, module+"/"+b.Name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// Select chooses a backend for a module. See the function of this name.
func (c *Catalog) Select(module string, s System, want string) (*Interface, *Selection, error) {
	i, err := c.Interface(module)
	if err != nil {
		return nil, nil, err
	}
	sel, err := Select(module, c.Backends(module), s, want)
	return i, sel, err
}
