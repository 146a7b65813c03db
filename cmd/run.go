package cmd

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/daemon"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// runFlags are the flags of run. cobra has read them, and configure the environment and the file, before run is called.
type runFlags struct {
	input   inputFlags
	steps   transforms
	state   stateFlags
	log     logFlags
	limits  limitFlags
	metrics daemon.Metrics
	socket  socketFlag
	world   worldFlags
	// writers is a name or a number; empty for root and the daemon's own user alone.
	writers string // the group that may change objects
	remote  daemon.Remote
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
}

// newRun makes the verb run.
// The flags are those of the table settings, so each of them can stand in the
// configuration file too.
func newRun(a *app) *cobra.Command {
	f := &runFlags{}
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
		Args:        graphArgs,
		Annotations: map[string]string{kindsMark: "the daemon loads them"},
		RunE:        func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), a) },
	}
	f.input.flags(cmd)
	modelsFlag(cmd, &a.folders.Models)
	a.typesFlag(cmd)
	a.machineFlags(cmd)
	a.guardFlag(cmd)
	f.steps.flags(cmd)
	f.state.flags(cmd)
	f.log.flags(cmd)
	f.limits.flags(cmd)
	bind(cmd, "prometheus", &f.metrics.Address)
	bind(cmd, "prometheus_remote", &f.metrics.Remote)
	bind(cmd, "metrics_textfile", &f.metrics.Textfile)
	_ = cmd.MarkFlagFilename("metrics-textfile", "prom")
	f.socket.flag(cmd)
	f.world.flags(cmd)
	bind(cmd, "api_write_group", &f.writers)
	bind(cmd, "api_listen", &f.remote.Address)
	bind(cmd, "api_cert", (*place)(&f.remote.Cert))
	bind(cmd, "api_key", (*place)(&f.remote.Key))
	bind(cmd, "api_ca", (*place)(&f.remote.CA))
	bind(cmd, "api_writers", &f.remote.Writers)
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
var noopPolicies = map[string]reactor.Noop{
	"": reactor.NoopOff, "false": reactor.NoopOff, "all": reactor.NoopAll, "true": reactor.NoopAll, "default": reactor.NoopDefault,
}

// noopPolicy reads --noop, whose values differ in which resources it binds.
func (f *runFlags) noopPolicy() (reactor.Noop, error) {
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

// options are those of the engine that the flags give.
// Strict ends a start with a wrong graph by an error: a service manager shows that at once. Later
// graphs are refused, and the last good one goes on.
func (f *runFlags) options(p *presenter) (o mgmt.Options, err error) {
	if o.Noop, err = f.noopPolicy(); err != nil {
		return o, err
	}
	f.steps.set(&o)
	f.limits.set(&o)
	o.Debug, o.NoWatch, o.Strict = f.log.debug, f.noWatch, true
	o.Parallel, o.Sema = f.parallel, f.sema
	o.ConvergedTimeout, o.ConvergedExit, o.MaxRuntime = time.Duration(f.quiet), f.exit, time.Duration(f.maxRuntime)
	if o.Observer = p.observer(); f.graphviz != "" {
		o.Observer.Loaded = func(graph func() *engine.Graph) { f.drawTo(p, graph()) }
	}
	return o, nil
}

// run is a daemon with the flags as its Config, and the signals, the terminal and the dumps of this program.
func (f *runFlags) run(ctx context.Context, a *app) (err error) {
	if err := cmp.Or(f.checkNumbers(), enoughFiles()); err != nil {
		return err
	}
	f.input.Stored = fromStore(a.settled)
	if err := f.input.catalogOnly(a); err != nil {
		return err
	}
	p := f.log.presenter(a)
	defer p.close()
	o, err := f.options(p)
	if err != nil {
		return err
	}
	folders, ds := a.kindOptions()
	if ds.Err() != nil {
		return f.log.diagnose(a, ds)
	}
	r := &resettling{app: a, log: p.logger, level: p.level, begun: a.settled}
	dump := &dumper{p: p}
	d, err := daemon.Open(ctx, daemon.Config{
		Version: version(), Log: p.logger, Stdin: a.in, Graph: f.input.config(), Env: a.surroundings(), Kinds: folders,
		State: f.state.Place, Store: f.world.Config, Trusted: f.trusted, Socket: f.socket.Socket, Writers: f.writers, Remote: f.remote,
		Metrics: f.metrics, StatusFile: f.statusFile, Engine: o, Again: r.again, Waiting: r.warnings, Asked: p.rereading, Stalled: dump.stalled,
	}, dump, newTrimmer())
	if ds, ok := errors.AsType[schema.Diagnostics](err); ok { // of the folders of kinds
		return f.log.diagnose(a, ds)
	}
	if err != nil {
		return err
	}
	ctx, stop := a.onSignals(ctx, signalHooks{tell: p.signalled, abandon: d.Abandon, reload: func() {
		p.reloading()
		d.Reload()
	}})
	// Signals are heard until all parts have ended, so a second one counts meanwhile.
	defer stop()
	p.follow(ctx, d.Running())
	report, err := d.Run(ctx)
	closed := d.Close()
	p.ended(context.Cause(ctx), report)
	p.close()
	// How the graph stood is the code, also where a part has a fault of its own at the end.
	if code := report.ExitCode(); err == nil && closed != nil && code != 0 {
		return f.log.end(a, code, closed)
	}
	return f.result(a, report, cmp.Or(err, closed))
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
