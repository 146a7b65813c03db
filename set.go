package mgmt

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/reactivegraph/mgmt/engine/look"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/statedir"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/sharing"
	"github.com/reactivegraph/mgmt/gapi/static"
)

// NewInspector returns an Inspector, which looks at single things without a graph. It uses only the options on the caller
// (Program, Version, Hostname), on the surroundings (Registry, Backends, World, State, Roles) and on logging. Without a State, a
// resource that keeps state has a temporary folder. Close the Inspector.
func NewInspector(o Options) (*look.Inspector, error) {
	c, err := NewConfig(o)
	if err != nil {
		return nil, err
	}
	return c.Inspector()
}

// Inspector returns an Inspector; see NewInspector.
func (c *Config) Inspector() (*look.Inspector, error) {
	o := &c.opt
	return look.New(look.Options{
		Program: o.Program, Version: o.Version, Hostname: o.Hostname, Roles: o.Roles,
		Registry: c.kinds, World: sharing.StoreOf(o.World), StateDir: statedir.PathOf(o.State), Logger: o.Logger, Debug: o.Debug,
	})
}

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
// Call it in place of Run, once. The error is that of Run: schema.Diagnostics where a target
// is wrong; then nothing was altered.
func (e *Engine) Set(ctx context.Context, targets ...look.Target) (Outcome, error) {
	d := &gapi.Declared{Name: "resource"}
	o := options{Options: e.config.opt, secret: map[string][]string{}}
	for _, t := range targets {
		t.Declaration = gapi.Qualified(e.registry(), t.Declaration)
		d.Resources = append(d.Resources, t.Declaration)
		o.secret[t.ID()] = t.Secret
	}
	o.ConvergedExit, o.ConvergedTimeout, o.NoWatch, o.Strict, o.Reload = true, 0, true, true, nil
	var changed atomic.Bool
	o.Observer.Ran = both(o.Observer.Ran, func(r reactor.Run) {
		if r.Changed {
			changed.Store(true)
		}
	})
	err := e.runWith(ctx, static.New(d), o)
	if err == nil && !e.report.Converged {
		err = errors.Join(errors.New("it was not finished"), context.Cause(ctx))
	}
	return Outcome{Changed: changed.Load(), Report: e.report}, err
}
