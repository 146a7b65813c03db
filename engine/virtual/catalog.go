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

// Catalog holds interfaces and their backends. It is safe for concurrent use; what
// is in it is not altered.
type Catalog struct {
	mu         sync.RWMutex
	interfaces map[string]*Interface
	backends   map[string][]*Backend // by module, sorted by name
}

var defaultCatalog = NewCatalog()

// DefaultCatalog returns the catalog that Register fills. An embedder may use
// another one.
func DefaultCatalog() *Catalog { return defaultCatalog }

// Register adds an interface and its backends to the default catalog. It is meant
// for init functions, and panics where Declare or Add return an error. A backend
// without a Module gets that of the interface; what else is to be said of it may be
// set by init functions that run later.
func Register(i *Interface, backends ...*Backend) {
	for _, b := range backends {
		b.Module = cmp.Or(b.Module, i.Module)
	}
	if err := errors.Join(defaultCatalog.Declare(i), defaultCatalog.Add(backends...)); err != nil {
		panic(err)
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
	return &Catalog{interfaces: map[string]*Interface{}, backends: map[string][]*Backend{}}
}

// Declare adds an interface.
func (c *Catalog) Declare(i *Interface) error {
	if err := i.Validate(); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, there := c.interfaces[i.Module]; there {
		return fmt.Errorf("interface %s is declared already", i.Module)
	}
	c.interfaces[i.Module] = i
	return nil
}

// Add adds backends, in any order. Their modules may be declared later: until then
// nobody can choose them.
func (c *Catalog) Add(backends ...*Backend) error {
	var errs []error
	for _, b := range backends {
		errs = append(errs, c.add(b))
	}
	return errors.Join(errs...)
}

func (c *Catalog) add(b *Backend) error {
	if err := b.Validate(); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
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
	return slices.Sorted(maps.Keys(c.interfaces))
}

// known returns nil if an interface is declared for a module, else an
// *UnknownModuleError.
func (c *Catalog) known(module string) error {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if _, ok := c.interfaces[module]; ok {
		return nil
	}
	return &UnknownModuleError{module, schema.Nearest(module, slices.Collect(maps.Keys(c.interfaces)))}
}

// Clone returns a catalog with the same interfaces and backends, to which others can be
// added.
func (c *Catalog) Clone() *Catalog {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return &Catalog{interfaces: maps.Clone(c.interfaces), backends: maps.Clone(c.backends)} // add does not alter a list
}

// Interface returns the interface of a module. The error is an
// *UnknownModuleError.
func (c *Catalog) Interface(module string) (*Interface, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if i, ok := c.interfaces[module]; ok {
		return i, nil
	}
	return nil, &UnknownModuleError{module, schema.Nearest(module, slices.Collect(maps.Keys(c.interfaces)))}
}

// Backends returns the backends of a module, sorted by name.
func (c *Catalog) Backends(module string) []*Backend {
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
			if c.interfaces[module] == nil {
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
