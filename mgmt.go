// Package mgmt is the front door for programs that embed the engine. It puts the
// reactor, the machine's host, a journal and a frontend together. A program calls these functions, in this order:
//
//  1. NewConfig checks the Options and returns a Config, which never changes. The zero value of Options is good. The kinds are
//     those of engine.DefaultRegistry. Import the packages of the kinds that the graphs name, such as resources/file, or
//     resources/all for all that come with mgmt.
//  2. Config.Run, with a frontend: package gapi/yaml follows files, gapi/static has graphs made in Go.
//     It brings the machine to the latest graph and keeps it there, until its context ends. Its Report has the counts, and
//     the exit code of a program. Config.Plan says what Run would do, and alters nothing.
//  3. Config.Start instead of Run, which returns an Engine at once. Engine.Wait waits for its end, and Engine.Report has the counts then.
//  4. While that goes on, Engine.Apply puts a graph into effect and returns its verdict. Declare the graph with
//     static.NewGraph. Engine.Upsert and Engine.Delete change a part of the graph, at the cost of the part.
//     Engine.Changes gathers such changes by resource, as a work queue does, for programs that follow something.
//     Engine.Reload has the frontend read its input again.
//  5. Engine.Events is an iterator over everything that happens. A program that wants to hear of it from the beginning asks
//     Config.Engine for an Engine, then Events, then Engine.Start. Options.Observer has a function for each kind of event instead.
//  6. At any time: Engine.Status, Statuses and Stand say how things stand, Dump names the causes of waiting.
//     Engine.Pause, Resume and Retry act on resources, SetLimits on the safety limits.
//
// Options.Host takes another machine, so a test runs the whole engine without this one. On simulate.NewHost, commands are a function and
// changes are told by the test. Its files are those of this machine: simulate.NewFolder puts a folder in the place of their root.
//
// # More than the front door
//
//   - A kind of your own is a struct that implements engine.Res. Package traits has its abilities as structs to embed,
//     engine.RegisterResource adds it, and enginetest.Run tests it.
//   - Another source of graphs implements gapi.Frontend, which is one method.
//   - Package daemon makes a whole daemon of a configuration, as mgmt run is one: with its state, its socket, its store, metrics and systemd.
//   - Package engine/control serves the API that the verbs of mgmt ask, and engine/metrics the figures for Prometheus.
//   - Package service makes the program a service of systemd.
//
// The page docs/embedding.md has a whole program, and docs/writing-a-resource.md a whole kind.
package mgmt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/host"
	"github.com/reactivegraph/mgmt/engine/lend"
	"github.com/reactivegraph/mgmt/engine/look"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/virtual"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/internal/install"
)

// Config says how graphs are run: checked options that never change. Make it with NewConfig. Any number of goroutines may use
// one Config at the same time, and each Run, Plan, Start and Set of it is an Engine of its own. Two that run at the same time need two
// state folders, since a state folder has one user, and only one of them can read Stdin, Reload and the rest that has one reader.
type Config struct {
	given Options          // as the caller gave them; see Options
	opt   Options          // with the defaults in place of empty ones
	kinds *engine.Registry // of the first graph; see Options.bound
}

// NewConfig checks the options and copies them. It starts nothing, reads nothing and makes nothing. The error names each fault: a negative number, a limit that makes no sense, or backends that do not fit the kinds.
func NewConfig(o Options) (*Config, error) {
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("mgmt: %w", err)
	}
	c := &Config{given: o.clone(), opt: o.clone()}
	if err := c.opt.complete(); err != nil {
		return nil, fmt.Errorf("mgmt: %w", err)
	}
	var err error
	if c.kinds, err = c.opt.bound(c.opt.Registry, c.opt.Backends); err != nil {
		return nil, fmt.Errorf("mgmt: %w", err)
	}
	return c, nil
}

// New is NewConfig and Config.Engine in one, for a program that runs one Engine.
func New(o Options) (*Engine, error) {
	c, err := NewConfig(o)
	if err != nil {
		return nil, err
	}
	return c.Engine(), nil
}

// Options returns a copy of the options that NewConfig was given. Alter it, and make another Config of it.
func (c *Config) Options() Options { return c.given.clone() }

