package provider

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// TransportDefinition is a way to other machines and devices, as data: the information
// to connect to one of them, which is called a target.
type TransportDefinition struct {
	Name string // a lower case word of letters, digits and _
	Doc  string // Markdown, one paragraph first

	// ConnectionInfo are the attributes of a target, in the order in which they are shown. Their
	// role is Property or Parameter, which mean the same here.
	ConnectionInfo []Attribute

	Pos schema.Pos // where it was read; zero for Go
}

// Transport is a connection to one target. The types of a target share it: its methods, but for Close, are
// called at the same time. None of them blocks longer than its context lives.
type Transport interface {
	// Verify reports why the target can't be used, nil if it can. It alters nothing. After an error of
	// a provider it decides whether the connection is lost; then the next call connects anew.
	Verify(ctx context.Context) error
	// Facts returns the facts of the target, by name.
	Facts(ctx context.Context) (map[string]any, error)
	// Close ends the connection. It is called once, after all other calls, or while they hang.
	Close() error
}

// Commander is a Transport that runs programs on the target. A provider gets it as Runtime.Host.Command, so
// a provider made of commands alone works on a target as it does here.
type Commander interface {
	// Command is Host.Command on the target: a command that was started gives a Result, whatever its code. Of the
	// Command, User, Group, Signal, Grace and Cost are empty. An error says that the target may not have run it, or
	// not to its end.
	Command(ctx context.Context, c engine.Command) (*engine.Result, error)
}

// Line is what a Connect has of this side.
type Line struct {
	Target string      // the name of the target
	Host   engine.Host // this machine
}

// Connect connects to a target. info has the attributes of the definition, defaults included. A sensitive text is a
// schema.Secret in it, and any other sensitive value a puppettype.Sensitive. The caller closes the result.
type Connect func(ctx context.Context, l *Line, info Record) (Transport, error)

// transport is a definition that was checked, with its function to connect.
type transport struct {
	*Kind   // of the connection info: an attribute of a target is one of it
	connect Connect
	local   bool // its commands run here: see ExternalTransport
}

// Transports are the transports that targets may name. It is safe for concurrent use.
type Transports struct {
	mu     sync.RWMutex
	byName map[string]func() *transport
}

// NewTransports returns an empty set.
func NewTransports() *Transports { return &Transports{byName: map[string]func() *transport{}} }

var defaultTransports = NewTransports()

// DefaultTransports returns the set that RegisterTransport fills.
func DefaultTransports() *Transports { return defaultTransports }

// RegisterTransport adds a transport to the default set. It is meant for init functions. The definition is checked
// when the transport is used for the first time, so a program that uses no target does not pay for it; where
// Transports.Register returns an error, that first use panics.
func RegisterTransport(def TransportDefinition, connect Connect) {
	lazy := sync.OnceValue(func() *transport {
		t, err := newTransport(def, connect, false)
		if err != nil {
			panic(err)
		}
		return t
	})
	if err := defaultTransports.add(def.Name, lazy); err != nil {
		panic(err)
	}
}

// Register checks a definition and adds it. The error joins all that is wrong with it.
func (ts *Transports) Register(def TransportDefinition, connect Connect) error {
	t, err := newTransport(def, connect, false)
	if err != nil {
		return err
	}
	return ts.add(def.Name, func() *transport { return t })
}

// newTransport checks and compiles a definition.
func newTransport(def TransportDefinition, connect Connect, local bool) (*transport, error) {
	if err := def.Check().Err(); err != nil {
		return nil, err
	}
	if connect == nil {
		return nil, fmt.Errorf("%s: the transport %s has nothing that connects", def.Pos, def.Name)
	}
	t := &transport{Kind: &Kind{def: def.asType()}, connect: connect, local: local}
	if err := t.compile(); err != nil {
		return nil, fmt.Errorf("the transport %s: %w", def.Name, err)
	}
	return t, nil
}

// add adds a transport, compiled or not, below a name that must be free.
func (ts *Transports) add(name string, t func() *transport) error {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.byName[name] != nil {
		return fmt.Errorf("the transport %s is registered already", name)
	}
	ts.byName[name] = t
	return nil
}

