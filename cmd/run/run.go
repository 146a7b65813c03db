package run

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/inputs"
	"github.com/reactivegraph/mgmt/cmd/internal/remote"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/cmd/internal/show"
	"github.com/reactivegraph/mgmt/daemon"
	"github.com/reactivegraph/mgmt/daemon/notices"
	"github.com/reactivegraph/mgmt/daemon/traces"
	"github.com/reactivegraph/mgmt/engine/journal/images"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// runFlags are the flags of run. When run is called, cobra has filled them, and App.Configure has added the environment and the file.
type runFlags struct {
	input   inputs.Flags
	steps   inputs.Transforms
	state   inputs.StateFlags
	log     show.Flags
	limits  inputs.LimitFlags
	metrics daemon.Metrics
	socket  remote.Socket
	world   inputs.WorldFlags
	remote  daemon.Remote
	web     daemon.Web
	traces  string   // the collector of spans
	notify  string   // the receivers, as notices.Parse takes them
	trusted []string // files with the keys whose deploys this host takes

	noop    string
	noWatch bool
	// parallel is how many CheckApply run at once; 0 means 8 for each core.
	parallel int
	// sema is a semaphore over all resources; 0 means no limit.
	sema int
	// quiet is the time without an event after which the graph counts as converged.
	quiet      cli.Seconds
	exit       bool
	undo       undoFlags
	statusFile string
	graphviz   string
	// maxRuntime is how long the run may take; 0 means for ever.
	maxRuntime cli.Seconds
}

// New makes the verb run.
// The flags are those of the table settings, so each of them can stand in the
// configuration file too.
func New(a *cli.App) *cobra.Command {
	f := &runFlags{}
	cmd := &cobra.Command{
		Use:   "run [FILE|FOLDER]",
		Short: "Apply a graph to the machine, and keep it applied",
		Long: `Run applies a graph to the machine, watches the machine, repairs drift at once,
and follows edits of the graph. The graph is a FILE, a FOLDER of files, or - for
standard input; without an argument, the one in the configuration, else
/etc/mgmt/graph.yaml.

SIGINT or SIGTERM stops it: the first waits for the resources that are running,
the second does not wait, the third exits at once. SIGHUP reloads the settings
and the graph, changed or not, even with --no-watch, or stops run if the terminal
that run was started on is gone.`,
		Example: `  mgmt run graph.yaml
  mgmt run graph.yaml --converged-exit --converged-timeout 2s
  generate | mgmt run - --noop`,
		Args:        inputs.GraphArgs,
		Annotations: map[string]string{cli.KindsMark: "the daemon loads them"},
		RunE:        func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), a) },
	}
	f.input.Flags(cmd)
	cli.ModelsFlag(cmd, &a.Folders.Models)
	cli.TypesFlag(a, cmd)
	inputs.MachineFlags(a, cmd)
	cli.GuardFlag(a, cmd)
	f.steps.Flags(cmd)
	f.state.Flags(cmd)
	f.log.Flags(cmd)
	f.limits.Flags(cmd)
	cli.Bind(cmd, "prometheus", &f.metrics.Address)
	cli.Bind(cmd, "prometheus_remote", &f.metrics.Remote)
	cli.Bind(cmd, "metrics_textfile", &f.metrics.Textfile)
	_ = cmd.MarkFlagFilename("metrics-textfile", "prom")
	f.socket.Flag(cmd)
	f.world.Flags(cmd)
	cli.Bind(cmd, "api_write_group", &f.socket.Writers)
	cli.Bind(cmd, "api_listen", &f.remote.Address)
	cli.Bind(cmd, "api_cert", (*cli.Place)(&f.remote.Cert))
	cli.Bind(cmd, "api_key", (*cli.Place)(&f.remote.Key))
	cli.Bind(cmd, "api_ca", (*cli.Place)(&f.remote.CA))
	cli.Bind(cmd, "api_writers", &f.remote.Writers)
	cli.Bind(cmd, "trusted_keys", &f.trusted)
	cli.Bind(cmd, "noop", &f.noop)
	cli.Bind(cmd, "no_watch", &f.noWatch)
	cli.Bind(cmd, "parallel", &f.parallel)
	cli.Bind(cmd, "sema", &f.sema)
	cli.Bind(cmd, "converged_timeout", &f.quiet)
	cli.Bind(cmd, "converged_exit", &f.exit)
	cli.Bind(cmd, "converged_status_file", &f.statusFile)
	cli.Bind(cmd, "undo_size", &f.undo.size)
	cli.Bind(cmd, "undo_age", &f.undo.age)
	cli.Bind(cmd, "notify", &f.notify)
	cli.Bind(cmd, "web", &f.web.Address)
	cli.Bind(cmd, "web_cert", (*cli.Place)(&f.web.Cert))
	cli.Bind(cmd, "web_key", (*cli.Place)(&f.web.Key))
	cli.Bind(cmd, "web_ca", (*cli.Place)(&f.web.CA))
	cli.Bind(cmd, "web_hosts", &f.web.Hosts)
	cli.Bind(cmd, "web_operators", &f.web.Operators)
	cli.Bind(cmd, "web_proxy", &f.web.Proxy)
	cli.Bind(cmd, "web_header", &f.web.Header)
	cli.Bind(cmd, "traces", &f.traces)
	cli.Bind(cmd, "graphviz", &f.graphviz)
	cli.Bind(cmd, "max_runtime", &f.maxRuntime)
	return cmd
}

