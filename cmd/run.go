package cmd

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/daemon/input"
	"github.com/reactivegraph/mgmt/daemon/state"
	"github.com/reactivegraph/mgmt/daemon/store"
	"github.com/reactivegraph/mgmt/daemon/trust"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/control"
	"github.com/reactivegraph/mgmt/engine/hosts"
	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
	"github.com/reactivegraph/mgmt/service"
)

// runFlags are the flags of run.
// Its fields are settled before run is called: cobra has read the flags, and configure
// the environment and the file. A reload does not alter them, see resettling.
type runFlags struct {
	input   inputFlags
	steps   transforms
	state   stateFlags
	log     logFlags
	limits  limitFlags
	metrics metricsFlags
	socket  socketFlag
	world   worldFlags
	// writers is a name or a number; empty for root and the daemon's own user alone.
	writers string // the group that may change objects
	remote  listenFlags
	trusted []string // files with the keys whose deploys this host takes

	noop    string
	noWatch bool
	// parallel is how many CheckApply run at once; 0 means 8 for each core.
	parallel int
	// sema is a semaphore over all resources; 0 means no limit.
	sema int
	// quiet is the time without an event after which the graph counts as converged.
	quiet      seconds
	exit       bool
	statusFile string
	graphviz   string
	// maxRuntime is how long the run may take; 0 means for ever.
	maxRuntime seconds

	reload chan struct{} // a request to read all again: by SIGHUP, by a file next to the graph, or by a provider
}

// newRun makes the verb run.
// The flags are those of the table settings, so each of them can stand in the
// configuration file too.
func newRun(a *app) *cobra.Command {
	f := &runFlags{reload: make(chan struct{}, 1)}
	a.folders.Changed = func() { ask(f.reload) }
	cmd := &cobra.Command{
		Use:   "run [FILE|FOLDER]",
		Short: "Bring the machine to a graph, and keep it there",
		Long: `Run reads a graph (FILE, a FOLDER of them, or - for standard input), brings the
machine to it, watches it, repairs drift at once, and follows edits of the
graph. Without an argument the graph is that of the configuration, else
/etc/mgmt/graph.yaml. Run ends at SIGINT or SIGTERM: the first one waits for
runs in progress, the second one does not, the third one exits at once. At
SIGHUP it reads the settings and the graph again, changed or not, also with
--no-watch; only when the terminal that it was started on has gone does that end
it.`,
		Example: `  mgmt run graph.yaml
  mgmt run graph.yaml --converged-exit --converged-timeout 2s
  generate | mgmt run - --noop`,
		Args: graphArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), a) },
	}
	f.input.flags(cmd)
	a.modelsFlag(cmd)
	a.typesFlag(cmd)
	a.machineFlags(cmd)
	a.guardFlag(cmd)
	f.steps.flags(cmd)
	f.state.flags(cmd)
	f.log.flags(cmd)
	f.limits.flags(cmd)
	f.metrics.flags(cmd)
	f.socket.flag(cmd)
	f.world.flags(cmd)
	bind(cmd, "api_write_group", &f.writers)
	f.remote.flags(cmd)
	bind(cmd, "trusted_keys", &f.trusted)
	bind(cmd, "noop", &f.noop)
	bind(cmd, "no_watch", &f.noWatch)
	bind(cmd, "parallel", &f.parallel)
	bind(cmd, "sema", &f.sema)
	bind(cmd, "converged_timeout", &f.quiet)
	bind(cmd, "converged_exit", &f.exit)
	bind(cmd, "converged_status_file", &f.statusFile)
	bind(cmd, "graphviz", &f.graphviz)
	bind(cmd, "max_runtime", &f.maxRuntime)
	return cmd
}

// noopPolicies are the words of --noop.
// The empty word is a run without the flag. The words true and false are there for the
// configuration file, where a person writes noop: true.
var noopPolicies = map[string]mgmt.Noop{
	"": mgmt.NoopOff, "false": mgmt.NoopOff, "all": mgmt.NoopAll, "true": mgmt.NoopAll, "default": mgmt.NoopDefault,
}

// noopPolicy reads --noop, whose values differ in which resources it binds.
func (f *runFlags) noopPolicy() (mgmt.Noop, error) {
	policy, ok := noopPolicies[f.noop]
	if !ok {
		return 0, fmt.Errorf("--noop=%s: write --noop=all, which is --noop alone, or --noop=default", f.noop)
	}
	return policy, nil
}