// Run runs the graphs of a frontend until ctx ends; see Engine.Run. It blocks until nothing is left behind. The Report says how
// the graph stood at the end, and is valid with an error too.
func (c *Config) Run(ctx context.Context, f gapi.Frontend) (Report, error) {
	e := c.Engine()
	err := e.Run(ctx, f)
	return e.Report(), err
}

// Plan says what Run would do with the first graph of a frontend, and alters nothing; see Engine.Plan. It blocks until everything has been looked at.
func (c *Config) Plan(ctx context.Context, f gapi.Frontend) (*Plan, error) {
	return c.Engine().Plan(ctx, f)
}

// Start is Run on a goroutine of its own. It returns an Engine that takes graphs and answers questions until ctx ends; see Engine.Start. Call
// Engine.Wait at the end. The frontend may be nil: then graphs come by Engine.Apply.
func (c *Config) Start(ctx context.Context, f gapi.Frontend) (*Engine, error) {
	e := c.Engine()
	if err := e.Start(ctx, f); err != nil {
		return nil, err
	}
	return e, nil
}

// Set makes single things as they are declared, and returns when that is done; see Engine.Set.
func (c *Config) Set(ctx context.Context, targets ...look.Target) (Outcome, error) {
	return c.Engine().Set(ctx, targets...)
}

// Engine returns an Engine that has not begun. It is for a program that reads Events from the very beginning, or that has to
// call Abandon while Run, Plan or Set is going on.
func (c *Config) Engine() *Engine {
	e := &Engine{config: c, ready: make(chan struct{}), reloads: make(chan chan install.Verdict), ended: make(chan struct{}), done: make(chan struct{}), grace: timeGrace}
	e.kinds.Store(c.kinds)
	return e
}

// check says what is wrong with options.
func (o *Options) check() error {
	switch {
	case o.Parallel < 0, o.Sema < 0:
		return errors.New("the options Parallel and Sema must not be negative")
	case o.ConvergedTimeout < 0, o.MaxRuntime < 0, o.HeartbeatEvery < 0, o.Lease < 0:
		return errors.New("times must not be negative")
	}
	if _, err := lend.Parse(o.Accept); err != nil {
		return fmt.Errorf("the option Accept: %w", err)
	}
	return errors.Join(o.MaxChanges.Validate(), cmp.Or(o.Flapping, new(reactor.Flapping{})).Validate(), cmp.Or(o.Storm, new(reactor.Storm{})).Validate())
}

// clone returns a copy that shares no memory with o that a caller may write to.
func (o *Options) clone() Options {
	c := *o
	c.Roles = slices.Clone(o.Roles)
	c.Accept = slices.Clone(o.Accept)
	c.Storm, c.Flapping = copied(o.Storm), copied(o.Flapping)
	return c
}

// copied returns a pointer to a copy; nil for nil.
func copied[T any](p *T) *T {
	if p == nil {
		return nil
	}
	return new(*p)
}

// complete puts the defaults in place of empty options.
func (o *Options) complete() (err error) {
	if o.State != nil {
		if o.State, err = o.State.Abs(); err != nil {
			return fmt.Errorf("the state folder: %w", err)
		}
	}
	if o.Registry == nil {
		o.Registry = engine.DefaultRegistry()
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.Program = cmp.Or(o.Program, "mgmt")
	o.Lease = cmp.Or(o.Lease, DefaultLease)
	return nil
}

// bound returns kinds whose virtual ones choose among the backends, and by the roles.
func (o *Options) bound(kinds *engine.Registry, backends *virtual.Catalog) (*engine.Registry, error) {
	if backends == nil && len(o.Roles) == 0 && o.Host == nil {
		return kinds, nil
	}
	from := cmp.Or(backends, virtual.DefaultCatalog())
	facts := (&host.FactReader{Roles: o.Roles, Hostname: o.Hostname}).Facts
	if o.Host != nil {
		facts = o.Host.Facts
	}
	return virtual.Rebind(kinds, from, virtual.LocalSystem(facts))
}

// Check builds the first graph of a frontend with the kinds of this Config, and returns everything that is wrong with it, warnings
// too. It puts nothing into effect.
func (c *Config) Check(ctx context.Context, f gapi.Frontend) schema.Diagnostics {
	return c.Engine().Check(ctx, f)
}