// Names returns the names, sorted.
func (ts *Transports) Names() []string {
	ts.mu.RLock()
	defer ts.mu.RUnlock()
	return slices.Sorted(maps.Keys(ts.byName))
}

// Definition returns a copy of a transport's definition, false if there is none of that name.
func (ts *Transports) Definition(name string) (TransportDefinition, bool) {
	t := ts.find(name)
	if t == nil {
		return TransportDefinition{}, false
	}
	d := t.Definition()
	return TransportDefinition{Name: d.Name, Doc: d.Doc, ConnectionInfo: d.Attributes, Pos: d.Pos}, true
}

// Clone returns a set of the same transports that can be altered alone.
func (ts *Transports) Clone() *Transports {
	ts.mu.RLock()
	defer ts.mu.RUnlock()
	return &Transports{byName: maps.Clone(ts.byName)}
}

func (ts *Transports) find(name string) *transport {
	ts.mu.RLock()
	t := ts.byName[name]
	ts.mu.RUnlock()
	if t == nil {
		return nil
	}
	return t()
}

// Type returns the attributes of a target of a transport as a schema, nil if there is no transport of that name.
func (ts *Transports) Type(name string) *schema.Type {
	if t := ts.find(name); t != nil {
		return t.params
	}
	return nil
}

// asType is a definition of a type whose attributes are those of a target.
func (d *TransportDefinition) asType() Definition {
	t := Definition{Name: d.Name, Doc: d.Doc, Attributes: slices.Clone(d.ConnectionInfo), Pos: d.Pos}
	for i := range t.Attributes {
		if t.Attributes[i].Role == Property {
			t.Attributes[i].Role = Parameter
		}
	}
	return t
}

// transportKey is the key of a target that is no connection info.
const transportKey = "transport"

// Check returns all that is wrong with a definition: its name and those of its attributes are words, each attribute has
// a type, a default fits it, and none is called transport or ensure. Missing documentation is a warning.
func (d *TransportDefinition) Check() schema.Diagnostics { return d.check(nil) }

func (d *TransportDefinition) check(at places) schema.Diagnostics {
	t := d.asType()
	c := &checker{Definition: &t, what: "transport", at: at}
	c.kind()
	if n := len(d.ConnectionInfo); n > maxAttributes {
		c.errorf("connection_info", "%s has %d attributes, at most %d are allowed", c.subject(), n, maxAttributes)
		return c.found.All()
	}
	for _, a := range d.ConnectionInfo {
		path := "attributes." + a.Name
		switch {
		case a.Name == transportKey || a.Name == ensureKey || a.Name == stateKey:
			c.errorf(path, "%s: no attribute of a target can be called %s, that name is reserved", c.subject(), a.Name)
		case a.Role != Property && a.Role != Parameter:
			c.errorf(path+".kind", "%s.%s: an attribute of a target is a parameter", c.subject(), shorten(a.Name))
		}
	}
	c.attributes()
	return c.found.All()
}

// TargetError says that a target can't be used. The work there at the moment of the loss is unknown:
// its resources are read again before anything else is set.
type TargetError struct {
	Target    string   // the name
	Transport string   // the name of the transport
	Resources []string // the resource that was being set or refreshed, as kind[name]; empty for a look
	Err       error    // the message of the transport, or of the provider over it; without the secrets of the connection
}

func (e *TargetError) Error() string {
	what := "can't be used"
	if len(e.Resources) > 0 {
		what = "was lost while " + few(e.Resources) + " was set"
	}
	return fmt.Sprintf("the target %s (transport %s) %s: %v", e.Target, e.Transport, what, e.Err)
}

// Unwrap returns the first error.
func (e *TargetError) Unwrap() error { return e.Err }

// few names some of a list.
func few(list []string) string {
	switch n := len(list); {
	case n == 1:
		return list[0]
	case n <= 3:
		return fmt.Sprintf("%s and %d more", list[0], n-1)
	default:
		return fmt.Sprintf("%s, %s and %d more", list[0], list[1], n-2)
	}
}

// errNoCommands is the error of a command over a transport that runs none.
var errNoCommands = errors.New("this transport runs no commands on its targets; a provider over it uses Runtime.Transport")
