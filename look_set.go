package mgmt

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/static"
)

// Outcome is what Set has led to.
type Outcome struct {
	Changed bool // something was altered
	Report  Report
}

// ExitCode returns the code of a process that reports this: 0 all was as wanted
// already, 2 something was changed, or would be, 4 something failed, 6 both.
func (o Outcome) ExitCode() int {
	code := o.Report.ExitCode()
	if o.Changed {
		code |= 2
	}
	return code
}

// Set makes things as they are declared, by a graph of them alone that runs until it
// has converged. The options on the end of Run and on following its input do not count.
// Call it instead of Run. The error is that of Run: schema.Diagnostics where a target
// is wrong; then nothing was altered.
func (e *Engine) Set(ctx context.Context, targets ...Target) (Outcome, error) {
	d := &gapi.Declared{Name: "resource"}
	o := &e.opt
	o.secret = map[string][]string{}
	for _, t := range targets {
		t.Declaration = gapi.Qualified(o.Registry, t.Declaration)
		d.Resources = append(d.Resources, t.Declaration)
		o.secret[t.id()] = t.Secret
	}
	o.ConvergedExit, o.ConvergedTimeout, o.NoWatch, o.Strict, o.Reload = true, 0, true, true, nil
	var changed atomic.Bool
	o.Observer.Ran = tee(o.Observer.Ran, func(r Run) {
		if r.Changed {
			changed.Store(true)
		}
	})
	err := e.Run(ctx, static.New(d))
	if err == nil && !e.report.Converged {
		err = errors.Join(errors.New("it was not finished"), context.Cause(ctx))
	}
	return Outcome{Changed: changed.Load(), Report: e.report}, err
}

// id returns kind[name].
func (t Target) id() string { return schema.Ref{Kind: strings.ToLower(t.Kind), Name: t.Name}.ID() }

// hide marks the parameters that must not be shown.
func (s *session) hide(g *engine.Graph) {
	for id, keys := range s.e.opt.secret {
		if i, ok := g.Index(id); ok {
			g.Value(i).Secret = append(slices.Clone(g.Value(i).Secret), keys...)
		}
	}
}
