package daemon

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/daemon/input"
	"github.com/reactivegraph/mgmt/daemon/kinds"
	"github.com/reactivegraph/mgmt/daemon/notices"
	"github.com/reactivegraph/mgmt/daemon/state"
	"github.com/reactivegraph/mgmt/daemon/store"
	"github.com/reactivegraph/mgmt/daemon/traces"
	"github.com/reactivegraph/mgmt/daemon/trust"
	"github.com/reactivegraph/mgmt/engine/hosts"
	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/gapi"
)

// Config says what a daemon is. The zero value runs input.Default with the state, the store and the socket of the machine.
type Config struct {
	Program string       // "mgmt" when empty
	Version string       // as statuses have it
	Log     *slog.Logger // discards when nil
	Stdin   io.Reader    // of a graph that is read from "-"

	Graph input.Config
	// Env is what surrounds the graph. Hostname and Facts are those of Kinds where it has none.
	Env   input.Env
	Kinds kinds.Options

	State       state.Place
	Store       store.Config // DefaultPlace and DefaultLease where it has none
	TrustedKeys []string     // files with the keys whose deploys this host takes

	Socket     Socket
	Remote     Remote
	Metrics    Metrics
	Web        Web
	Notify     []notices.Receiver // who is told of events
	Traces     traces.Options     // where runs are sent as spans; without an Endpoint nowhere
	Undo       Undo
	StatusFile string // gets a line, true or false, whenever the graph converges or does not any more; empty for none

	// Engine says how the graphs are run: noop, limits, times, and the first Observer. What the daemon knows itself, from the name of the
	// machine to the background work, is set by it.
	Engine mgmt.Options

	Reloading Reloading
	// Stalled is called when the loop of the engine has not gone around for three quarters of the time that systemd waits; nil for none.
	Stalled func(context.Context)
}

// Part is one of the things that a daemon does besides running graphs. Its methods are called in this order, each once, on one goroutine.
type Part interface {
	// Open takes what the part needs, such as an address, before anything is altered: a wrong setting is an error here. It may alter
	// d.Options, and call d.Beside and d.OnReload.
	Open(ctx context.Context, d *Daemon) error
	// Start begins the work, when the engine answers. It returns at once. ctx is done when the end was asked for; what is to go on until
	// the graph has come to its end, and may use the state until then, is begun by d.Go.
	Start(ctx context.Context, e *mgmt.Engine) error
	// Close ends the work, after the engine, and waits for it. It is called for each part whose Open was called, an unsuccessful one too.
	Close() error
}

// Daemon is one life of a Config. Its fields are for parts: they are set before the first Open, and Options counts until the last one.
type Daemon struct {
	Config
	Options   mgmt.Options // of the engine
	Host      string       // the name of this host in the store
	Folder    *state.Folder
	World     world.World
	Secrets   *trust.Secrets
	Operators *trust.Operators
	Objects   *model.NB // of World, admitted against the graph that runs

	parts    []Part
	overlays []func(gapi.Frontend) gapi.Frontend // see Beside
	front    gapi.Frontend                       // of the first input

	set    atomic.Pointer[kinds.Set]
	input  atomic.Pointer[input.Input] // whose graph is in effect
	engine atomic.Pointer[mgmt.Engine] // nil before Run has begun
	opened chan struct{}               // closed when it is set

	abandon func() // closes Options.Abandon, at most once

	exporter   *metricsPart // of the metrics; nil for none
	notices    *noticesPart
	traces     *tracesPart
	past       *pastPart
	web        *webPart
	systemd    *systemdPart
	runContext context.Context // done when the end of Run was asked for
	renewal    renewal
	life       context.Context // ends with fail
	fail       context.CancelCauseFunc
	work       func(func(context.Context)) // see Go; nil outside of Start
}

// Open makes a daemon, and opens everything that it needs. It alters nothing but its own state folder. The parts are opened before those
// of the Config, and so hear of each event before these; the Observer of Config.Engine is the first to hear. The caller closes the Daemon.
func Open(ctx context.Context, c Config, parts ...Part) (_ *Daemon, err error) {
	d := &Daemon{Config: c, renewal: renewal{requests: make(chan struct{}, 1)}, opened: make(chan struct{})}
	d.complete()
	d.life, d.fail = context.WithCancelCause(context.Background())
	defer func() {
		if err != nil {
			err = errors.Join(err, d.Close())
		}
	}()
	if err := d.openInput(); err != nil {
		return nil, err
	}
	if err := d.openKinds(); err != nil {
		return nil, err
	}
	if err := d.openState(ctx); err != nil {
		return nil, err
	}
	if err := d.openStore(ctx); err != nil {
		return nil, err
	}
	d.configure()
	if err := checkApprove(d.renewal.limits.Approve, d.set.Load().Kinds()); err != nil {
		return nil, err
	}
	for _, p := range slices.Concat(parts, d.standard()) {
		d.parts = append(d.parts, p)
		if err := p.Open(ctx, d); err != nil {
			return nil, err
		}
	}
	if err := d.Options.Validate(); err != nil {
		return nil, err
	}
	return d, nil
}

