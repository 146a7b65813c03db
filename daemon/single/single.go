// Package single looks at single things, and sets them, without a graph of a user: mgmt resource stands on it.
package single

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine/look"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/statedir"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/sharing"
	"github.com/reactivegraph/mgmt/gapi/static"
)

// Look returns an Inspector. It uses only the options on the caller (Program, Version, Hostname), on the surroundings
// (Registry, Backends, World, State, Roles) and on logging. Without a State, a resource that keeps state has a temporary
// folder. Close the Inspector.
func Look(o mgmt.Options) (*look.Inspector, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	kinds, err := o.Kinds()
	if err != nil {
		return nil, err
	}
	return look.New(look.Options{
		Program: o.Program, Version: o.Version, Hostname: o.Hostname, Roles: o.Roles,
		Registry: kinds, World: sharing.StoreOf(o.World), StateDir: statedir.PathOf(o.State), Logger: o.Logger, Debug: o.Debug,
	})
}

// Outcome is what Set has led to.
type Outcome struct {
	Changed bool // something was altered
	Report  mgmt.Report
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
// The error is that of Run: schema.Diagnostics where a target
// is wrong; then nothing was altered.
func Set(ctx context.Context, o mgmt.Options, targets ...look.Target) (Outcome, error) {
	kinds, err := o.Kinds()
	if err != nil {
		return Outcome{}, err
	}
	d := &gapi.Declared{Name: "resource"}
	for _, t := range targets {
		t.Declaration = gapi.Qualified(kinds, t.Declaration)
		d.Resources = append(d.Resources, hiding(t))
	}
	o.ConvergedExit, o.ConvergedTimeout, o.NoWatch, o.Strict, o.Reload = true, 0, true, true, nil
	var changed atomic.Bool
	o.Observer = o.Observer.With(mgmt.Observer{Ran: func(r reactor.Run) {
		if r.Changed {
			changed.Store(true)
		}
	}})
	report, err := mgmt.Run(ctx, o, static.New(d))
	if err == nil && !report.Converged {
		err = errors.Join(errors.New("it was not finished"), context.Cause(ctx))
	}
	return Outcome{Changed: changed.Load(), Report: report}, err
}

// hiding returns the declaration of a target, with the metaparameter that hides its secrets.
func hiding(t look.Target) gapi.Declaration {
	d := t.Declaration
	if len(t.Secret) == 0 {
		return d
	}
	keys := &schema.Node{Kind: schema.NodeList}
	if given := d.Meta.Get("secret"); given != nil {
		keys.Items = slices.Clone(given.Items)
	}
	for _, key := range t.Secret {
		keys.Items = append(keys.Items, &schema.Node{Kind: schema.NodeString, Text: key, Quoted: true})
	}
	meta := schema.Node{Kind: schema.NodeMap}
	if d.Meta != nil {
		meta = *d.Meta
	}
	meta.Pairs = slices.DeleteFunc(slices.Clone(meta.Pairs), func(p schema.Pair) bool { return p.Key == "secret" })
	meta.Pairs = append(meta.Pairs, schema.Pair{Key: "secret", Value: keys})
	d.Meta = &meta
	return d
}