// checkNumbers refuses numbers that nothing can be, by the names of their flags.
// Zero is allowed and means the default, since a configuration file may write it out.
func (f *runFlags) checkNumbers() error {
	switch {
	case f.sema < 0:
		return fmt.Errorf("--sema=%d: write how many may run at once, 0 for no limit", f.sema)
	case f.parallel < 0:
		return fmt.Errorf("--parallel=%d: write how many to run at once, 0 for the default", f.parallel)
	}
	return nil
}

// set fills in the options that the flags give by themselves.
// Options that need an open file or a listener are set by run itself.
// Strict ends a start with a wrong graph by an error: a service manager shows that at once. Later
// graphs are refused, and the last good one goes on.
func (f *runFlags) set(o *mgmt.Options) {
	f.steps.set(o)
	f.limits.set(o)
	o.Debug, o.NoWatch, o.Strict = f.log.debug, f.noWatch, true
	o.Parallel, o.Sema = f.parallel, f.sema
	o.ConvergedTimeout, o.ConvergedExit, o.MaxRuntime = time.Duration(f.quiet), f.exit, time.Duration(f.maxRuntime)
}

// run is the life of the daemon: it settles the flags, takes the state folder, starts the
// engine and all listeners, and ends them in reverse.
// Each part is opened before the engine starts, so that a wrong flag is an error before
// anything is altered. The deferred calls end the parts in reverse: the engine first, the
// state folder last.
func (f *runFlags) run(ctx context.Context, a *app) (err error) {
	if err := cmp.Or(f.checkNumbers(), enoughFiles()); err != nil {
		return err
	}
	f.input.Stored = fromStore(a.settled)
	in, err := f.input.open(a)
	if err != nil {
		return err
	}
	front, err := in.Frontend()
	if err != nil {
		return err
	}
	noop, err := f.noopPolicy()
	if err != nil {
		return err
	}
	// These files say who this host is and whom it trusts. The guard must refuse them before one
	// is read.
	if err := a.judge(append(f.world.Files(), f.input.Identity, f.remote.cert, f.remote.key, f.remote.ca)...); err != nil {
		return err
	}
	// The state folder is the first thing that is taken, since its lock keeps a second daemon
	// away.
	folder, err := f.state.Open(a.source())
	if err != nil {
		return err
	}
	defer folder.Close()
	p := f.log.presenter(a)
	defer p.close()
	folder.Tell(p.logger)
	// A store in etcd that is out of reach opens all the same: the last state goes on.
	world, err := f.world.Open(ctx, folder.Dir, cmp.Or(a.folders.Hostname, hostname()), p.logger)
	if err != nil {
		return err
	}
	defer store.Close(world, p.logger)
	status, err := openStatusFile(f.statusFile)
	if err != nil {
		return err
	}
	defer status.close(&err)
	exports, err := f.metrics.open()
	if err != nil {
		return err
	}
	defer exports.close()
	host := cmp.Or(a.folders.Hostname, hostname())
	secrets := trust.NewSecrets(world, folder.Dir, host, a.folders.Roles, f.world.Access.Cert)
	by, err := trust.Open(trust.Options{
		World: world, Host: host, Dir: folder.Dir, Files: f.trusted, From: a.source(), Log: p.logger,
		Recipient: func() string { return secrets.Recipient("") },
	})
	if err != nil {
		return err
	}
	secrets.Readers = by.Readers
	// The objects and the API are made before the engine, and find it here once it runs.
	var running atomic.Pointer[mgmt.Engine]
	nb := a.objectsOf(world, a.folders.Hostname, secrets, &running, p.logger)
	desk, err := f.openDesk(ctx, folder, nb, a.tables().Kinds, &running, p.logger)
	if err != nil {
		return err
	}
	defer desk.close()
	if desk != nil {
		desk.trust, desk.opt.Removed = by, by.RemovedHosts
	}
	return f.with(ctx, a, &openedRun{in, front, noop, folder, p, world, status, exports, desk, secrets, by, nb})
}