// complete puts the defaults in place of what the Config leaves open.
func (d *Daemon) complete() {
	d.Program = cmp.Or(d.Program, "mgmt")
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	d.Store.Place, d.Store.Lease = cmp.Or(d.Store.Place, store.DefaultPlace), cmp.Or(d.Store.Lease, store.DefaultLease)
	if d.Host = d.Kinds.Hostname; d.Host == "" {
		d.Host, _ = os.Hostname() // a machine without a name has an empty one
	}
	if d.Env.Hostname == "" {
		d.Env.Hostname = d.Kinds.Hostname
	}
	if d.Env.Facts == nil {
		d.Env.Facts = func() map[string]any { return d.Kinds.System()(nil).Facts }
	}
}

// openInput judges the files that say who this host is and whom it trusts, before one is read, and makes the frontend.
func (d *Daemon) openInput() (err error) {
	d.Graph.Stored = d.Graph.Stored || len(d.TrustedKeys) > 0
	in := input.New(d.Graph, d.Env)
	if d.front, err = in.Frontend(); err != nil {
		return err
	}
	d.input.Store(in)
	d.renewal.input.Store(in)
	return d.Env.From.Judge(append(d.Store.Files(), d.Graph.Identity, d.Remote.Cert, d.Remote.Key, d.Remote.CA)...)
}

// openKinds loads the kinds.
func (d *Daemon) openKinds() error {
	d.Kinds.Changed = d.requestReload
	d.renewal.folders = d.Kinds
	set, ds := kinds.Load(d.Kinds, nil)
	if ds.Err() != nil {
		return ds
	}
	d.set.Store(set)
	if warned := d.Config.Engine.Observer.Warned; warned != nil && len(ds) > 0 {
		warned(ds)
	}
	return nil
}

// openState takes the state folder. It is the first thing that is taken, since its lock keeps a second daemon away.
func (d *Daemon) openState(context.Context) (err error) {
	if d.Folder, err = d.State.Open(d.Env.From); err == nil {
		d.Folder.Tell(d.Log)
	}
	return err
}

// openStore opens the store, with the keys of this host and of its operators.
func (d *Daemon) openStore(ctx context.Context) (err error) {
	if d.World, err = d.Store.Open(ctx, d.Folder.Dir, d.Host, d.Log); err != nil {
		return err
	}
	d.Secrets = trust.NewSecrets(d.World, d.Folder.Dir, d.Host, d.Kinds.Roles, d.Store.Access.Cert)
	d.Operators, err = trust.Open(trust.Options{
		World: d.World, Host: d.Host, Dir: d.Folder.Dir, Files: d.TrustedKeys, From: d.Env.From, Log: d.Log,
		Recipient: func() string { return d.Secrets.Recipient("") },
	})
	if err != nil {
		return err
	}
	d.Secrets.Readers = d.Operators.Readers
	d.Objects = Objects(d.World, d.set.Load().Tables(), ObjectOptions{
		Host: d.Host, Topics: trust.ObjectTopics(d.Host, d.Kinds.Roles), Secrets: d.Secrets, Running: d.engine.Load, Log: d.Log,
	})
	return nil
}

// configure fills in the options of the engine.
func (d *Daemon) configure() {
	o := d.Config.Engine
	d.renewal.limits = reactor.Limits{MaxChanges: o.MaxChanges, MaxRemovals: o.MaxRemovals, Approve: o.Approve, Windows: o.Windows, Policy: o.Policy, ApproveExpiry: o.ApproveExpiry, Flapping: *cmp.Or(o.Flapping, new(reactor.DefaultFlapping()))}
	set := d.set.Load()
	o.Program, o.Version, o.Logger, o.Stdin = d.Program, d.Version, d.Log, d.Stdin
	o.Hostname, o.Roles, o.Registry, o.Backends = d.Kinds.Hostname, d.Kinds.Roles, set.Kinds(), set.Catalog()
	o.World, o.Lease, o.Accept = mgmt.Share(hosts.Without(d.World, d.Operators)), d.Store.Lease, d.Store.Accepts()
	o.State = d.Folder.Held(d.World, d.Log, d.fail)
	o.Input, o.Reload, o.BeforeReload, o.Background = d.input.Load().Lasting(), d.renewal.requests, d.beforeReload, d.background
	abandon := make(chan struct{})
	o.Abandon, d.abandon = abandon, sync.OnceFunc(func() { close(abandon) })
	d.Options = o
}