// noopPolicy reads --noop, whose values differ in which resources it binds.
func (f *runFlags) noopPolicy() (reactor.Noop, error) {
	policy, ok := cli.NoopPolicies[f.noop]
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

// options are those of the engine that the flags give.
// Strict ends a start with a wrong graph by an error: a service manager shows that at once. Later
// graphs are refused, and the last good one stays in effect.
func (f *runFlags) options(p *show.Presenter) (o mgmt.Options, err error) {
	if o.Noop, err = f.noopPolicy(); err != nil {
		return o, err
	}
	f.steps.Set(&o)
	f.limits.Set(&o)
	o.Debug, o.NoWatch, o.Strict = f.log.Debug, f.noWatch, true
	o.Parallel, o.Sema = f.parallel, f.sema
	o.ConvergedTimeout, o.ConvergedExit, o.MaxRuntime = time.Duration(f.quiet), f.exit, time.Duration(f.maxRuntime)
	if o.Observer = p.Observer(); f.graphviz != "" {
		o.Observer.Loaded = func(graph func() *resgraph.Graph) { f.drawTo(p, graph()) }
	}
	return o, nil
}

// run is a daemon with the flags as its Config, and the signals, the terminal and the dumps of this program.
func (f *runFlags) run(ctx context.Context, a *cli.App) (err error) {
	if err := cmp.Or(f.checkNumbers(), cli.EnoughFiles()); err != nil {
		return err
	}
	f.input.Stored = inputs.FromStore(a.Settled)
	if err := f.input.CatalogOnly(a); err != nil {
		return err
	}
	p := f.log.Presenter(a)
	defer p.Close()
	o, err := f.options(p)
	if err != nil {
		return err
	}
	folders, ds := a.KindOptions()
	if ds.Err() != nil {
		return f.log.Diagnose(a, ds)
	}
	if o.Policy, ds = f.limits.Policy.Load(ctx, a); ds.Err() != nil {
		return f.log.Diagnose(a, ds)
	}
	receivers, ds := notices.Parse(f.notify)
	if ds.Err() != nil {
		return f.log.Diagnose(a, ds)
	}
	collector, err := traces.FromEnv(f.traces, os.Getenv)
	if err != nil {
		return err
	}
	undo, err := f.undo.parse()
	if err != nil {
		return err
	}
	r := &resettling{app: a, log: p.Logger, level: p.Level, begun: a.Settled, policy: f.limits.Policy}
	dump := &dumper{p: p}
	d, err := daemon.Open(ctx, daemon.Config{
		Version: cli.Version(), Log: p.Logger, Stdin: a.In, Graph: f.input.Given(), Env: inputs.Surroundings(a), Kinds: folders,
		State: f.state.Place, Store: f.world.Config, TrustedKeys: f.trusted, Socket: f.socket.Socket, Remote: f.remote,
		Metrics: f.metrics, Web: f.web, Notify: receivers, Traces: collector, StatusFile: f.statusFile, Undo: undo, Engine: o, Reloading: daemon.Reloading{Next: r.again, Waiting: r.warnings, Requested: p.Rereading}, Stalled: dump.stalled,
	}, dump, newTrimmer(), liveArea{p})
	if ds, ok := errors.AsType[schema.Diagnostics](err); ok { // of the folders of kinds
		return f.log.Diagnose(a, ds)
	}
	if err != nil {
		return err
	}
	ctx, stop := a.OnSignals(ctx, cli.SignalHooks{Tell: p.Signalled, Abandon: d.Abandon, Reload: func() {
		p.Reloading()
		d.Reload()
	}})
	// Signals are heard until all parts have ended, so a second one counts meanwhile.
	defer stop()
	p.Follow(ctx)
	report, err := d.Run(ctx)
	closed := d.Close()
	p.Ended(context.Cause(ctx), report)
	p.Close()
	// How the graph stood is the code, also where a part has a fault of its own at the end.
	if code := report.ExitCode(); err == nil && closed != nil && code != 0 {
		return f.log.End(a, code, closed)
	}
	return f.result(a, report, cmp.Or(err, closed))
}

// drawTo draws the graph that took effect for --graphviz.
// A failure is a warning and does not stop the run: the drawing is for people.
// The observer's goroutine calls it after each graph and each part. The file is replaced in one
// step.
func (f *runFlags) drawTo(p *show.Presenter, g *resgraph.Graph) {
	var buf bytes.Buffer
	err := g.WriteDOT(&buf, render.DrawOptions(g))
	if err == nil {
		err = cli.WriteFile(f.graphviz, buf.Bytes())
	}
	if err != nil {
		p.Logger.Warn("the graph was not drawn", "error", err)
	}
}

// result turns the end of the engine into that of the program.
// The bits of the exit code are those of the report, the bit of a failure is added for
// work that was cut off.
// Findings of a graph are printed here, one on each line, and the code is 1 then.
func (f *runFlags) result(a *cli.App, r mgmt.Report, err error) error {
	if err == nil {
		return cli.WithCode(r.ExitCode(), nil)
	}
	if _, ok := errors.AsType[*mgmt.MaxRuntimeError](err); ok {
		return f.log.End(a, cli.ExitTime, err)
	}
	if _, ok := errors.AsType[*reactor.AbandonedError](err); ok {
		return f.log.End(a, r.ExitCode()|cli.ExitFailed, err)
	}
	return f.log.Diagnose(a, err)
}

// liveArea is the part of a daemon that has its presenter follow the engine.
type liveArea struct{ p *show.Presenter }

// Open implements daemon.Part.
func (l liveArea) Open(context.Context, *daemon.Daemon) error { return nil }

// Start implements daemon.Part.
func (l liveArea) Start(_ context.Context, e *mgmt.Engine) error {
	l.p.Runs(e)
	return nil
}

// Close implements daemon.Part.
func (l liveArea) Close() error { return nil }

// undoFlags say how much is kept for mgmt undo.
type undoFlags struct{ size, age string }

func (f *undoFlags) parse() (u daemon.Undo, err error) {
	if u.Size, err = images.ParseSize(f.size); err != nil {
		return u, fmt.Errorf("--undo-size=%s: %w", f.size, err)
	}
	if u.Size == 0 {
		u.Size = -1
	}
	if u.Age, err = images.ParseAge(f.age); err != nil {
		return u, fmt.Errorf("--undo-age=%s: %w", f.age, err)
	}
	return u, nil
}
