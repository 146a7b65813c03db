package daemon

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/daemon/trust"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/deploy"
	"github.com/reactivegraph/mgmt/engine/hosts"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/deployed"
	"github.com/reactivegraph/mgmt/gapi/merge"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// deploysPart takes the deploys of this host: it has a frontend for each of its topics, and reports how they stand. The store is used from
// the start on, so that an operator sees which hosts there are. There are no deploys where no key is trusted at the start.
type deploysPart struct {
	d        *Daemon
	fronts   []*deployed.Frontend
	reporter deployed.Reporter
	end      func()
}

// Open implements Part. The frontends begin with the deploys in the state folder where the store is away.
func (p *deploysPart) Open(_ context.Context, d *Daemon) error {
	p.d, p.end = d, func() {}
	d.OnReload(func(context.Context) error { return p.renew() })
	if len(d.Operators.Trusted()) == 0 {
		return nil
	}
	dir := d.Folder.Dir
	if dir != "" {
		dir = filepath.Join(dir, trust.Folder)
	}
	for _, topic := range hosts.Topics(d.Host, d.Kinds.Roles) {
		p.fronts = append(p.fronts, deployed.New(deployed.Options{
			World: d.World, Host: d.Host, Topic: topic, Dir: dir, Trusted: d.Operators.Trusted, Pin: d.Operators.Pin(),
			Open: func(ctx context.Context, env gapi.Env) deployed.View { return View(ctx, d.World, p.bounds(), env) },
		}))
	}
	sealed := func() string { return d.Secrets.Recipient(d.input.Load().Config().Identity) }
	p.reporter = deployed.Reporter{World: d.World, Host: d.Host, Fronts: p.fronts, Sealed: sealed, Clock: clock.System{}, Log: d.Log}
	p.reporter.Init() // a reload may come before Run
	// A resource of two topics is an error that names both places.
	d.Beside(func(front gapi.Frontend) gapi.Frontend {
		list := []gapi.Frontend{front}
		for _, f := range p.fronts {
			list = append(list, f)
		}
		return merge.New(list...)
	})
	return nil
}

// bounds returns how the graph of a deploy is read: it is bounded as the graph that is read next, and its secrets come from the same places,
// or are encrypted to this host.
func (p *deploysPart) bounds() yaml.Options {
	o := p.d.renewal.input.Load().Foreign()
	o.Unseal = p.d.Secrets.Decrypts(func() func(string) (string, error) { return p.d.input.Load().Unseal() })
	return o
}

// renew reads the files of the trusted keys again. A new key counts from now on, and a key that has left counts no more. With an
// error the keys stay as they were, and the reload is refused.
func (p *deploysPart) renew() error {
	if err := p.d.Operators.Renew(); err != nil || len(p.fronts) == 0 {
		return err
	}
	p.reporter.Touch()
	return nil
}

// View shows the store to the graphs of bundles: the other hosts, and the choices of schedules.
func View(ctx context.Context, w world.World, o yaml.Options, env gapi.Env) deployed.View {
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

// Start implements Part. The report stays in the store: it says which hosts there are, also while they are off.
func (p *deploysPart) Start(ctx context.Context, e *mgmt.Engine) error {
	follow := p.d.Operators.Start(ctx)
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	p.end = func() {
		follow()
		cancel()
		wg.Wait()
	}
	if len(p.fronts) == 0 {
		return nil
	}
	p.reporter.Stand = func(ctx context.Context) (deployed.Stand, error) { return standOf(ctx, e) }
	wg.Go(func() { p.reporter.Run(ctx) })
	wg.Go(func() {
		for ev := range e.Events(ctx) {
			switch ev.Kind {
			// A deploy is judged where its graph rests, so these events suffice.
			case mgmt.EventConverged, mgmt.EventStirred, mgmt.EventLoaded:
				p.reporter.Touch()
			}
		}
	})
	return nil
}

// Close implements Part. A last report may be missing.
func (p *deploysPart) Close() error {
	p.end()
	return nil
}

// standOf says how the graph stands, with the resources that keep a deploy from being good.
// Members of a group share the state of their owner.
func standOf(ctx context.Context, e *mgmt.Engine) (deployed.Stand, error) {
	now, err := e.Snapshot(ctx)
	if err != nil {
		return deployed.Stand{}, err
	}
	s := deployed.Stand{Rests: now.Rest.Converged, Failed: map[string]string{}}
	for _, st := range now.Statuses {
		why := ""
		switch {
		case st.State == resgraph.StateFailed && st.Err != nil:
			why = st.Err.Error()
		case st.State == resgraph.StateFailed:
			why = "it has failed"
		case st.State == resgraph.StateBlocked:
			why = "it waits for " + st.BlockedBy
		default:
			continue
		}
		s.Failed[st.Resource] = why
		// Members of a group have left the graph as vertices, and a deploy names them still.
		_ = e.Look(ctx, func(g mgmt.Running) error {
			_, members, _ := g.Group(st.Resource)
			for _, m := range members {
				s.Failed[m] = why
			}
			return nil
		})
	}
	return s, nil
}
