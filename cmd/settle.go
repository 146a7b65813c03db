package cmd

import (
	"context"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/cmd/config"
	"github.com/reactivegraph/mgmt/daemon/input"
	"github.com/reactivegraph/mgmt/daemon/kinds"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// resettling has a daemon take over another configuration when its graph is read again. The settings that can
// change while the daemon runs take effect at once, with one exception: another graph counts from the moment when it
// is in effect, and the next reload tries it again until then.
type resettling struct {
	app    *app // with the kinds of the next graph
	log    *slog.Logger
	level  *slog.LevelVar
	engine *mgmt.Engine
	stored func(gapi.Frontend) gapi.Frontend // adds the objects of the store and the deploys, which every input is declared with
	input  atomic.Pointer[input.Input]       // of the graph in effect
	kinds  atomic.Pointer[kinds.Set]
	coming atomic.Pointer[input.Input] // of the graph that is read next; its limits hold for deploys too

	// mu guards the fields below. reread holds it all the time, and a request for the warnings waits.
	mu      sync.Mutex
	begun   config.Resolved // with which the daemon has started, and changes taken over since
	waiting []string        // the settings that wait for a restart
}

// resettling remembers the settings at the start. A reload compares with them, so a
// warning names each setting that waits for a restart.
func (f *runFlags) resettling(a *app, in *input.Input, p *presenter) *resettling {
	r := &resettling{app: a, log: p.logger, level: p.level, begun: a.settled}
	r.input.Store(in)
	r.kinds.Store(a.set)
	r.coming.Store(in)
	return r
}

// limits returns the bounds of deploys, and where their secrets are. They are those of the graph that is read next.
func (r *resettling) limits() yaml.Options { return r.coming.Load().Foreign() }

// reread reads the environment, the configuration file and its folders again. Settings that can change
// while the daemon runs take effect, and a warning names the others. With an error nothing
// has changed. The source is that of another graph; nil where the graph is the same one.
// The engine calls it through beforeReload, never twice at once. The lock is for
// warnings, which a request of the API asks for.
func (r *resettling) reread(ctx context.Context) (*mgmt.Source, error) {
	// Flags do not change in the life of a process, so those of the start count again.
	now, ds := r.app.resolve(r.app.flags)
	if ds.Err() != nil {
		return nil, ds
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.compare(now)
	// The kinds are made of the settings that count from now on, in a copy of the app. All
	// findings come together, those of the folders and those of the graph's place.
	app, ds := r.app.with(c.taken)
	var next *mgmt.Source
	if len(c.input) > 0 {
		var found schema.Diagnostics
		next, found = r.source(app, c)
		ds = append(ds, found...)
	}
	if ds.Err() != nil {
		return nil, ds
	}
	if err := r.take(ctx, app, c); err != nil {
		return nil, err
	}
	r.begun, r.waiting = c.taken, nil
	for _, key := range c.later {
		r.waiting = append(r.waiting, key+" has changed to "+shownAs(now, key)+" ("+now[key].From()+"): it takes effect when mgmt is restarted")
		r.log.Warn("a setting takes effect when mgmt is restarted", "setting", key, "value", shownAs(now, key), "from", now[key].From())
	}
	return next, nil
}

// resettled is the difference between the settings of a daemon and those that it has read again.
type resettled struct {
	now config.Resolved
	// taken has the new values of live settings, and the old values of all others.
	taken config.Resolved // the settings that count from now on
	live  []string        // keys that have changed, and take effect at once
	input []string        // keys that have changed, and take effect with the next graph
	later []string        // keys that have changed, and take effect at a restart
}

// inputKeys are the settings that say where the graph comes from.
// A change of one makes another frontend, which counts when its first graph is in effect.
var inputKeys = []string{
	"graph", "puppet_catalog", "ts", "ts_check", "tsc", "var", "vars", "identity",
	"tags", "lenient", "ordering", "max_resources", "max_graph_size", "puppet_modules",
}

// compare compares the settings with those taken over so far.
// Values are compared as they are shown, with secrets hidden: a setting never holds a
// secret itself.
func (r *resettling) compare(now config.Resolved) resettled {
	c := resettled{now: now, taken: config.Resolved{}}
	for _, s := range settings.Settings {
		from := now
		if settings.Shown(r.begun, s) != settings.Shown(now, s) {
			switch {
			case slices.Contains(inputKeys, s.Key):
				c.input, from = append(c.input, s.Key), r.begun
			case s.Live:
				c.live = append(c.live, s.Key)
			default:
				c.later, from = append(c.later, s.Key), r.begun
			}
		}
		// A setting without a value is absent in taken, too, so that its default counts.
		if v, ok := from[s.Key]; ok {
			c.taken[s.Key] = v
		}
	}
	return c
}

// source returns another graph. It has to be one that can be read more than once.
// The frontend is made and not read. Reading it is the work of the engine, which refuses
// it as it would refuse the first one.
func (r *resettling) source(app *app, c resettled) (*mgmt.Source, schema.Diagnostics) {
	var ds schema.Diagnostics
	at := func(key string) schema.Pos {
		if pos := c.now[key].Pos; !pos.IsZero() {
			return pos
		}
		path, _ := app.configPath() // the setting is not there any more
		return schema.Pos{File: path}
	}
	// The frontend reads the settings of the graph from the app, and those are the new ones.
	other := *app
	other.settled = c.now
	in, err := inputOf(c.now).open(&other)
	var front gapi.Frontend
	if err == nil {
		front, err = in.Frontend()
	}
	if err != nil {
		ds.Errorf(at(c.input[0]), "%s: %v", c.input[0], err)
		return nil, ds
	}
	from := in.Config()
	if err := other.judge(from.Identity); err != nil {
		ds.Errorf(at("identity"), "identity: %v", err)
	}
	// A pipe or standard input is empty at a second reading, and a missing file is told with its
	// setting.
	for key, path := range map[string]string{"graph": from.YAML, "puppet_catalog": from.Catalog, "ts": from.TS} {
		if path == "" {
			continue
		}
		switch info, err := os.Stat(path); {
		case path != "-" && err != nil:
			ds.Errorf(at(key), "%s: %v", key, err)
		case path == "-" || !info.Mode().IsRegular() && !info.IsDir():
			ds.Errorf(at(key), "%s: %s is neither a file nor a folder: a reload needs a graph that can be read more than once", key, path)
		}
	}
	r.coming.Store(in)
	return &mgmt.Source{Frontend: r.stored(front), Input: in.Lasting(), Taken: func() { r.moved(in, c) }}, ds
}

// inputOf returns where settings have the graph from.
func inputOf(r config.Resolved) *inputFlags {
	in := &inputFlags{check: choice{word: shownIn(r, "ts_check")}, ordering: choice{word: shownIn(r, "ordering")}, Config: input.Config{
		YAML: r["graph"].Text(), Catalog: r["puppet_catalog"].Text(), TS: r["ts"].Text(), Compiler: r["tsc"].Text(), Identity: r["identity"].Text(),
		Stored: fromStore(r), Vars: r["var"].Texts, VarFiles: r["vars"].Texts,
		Tags: r["tags"].Texts, Lenient: r["lenient"].Text() == "true", Modules: r["puppet_modules"].Texts,
	}}
	most, size := (*resourceCount)(&in.MaxResources), (*graphSize)(&in.MaxBytes)
	_, _ = most.Set(shownIn(r, "max_resources")), size.Set(shownIn(r, "max_graph_size")) // checked with the file
	return in
}

// moved has another graph count, which is in effect now.
// The engine calls it when the graph took effect. Until then the old settings count, so
// the next reload finds the difference again.
func (r *resettling) moved(in *input.Input, c resettled) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, key := range c.input {
		delete(r.begun, key)
		if v, ok := c.now[key]; ok {
			r.begun[key] = v
		}
	}
	r.input.Store(in)
	r.log.Info("settings have changed", "settings", strings.Join(c.input, ", "))
}

// shownAs returns the value of a setting for people.
func shownAs(r config.Resolved, key string) string {
	if text := shownIn(r, key); text != "" {
		return text
	}
	return "nothing"
}

// take puts the settings into effect that can change while the daemon runs, and the kinds of their folders.
// The order matters: kinds and limits can fail and come first, and after them only steps
// that can not fail.
func (r *resettling) take(ctx context.Context, app *app, c resettled) error {
	limits, err := limitsOf(c.taken)
	if err != nil {
		return err
	}
	// An unchanged folder gives the same registry, so equality of pointers is enough.
	others := app.kinds() != r.app.kinds()
	if others {
		err = r.engine.SetKinds(app.kinds(), app.set.Catalog())
	}
	// The limits were parsed above, so this fails only where the run or the request ends.
	if err == nil && len(c.live) > 0 {
		err = r.engine.SetLimits(ctx, limits)
	}
	if err != nil {
		return err
	}
	models := r.app.set.Take(app.set)
	r.kinds.Store(app.set)
	// The next reload compares with this app, and its kinds are built on.
	r.app = app
	log := logFlags{debug: shownIn(c.taken, "debug") == "true", verbose: shownIn(c.taken, "verbose") == "true", quiet: shownIn(c.taken, "quiet") == "true"}
	r.level.Set(log.level())
	if len(c.live) > 0 {
		r.log.Info("settings have changed", "settings", strings.Join(c.live, ", "))
	}
	if others {
		r.log.Info("the types and backends of the next graph are others")
	}
	if models {
		r.log.Info("the models are others")
	}
	return nil
}

// shownIn is a setting as text, secrets hidden.
func shownIn(r config.Resolved, key string) string { return settings.Shown(r, settings.Get(key)) }

// limitsOf returns the bounds that settings give.
// The texts were checked when the settings were read, so an error here is a defect of
// that check.
func limitsOf(r config.Resolved) (l reactor.Limits, err error) {
	if l.MaxChanges, err = reactor.ParseBudget(shownIn(r, "max_changes")); err != nil {
		return l, err
	}
	if l.MaxRemovals, err = reactor.ParseRemovals(shownIn(r, "max_removals")); err != nil {
		return l, err
	}
	l.Flapping, err = reactor.ParseFlapping(shownIn(r, "flapping"))
	return l, err
}

// warnings returns the settings that wait for a restart, for the caller of the
// reload.
// It is callable from any goroutine. The list is empty where nothing waits.
func (r *resettling) warnings() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var ds schema.Diagnostics
	for _, text := range r.waiting {
		ds = append(ds, schema.Diagnostic{Severity: schema.Warning, Message: text})
	}
	return findingTexts(ds)
}
