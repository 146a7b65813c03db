package run

import (
	"context"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt/cmd/config"
	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/inputs"
	"github.com/reactivegraph/mgmt/cmd/internal/show"
	"github.com/reactivegraph/mgmt/daemon"
	"github.com/reactivegraph/mgmt/daemon/input"
	"github.com/reactivegraph/mgmt/daemon/notices"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// resettling has a daemon take over another configuration when its graph is read again. The settings that can
// change while the daemon runs take effect at once, with one exception: another graph counts from the moment when it
// is in effect, and the next reload tries it again until then.
type resettling struct {
	app   *cli.App
	log   *slog.Logger
	level *slog.LevelVar

	policy inputs.PolicyFlag // of the goroutine that reloads

	mu      sync.Mutex
	begun   config.Resolved // with which the daemon has started, and changes taken over since
	waiting []string        // the settings that wait for a restart
}

// again reads the environment, the configuration file and the places of its folders again. It is Next of daemon.Reloading.
func (r *resettling) again(ctx context.Context) (next daemon.Next, err error) {
	// Flags do not change in the life of a process, so those of the start count again.
	now, ds := r.app.Resolve(r.app.Flags)
	if ds.Err() != nil {
		return next, ds
	}
	r.mu.Lock()
	c := r.compare(now)
	r.mu.Unlock()
	app := r.app.With(c.taken)
	folders, ds := app.KindOptions()
	next.Kinds = &folders
	var found schema.Diagnostics
	if len(c.input) > 0 {
		next.Graph, found = r.other(app, c)
		ds = append(ds, found...)
	}
	limits, err := limitsOf(c.taken)
	if err != nil {
		return next, err
	}
	r.policy.Files = c.taken["policy"].Texts
	limits.Policy, found = r.policy.Load(ctx, app)
	ds = append(ds, found...)
	next.Limits = &limits
	receivers, more := notices.Parse(shownIn(c.taken, "notify"))
	ds = append(ds, more...)
	next.Notify = &receivers
	next.Taken = func(kinds, models bool) { r.take(app, c, kinds, models) }
	next.InEffect = func() { r.moved(c) }
	if ds.Err() != nil {
		return next, ds
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
	for _, s := range cli.Settings.Settings {
		from := now
		if cli.Settings.Shown(r.begun, s) != cli.Settings.Shown(now, s) {
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

// other returns another input. It has to be one that can be read more than once. Reading it is the work of the engine, which refuses its
// graph as it would refuse the first one.
func (r *resettling) other(app *cli.App, c resettled) (*input.Config, schema.Diagnostics) {
	var ds schema.Diagnostics
	at := func(key string) schema.Pos {
		if pos := c.now[key].Pos; !pos.IsZero() {
			return pos
		}
		path, _ := cli.ConfigPath(app) // the setting is not there any more
		return schema.Pos{File: path}
	}
	settled := *app
	settled.Settled = c.now
	flags := inputOf(c.now)
	if _, err := flags.Frontend(&settled); err != nil {
		ds.Errorf(at(c.input[0]), "%s: %s", c.input[0], cli.ErrorText(err))
		return nil, ds
	}
	from := flags.Given()
	if err := settled.Judge(from.Identity); err != nil {
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
	return &from, ds
}

// inputOf returns where settings have the graph from.
func inputOf(r config.Resolved) *inputs.Flags {
	in := &inputs.Flags{Check: cli.Choice{Word: shownIn(r, "ts_check")}, Ordering: cli.Choice{Word: shownIn(r, "ordering")}, Config: input.Config{
		YAML: r["graph"].Text(), Catalog: r["puppet_catalog"].Text(), TS: r["ts"].Text(), Compiler: r["tsc"].Text(), Identity: r["identity"].Text(),
		Stored: inputs.FromStore(r), Vars: r["var"].Texts, VarFiles: r["vars"].Texts,
		Tags: r["tags"].Texts, Lenient: r["lenient"].Text() == "true", Modules: r["puppet_modules"].Texts,
	}}
	most, size := (*inputs.ResourceCount)(&in.MaxResources), (*inputs.GraphSize)(&in.MaxBytes)
	_, _ = most.Set(shownIn(r, "max_resources")), size.Set(shownIn(r, "max_graph_size")) // checked with the file
	return in
}

// moved notes the settings of another graph, which is in effect now. Until then the old ones count, so the next reload finds the
// difference again.
func (r *resettling) moved(c resettled) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, key := range c.input {
		delete(r.begun, key)
		if v, ok := c.now[key]; ok {
			r.begun[key] = v
		}
	}
	r.log.Info("settings have changed", "settings", strings.Join(c.input, ", "))
}

// shownAs returns the value of a setting for people.
func shownAs(r config.Resolved, key string) string {
	if text := shownIn(r, key); text != "" {
		return text
	}
	return "nothing"
}

// take notes the settings that count from now on, and warns of those that wait for a restart.
func (r *resettling) take(app *cli.App, c resettled, kinds, models bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.app = app
	log := show.Flags{Debug: shownIn(c.taken, "debug") == "true", Verbose: shownIn(c.taken, "verbose") == "true", Quiet: shownIn(c.taken, "quiet") == "true"}
	r.level.Set(log.Level())
	if len(c.live) > 0 {
		r.log.Info("settings have changed", "settings", strings.Join(c.live, ", "))
	}
	if kinds {
		r.log.Info("the types and backends of the next graph are others")
	}
	if models {
		r.log.Info("the models are others")
	}
	r.begun, r.waiting = c.taken, nil
	for _, key := range c.later {
		r.waiting = append(r.waiting, key+" has changed to "+shownAs(c.now, key)+" ("+c.now[key].From()+"): it takes effect when mgmt is restarted")
		r.log.Warn("a setting takes effect when mgmt is restarted", "setting", key, "value", shownAs(c.now, key), "from", c.now[key].From())
	}
}

// shownIn is a setting as text, secrets hidden.
func shownIn(r config.Resolved, key string) string {
	return cli.Settings.Shown(r, cli.Settings.Get(key))
}

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
	if l.Approve, err = reactor.ParseApproval(shownIn(r, "approve")); err != nil {
		return l, err
	}
	if l.Windows, err = reactor.ParseWindows(shownIn(r, "window")); err != nil {
		return l, err
	}
	var expiry cli.Seconds
	if err = expiry.Set(shownIn(r, "approve_expiry")); err != nil {
		return l, err
	}
	l.ApproveExpiry = time.Duration(expiry)
	l.Flapping, err = reactor.ParseFlapping(shownIn(r, "flapping"))
	return l, err
}

// warnings returns the settings that wait for a restart, for the caller of the
// reload.
// It is callable from any goroutine. The list is empty where nothing waits.
func (r *resettling) warnings() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []string
	for _, text := range r.waiting {
		list = append(list, schema.Diagnostic{Severity: schema.Warning, Message: text}.String())
	}
	return list
}
