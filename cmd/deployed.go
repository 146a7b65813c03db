package cmd

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/daemon/trust"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/deploy"
	"github.com/reactivegraph/mgmt/engine/hosts"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/deployed"
	"github.com/reactivegraph/mgmt/gapi/merge"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// deploys are the deploys of this host: a frontend for each of its topics, and the report about them.
// The store is used from the start on, so that an operator sees which hosts there are.
// There are none where no key is trusted.
type deploys struct {
	// Empty where this host takes no deploys. Then renew and start do nothing, and with adds nothing.
	fronts   []*deployed.Frontend
	reporter deployed.Reporter
	trust    *trust.Operators
}

// openDeploys makes the frontends of the topics.
// sealed returns the recipient of this host. limits returns the bounds of the graphs, for each reading of the topics anew.
// The frontends begin with the deploys in dir where the store is away. An empty dir keeps nothing
// over a restart.
func openDeploys(a *app, t *trust.Operators, dir string, limits func() yaml.Options, sealed func() string, log *slog.Logger) *deploys {
	d := &deploys{trust: t}
	if len(t.Trusted()) == 0 {
		return d
	}
	if dir != "" {
		dir = filepath.Join(dir, trust.Folder)
	}
	for _, topic := range hosts.Topics(t.Host(), a.folders.Roles) {
		d.fronts = append(d.fronts, deployed.New(deployed.Options{
			World: t.World(), Host: t.Host(), Topic: topic, Dir: dir, Trusted: t.Trusted, Pin: t.Pin(),
			Open: func(ctx context.Context, env gapi.Env) deployed.View { return openView(ctx, t.World(), limits(), env) },
		}))
	}
	d.reporter = deployed.Reporter{World: t.World(), Host: t.Host(), Fronts: d.fronts, Sealed: sealed, Clock: engine.SystemClock{}, Log: log}
	// Init comes before Run, since renew may call Touch before the engine has begun.
	d.reporter.Init()
	return d
}

// renew reads the files of the trusted keys again. A new key counts from now on, and a key that has left counts no more. With an
// error the keys stay as they were. A host without any key at its start takes no deploys before a restart.
// It runs before each reload. Its error refuses the reload, and the graph stays as it is.
func (d *deploys) renew() error {
	if err := d.trust.Renew(); err != nil || len(d.fronts) == 0 {
		return err
	}
	d.reporter.Touch()
	return nil
}

// openView shows the store to the graphs of bundles: the other hosts, and the choices of schedules.
func openView(ctx context.Context, w engine.World, o yaml.Options, env gapi.Env) deployed.View {
	env.World = w
	view := yaml.NewView(ctx, env)
	o = view.Options(o)
	return deployed.View{
		Load: func(b *deploy.Bundle) gapi.Reading { return loadBundle(b, o, env) }, Wake: view.Wake(), Close: view.Close,
	}
}

// loadBundle makes the graph of a bundle.
// Several graphs become a graph of their own, which includes them.
// Nothing is read from the disk. The facts and kinds are those of the Env, and those of this machine and program where it has none.
func loadBundle(b *deploy.Bundle, o yaml.Options, env gapi.Env) gapi.Reading {
	if env.Registry != nil {
		o.Registry = env.Registry
	}
	if env.Host != nil {
		o.Facts = func() map[string]any { return env.Host.Facts().Map() }
	}
	if o.Hostname == "" {
		o.Hostname = env.Hostname
	}
	files, root := b.Map(), b.Graphs[0]
	if len(b.Graphs) > 1 {
		var list strings.Builder
		for _, name := range b.Graphs {
			fmt.Fprintf(&list, "- %q\n", name)
		}
		// The name of the graph that includes the others must not be that of a file in the bundle.
		for root = "deploy"; files[root] != nil; {
			root += "_"
		}
		files[root] = []byte("include:\n" + list.String())
	}
	return yaml.ReadFiles(root, files, o)
}

// with adds the deploys to a frontend.
// The topics are merged, so a resource of two of them is an error that names both places.
func (d *deploys) with(front gapi.Frontend) gapi.Frontend {
	list := []gapi.Frontend{front}
	for _, f := range d.fronts {
		list = append(list, f)
	}
	return merge.New(list...)
}

// start reports how the deploys stand while the engine runs. The returned function ends it.
// The report stays in the store: it says which hosts there are, also while they are off.
// It has two goroutines. The returned function ends both and waits for them; a last report may be
// missing then.
func (d *deploys) start(ctx context.Context, e *mgmt.Engine) (end func()) {
	follow := d.trust.Start(ctx)
	if len(d.fronts) == 0 {
		return follow
	}
	d.reporter.Stand = func(ctx context.Context) (deployed.Stand, error) { return standOf(ctx, e) }
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		select {
		case <-e.Ready():
			d.reporter.Run(ctx)
		case <-ctx.Done():
		}
	})
	wg.Go(func() {
		for ev := range e.Events(ctx) {
			switch ev.Kind {
			// A deploy is judged where its graph rests, so these events suffice.
			case mgmt.EventConverged, mgmt.EventStirred, mgmt.EventLoaded:
				d.reporter.Touch()
			}
		}
	})
	return func() {
		follow()
		cancel()
		wg.Wait()
	}
}

// standOf says how the graph stands, with the resources that keep a deploy from being good.
// Members of a group share the state of their owner.
func standOf(ctx context.Context, e *mgmt.Engine) (deployed.Stand, error) {
	list, rest, err := e.Stand(ctx)
	if err != nil {
		return deployed.Stand{}, err
	}
	s := deployed.Stand{Rests: rest.Converged, Failed: map[string]string{}}
	for _, st := range list {
		why := ""
		switch {
		case st.State == engine.StateFailed && st.Err != nil:
			why = st.Err.Error()
		case st.State == engine.StateFailed:
			why = "it has failed"
		case st.State == engine.StateBlocked:
			why = "it waits for " + st.BlockedBy
		default:
			continue
		}
		s.Failed[st.Resource] = why
		// Members of a group have left the graph as vertices, and a deploy names them still.
		if _, members, err := e.Group(ctx, st.Resource); err == nil {
			for _, m := range members {
				s.Failed[m] = why
			}
		}
	}
	return s, nil
}