// openedRun has the things that a run opens first, and closes last.
// The function run closes each of them. The fields are not altered while the engine runs.
type openedRun struct {
	in      *input.Input
	front   gapi.Frontend
	noop    mgmt.Noop
	folder  *state.Folder
	p       *presenter
	world   engine.World
	status  *statusFile
	exports *exports
	desk    *desk
	secrets *trust.Secrets
	trust   *trust.Operators
	nb      *model.NB // of the objects in world
}

// with makes the engine and serves it until its end.
func (f *runFlags) with(ctx context.Context, a *app, o *openedRun) error {
	p, folder, world := o.p, o.folder, o.world
	svc := service.New(p.logger)
	observer := o.status.observe(p.observer())
	if f.graphviz != "" {
		observer.Loaded = func(graph func() *engine.Graph) { f.drawTo(p, graph()) }
	}
	trim := newTrimmer()
	opts := a.options(p.logger)
	f.set(&opts)
	opts.Input = o.in.Lasting()
	svc.Configure(&opts)
	anew := f.resettling(a, o.in, p)
	if o.desk != nil {
		o.desk.opt.Providers = &pluginDesk{anew.kinds.Load}
	}
	// A deploy is bounded as the graph is, and its secrets come from the same places.
	deployed := func() yaml.Options {
		y := anew.limits()
		y.Unseal = o.secrets.Decrypts(func() func(string) (string, error) { return anew.input.Load().Unseal() })
		return y
	}
	sealed := func() string { return o.secrets.Recipient(anew.input.Load().Config().Identity) }
	signed := openDeploys(a, o.trust, folder.Dir, deployed, sealed, p.logger)
	stored := openObjects(o.nb, a.folders.Hostname, a.folders.Roles, f.world.Accepted(a.tables().Kinds), o.secrets, folder.Dir, p.logger)
	defer stored.close()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	opts.Noop, opts.State, opts.Reload = o.noop, folder.Held(world, p.logger, end), f.reload
	opts.World, opts.Lease, opts.Accept = mgmt.Share(hosts.Without(world, o.trust)), f.world.Lease, f.world.Accepts()
	// Each of them tells the one inside it first, so the log has an event before the API and
	// systemd do.
	opts.Observer = trim.observe(o.desk.observe(o.exports.observe(svc.Observe(observer))))
	// These files decide what a graph means, so a change of one reads the graph again.
	files, err := newAuxiliaryFiles(f.reload, append([]string{a.folders.Models, a.folders.Plugins}, f.trusted...)...)
	if err != nil {
		return err
	}
	beside := func(front gapi.Frontend) gapi.Frontend { return files.with(signed.with(stored.with(front))) }
	anew.stored = beside
	opts.BeforeReload = beforeReload(anew, newCredentials(p.logger), signed)
	opts.Background = o.desk.background(o.exports.Handler(), func(e *mgmt.Engine) control.Graphs {
		return newGraphInput(anew.input.Load, e, p.rereading, anew.warnings)
	})
	e, err := mgmt.New(opts)
	if err != nil {
		return err
	}
	anew.engine = e
	defer trim.start(ctx)()
	err = f.serve(ctx, a, e, beside(o.front), &aides{presenter: p, service: svc, exports: o.exports, objects: stored, deploys: signed, folder: folder, reload: f.reload})
	return f.result(a, e.Report(), err)
}

// beforeReload returns the function that reads again, before the graph: the settings with
// their folders, the credentials, and the keys whose deploys this host takes. With an error the graph is not read.
// The engine calls it before each reading that was asked for, and waits for it.
func beforeReload(anew *resettling, secrets *credentials, signed *deploys) func(context.Context) (*mgmt.Source, error) {
	return func(ctx context.Context) (*mgmt.Source, error) {
		source, err := anew.reread(ctx)
		// Credentials that cannot be renewed are logged and stop nothing. A faulty key of deploys
		// refuses the reload.
		if err == nil {
			secrets.renew(ctx)
			err = signed.renew()
		}
		return source, err
	}
}

// aides are the other parts of a daemon that work during a run.
// They are opened before the engine, and started and ended by serve.
type aides struct {
	presenter *presenter
	service   *service.Notifier
	exports   *exports
	objects   *objects
	deploys   *deploys
	folder    *state.Folder
	reload    chan<- struct{} // has the graph read again
}

