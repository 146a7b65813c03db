package cmd

import (
	"context"
	"log/slog"
	"strings"
	"sync"

	"github.com/reactivegraph/mgmt/cmd/config"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// resettling has a daemon take over another configuration when its graph is read again.
type resettling struct {
	app    *app
	log    *slog.Logger
	level  *slog.LevelVar
	limits func(context.Context, reactor.Limits) error

	mu      sync.Mutex
	begun   config.Resolved // with which the daemon has started, and changes taken over since
	waiting []string        // what waits for a restart
}

func (f *runFlags) resettling(a *app, p *presenter) *resettling {
	return &resettling{app: a, log: p.logger, level: p.level, begun: a.settled}
}

// reread reads the environment and the configuration file again. Settings that can change
// while the daemon runs take effect, and a warning names the others. With an error nothing
// has changed.
func (r *resettling) reread(ctx context.Context) error {
	now, ds := r.app.resolve(r.app.flags)
	if ds.Err() != nil {
		return ds
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var live, later []string
	taken := config.Resolved{}
	for _, s := range settings.Settings {
		from := now
		if settings.Shown(r.begun, s) != settings.Shown(now, s) {
			if s.Live {
				live = append(live, s.Key)
			} else {
				later, from = append(later, s.Key), r.begun
			}
		}
		if v, ok := from[s.Key]; ok {
			taken[s.Key] = v
		}
	}
	if len(live) > 0 {
		if err := r.take(ctx, taken); err != nil {
			return err
		}
		r.log.Info("settings have changed", "settings", strings.Join(live, ", "))
	}
	r.begun, r.waiting = taken, nil
	for _, key := range later {
		r.waiting = append(r.waiting, key+" has changed to "+shownAs(now, key)+" ("+now[key].From()+"): it takes effect when mgmt is restarted")
		r.log.Warn("a setting takes effect when mgmt is restarted", "setting", key, "value", shownAs(now, key), "from", now[key].From())
	}
	return nil
}

// shownAs returns the value of a setting for people.
func shownAs(r config.Resolved, key string) string {
	if text := settings.Shown(r, settings.Get(key)); text != "" {
		return text
	}
	return "nothing"
}

// take puts the settings into effect that can change while the daemon runs.
func (r *resettling) take(ctx context.Context, now config.Resolved) error {
	shown := func(key string) string { return settings.Shown(now, settings.Get(key)) }
	var l reactor.Limits
	var err error
	if l.MaxChanges, err = reactor.ParseBudget(shown("max_changes")); err != nil {
		return err
	}
	if l.MaxRemovals, err = reactor.ParseRemovals(shown("max_removals")); err != nil {
		return err
	}
	if l.Fight, err = reactor.ParseFight(shown("fight")); err != nil {
		return err
	}
	if err := r.limits(ctx, l); err != nil {
		return err
	}
	log := logFlags{debug: shown("debug") == "true", quiet: shown("quiet") == "true"}
	r.level.Set(log.level())
	return nil
}

// warnings returns the settings that wait for a restart, for the caller of the
// reload.
func (r *resettling) warnings() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var ds schema.Diagnostics
	for _, text := range r.waiting {
		ds = append(ds, schema.Diagnostic{Severity: schema.Warning, Message: text})
	}
	return findingTexts(ds)
}