// standard returns the parts of the Config. Their order counts: the socket serves the figures of metrics, and those that go beside the graph
// wrap each other: the past keeps what all before it read, and files, the last, watches that. Notices are begun before the socket, whose recorder makes the events.
func (d *Daemon) standard() []Part {
	d.exporter = &metricsPart{Metrics: d.Config.Metrics}
	d.systemd, d.notices, d.web, d.past = &systemdPart{}, &noticesPart{}, &webPart{}, &pastPart{}
	d.traces = &tracesPart{}
	return []Part{
		&statusFile{path: d.StatusFile}, d.exporter, d.notices, d.traces, &socketPart{}, d.web, d.systemd, &objectsPart{}, &deploysPart{}, d.past, &filesPart{},
	}
}

// Beside adds what else makes the graph of this machine, such as a store, to its frontend, and to those of later reloads.
func (d *Daemon) Beside(with func(gapi.Frontend) gapi.Frontend) {
	d.overlays = append(d.overlays, with)
}

// OnReload has f called at each reload, before the settings count and the graph is read. Its error refuses the reload.
func (d *Daemon) OnReload(f func(context.Context) error) {
	d.renewal.hooks = append(d.renewal.hooks, f)
}

// Go runs f on a goroutine until the graph has come to its end. The context of f ends then, and the state is given up when f has returned.
// A part calls it in its Start.
func (d *Daemon) Go(f func(context.Context)) { d.work(f) }

// whole returns a frontend with all that is beside it.
func (d *Daemon) whole(front gapi.Frontend) gapi.Frontend {
	for _, with := range d.overlays {
		front = with(front)
	}
	return front
}

// Running returns the engine; nil before Run has begun.
func (d *Daemon) Running() *mgmt.Engine { return d.engine.Load() }

// Run runs the graphs until ctx ends, or as Options of the engine say; see mgmt.Run. The error may also be that of a part that could
// not be started, or a *state.LostError. It is called once.
func (d *Daemon) Run(ctx context.Context) (mgmt.Report, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(d.life, func() { cancel(context.Cause(d.life)) })()
	d.runContext = ctx
	report, err := mgmt.Run(ctx, d.Options, d.whole(d.front))
	if failed := context.Cause(d.life); err == nil && failed != nil {
		err = failed
	}
	return report, err
}

// background starts the parts, and returns when the work that they have begun by Go has ended. It is Options.Background of the engine.
func (d *Daemon) background(ctx context.Context, e *mgmt.Engine) {
	d.engine.Store(e)
	close(d.opened)
	var work sync.WaitGroup
	defer work.Wait()
	d.work = func(f func(context.Context)) { work.Go(func() { f(ctx) }) }
	for _, p := range d.parts {
		if err := p.Start(d.runContext, e); err != nil {
			d.fail(err)
			return
		}
	}
}

// Abandon has Run return without waiting for methods that ignore the end; see mgmt.Options.Abandon.
func (d *Daemon) Abandon() { d.abandon() }

// Reload has everything read again: the settings, the kinds, the keys and the graph. It does not wait, and may be called from any goroutine.
// The verdict is an event of the engine.
func (d *Daemon) Reload() {
	d.systemd.reloading()
	d.requestReload()
}

// requestReload leaves a question in the channel of reloads, unless there is one: two at once count as one.
func (d *Daemon) requestReload() {
	select {
	case d.renewal.requests <- struct{}{}:
	default:
	}
}

// Close ends the parts in reverse order, and lets go of the store and of the state folder. Call it after Run, or without one.
func (d *Daemon) Close() error {
	var errs []error
	for _, p := range slices.Backward(d.parts) {
		errs = append(errs, p.Close())
	}
	d.parts = nil
	if d.World != nil {
		store.Close(d.World, d.Log)
	}
	if d.Folder != nil {
		d.Folder.Close()
	}
	d.fail(nil)
	return errors.Join(errs...)
}