// serve runs an engine to its end, with its companions, and has signals answered.
// It blocks until the engine has ended. Its context is done at the first signal, and the
// engine is then given the time to finish its runs.
func (f *runFlags) serve(ctx context.Context, a *app, e *mgmt.Engine, front gapi.Frontend, with *aides) error {
	p := with.presenter
	ctx, stop := a.onSignals(ctx, signalHooks{tell: p.signalled, abandon: e.Abandon, reload: func() {
		p.reloading()
		with.service.Reloading()
		ask(with.reload)
	}})
	defer stop()
	dumper := dumperOf(e, with.folder.Dir, p)
	// The deferred calls end the companions in the reverse order, after the engine. Signals are
	// heard until all of them have ended, so a second one counts meanwhile.
	defer dumper.onQuit(ctx)()
	defer with.service.Start(ctx, e.Rest, dumper.stalled)()
	defer with.exports.start(ctx, e, p.logger)()
	defer with.objects.start(ctx, e)()
	defer with.deploys.start(ctx, e)()
	p.follow(ctx, e)
	err := e.Run(ctx, front)
	// The line about the end comes after all others, and before the screen closes.
	p.ended(context.Cause(ctx), e.Report())
	p.close()
	if lost, ok := errors.AsType[*state.LostError](context.Cause(ctx)); ok && err == nil {
		return lost
	}
	return err
}

// ask leaves a question in a channel of capacity one, unless there is one.
// It never blocks, so a handler of signals may call it. Two questions at once count as
// one.
func ask(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// drawTo draws the graph that took effect for --graphviz.
// A failure is a warning and does not stop the run: the drawing is for people.
// The observer's goroutine calls it after each graph and each part. The file is replaced in one
// step.
func (f *runFlags) drawTo(p *presenter, g *engine.Graph) {
	var buf bytes.Buffer
	err := g.WriteDOT(&buf, drawOptions(g))
	if err == nil {
		err = writeFile(f.graphviz, buf.Bytes())
	}
	if err != nil {
		p.logger.Warn("the graph was not drawn", "error", err)
	}
}

// result turns the end of the engine into that of the program.
// The bits of the exit code are those of the report, the bit of a failure is added for
// work that was cut off.
// Findings of a graph are printed here, one on each line, and the code is 1 then.
func (f *runFlags) result(a *app, r mgmt.Report, err error) error {
	if err == nil {
		return withCode(r.ExitCode(), nil)
	}
	if _, ok := errors.AsType[*mgmt.MaxRuntimeError](err); ok {
		return f.log.end(a, exitTime, err)
	}
	if _, ok := errors.AsType[*engine.AbandonedError](err); ok {
		return f.log.end(a, r.ExitCode()|exitFailed, err)
	}
	return f.log.diagnose(a, err)
}

// statusFile gets a line whenever the graph converges, or does not any more.
// The file is appended to and never shortened, so that a script can follow it with tail
// -f.
// Its lines are true and false. The observer's goroutine writes them, and close comes after that
// has ended.
type statusFile struct {
	f   *os.File
	err error
}

// openStatusFile opens the file that scripts read the convergence from; an empty path is
// none.
// A link of another user is not followed, since the file may be in a folder that is open to all.
func openStatusFile(path string) (*statusFile, error) {
	if path == "" {
		return &statusFile{}, nil
	}
	f, err := appendFile(path)
	if err != nil {
		return nil, fmt.Errorf("--converged-status-file: %w", err)
	}
	return &statusFile{f: f}, nil
}

// observe writes a line at each change of the convergence. The first error is kept for the
// end of the run.
func (s *statusFile) observe(o mgmt.Observer) mgmt.Observer {
	if s.f == nil {
		return o
	}
	return o.With(mgmt.Observer{Converged: func(yes bool, _ mgmt.Counts) {
		if _, err := fmt.Fprintln(s.f, yes); err != nil && s.err == nil {
			s.err = fmt.Errorf("--converged-status-file: %w", err)
		}
	}})
}

// close adds the error of the file to that of the run, which comes first.
// It is deferred by run, so it gets a pointer to the named result.
func (s *statusFile) close(err *error) {
	if s.f == nil {
		return
	}
	if e := errors.Join(s.err, s.f.Close()); e != nil && *err == nil {
		*err = e
	}
}
