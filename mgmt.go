// Package mgmt is the front door for programs that embed the engine. It puts the
// reactor, the machine's host, a journal and a frontend together. A program calls these functions:
//
//  1. Run, with Options and a frontend: package gapi/yaml follows files, gapi/static has graphs made in Go.
//     It brings the machine to the latest graph and keeps it there, until its context ends. Its Report has the counts, and
//     the exit code of a program. The zero value of Options is good. The kinds are those of engine.DefaultRegistry. Import the
//     packages of the kinds that the graphs name, such as resources/file, or resources/all for all that come with mgmt.
//  2. Plan, with the same arguments, says what Run would do, and alters nothing.
//  3. Open instead of Run, which returns an Engine that runs. Engine.Close ends it. Engine.Wait waits for its end, and Engine.Report
//     has the counts then.
//  4. While that goes on, Engine.Apply puts a graph into effect and returns its verdict. Declare the graph with
//     static.NewGraph. Engine.Patch changes a part of the graph, at the cost of the part.
//     Engine.Changes gathers such changes by resource, as a work queue does, for programs that follow something.
//     Engine.Reload has the frontend read its input again.
//  5. Engine.Events is an iterator over everything that happens from then on. Options.Observer has a function for each kind of event
//     instead, and misses nothing.
//  6. At any time: Engine.Snapshot says how the graph stands, Engine.Status of one resource, and Dump names the causes of waiting.
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
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/virtual"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/internal/install"
)

// Run runs the graphs of a frontend until ctx ends, the graph has converged (with ConvergedExit), or MaxRuntime is over, and leaves
// nothing behind. The error is nil, a *MaxRuntimeError, an *engine.AbandonedError (see Options.Abandon), or that of the frontend if
// there was no graph at all. The Report says how the graph stood at the end, and is valid with an error too.
func Run(ctx context.Context, o Options, f gapi.Frontend) (Report, error) {
	e, err := Open(ctx, o, f)
	if err != nil {
		return Report{}, err
	}
	err = e.Wait()
	return e.Report(), err
}

// Open returns an Engine that runs the graphs of a frontend, as Run does, takes others, and answers questions. The frontend may be
// nil: then graphs come by Engine.Apply. The error is that of the options, the state folder or the host; then nothing runs. Call
// Engine.Close at the end, or end ctx and call Engine.Wait.
func Open(ctx context.Context, o Options, f gapi.Frontend) (*Engine, error) {
	return start(ctx, options{Options: o}, f)
}

// start checks and copies the options, and runs the graphs of a frontend on a goroutine.
func start(ctx context.Context, o options, f gapi.Frontend) (*Engine, error) {
	var err error
	if o.Options, err = o.Options.ready(); err != nil {
		return nil, err
	}
	kinds, err := o.Kinds()
	if err != nil {
		return nil, err
	}
	if o.abandoned() {
		return nil, &engine.AbandonedError{}
	}
	e := &Engine{opt: o, reloads: make(chan chan install.Verdict), ended: make(chan struct{}), done: make(chan struct{})}
	e.kinds.Store(kinds)
	ctx, e.cancel = context.WithCancel(ctx)
	s, err := e.open(ctx)
	if err != nil {
		e.cancel()
		return nil, err
	}
	go func() { _ = s.whole(ctx, f) }() // Wait returns its error
	return e, nil
}

// Validate says what is wrong with the options: each negative number, limit that makes no sense, and backends that do not fit the
// kinds. Run, Open and Plan do so too. It starts nothing, reads nothing and makes nothing.
func (o Options) Validate() error {
	ready, err := o.ready()
	if err == nil {
		_, err = ready.Kinds()
	}
	return err
}

// Kinds returns the kinds of the first graph: those of Registry, where the virtual ones choose among the Backends for this machine.
func (o Options) Kinds() (*engine.Registry, error) { return o.bound(o.Registry, o.Backends) }

// ready returns a copy with the defaults in place of empty options, or what is wrong with them.
func (o Options) ready() (Options, error) {
	if err := o.check(); err != nil {
		return o, fmt.Errorf("mgmt: %w", err)
	}
	c := o.clone()
	if err := c.complete(); err != nil {
		return o, fmt.Errorf("mgmt: %w", err)
	}
	return c, nil
}

// abandoned reports whether Abandon is closed.
func (o *Options) abandoned() bool {
	select {
	case <-o.Abandon:
		return true
	default:
		return false
	}
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
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.Program = cmp.Or(o.Program, "mgmt")
	o.Lease = cmp.Or(o.Lease, DefaultLease)
	return nil
}

// bound returns kinds whose virtual ones choose among the backends, and by the roles.
func (o *Options) bound(kinds *engine.Registry, backends *virtual.Catalog) (*engine.Registry, error) {
	kinds = cmp.Or(kinds, engine.DefaultRegistry())
	if backends == nil && len(o.Roles) == 0 && o.Host == nil {
		return kinds, nil
	}
	from := cmp.Or(backends, virtual.DefaultCatalog())
	facts := (&host.FactReader{Roles: o.Roles, Hostname: o.Hostname}).Facts
	if o.Host != nil {
		facts = o.Host.Facts
	}
	bound, err := virtual.Rebind(kinds, from, virtual.LocalSystem(facts))
	if err != nil {
		return nil, fmt.Errorf("mgmt: %w", err)
	}
	return bound, nil
}
