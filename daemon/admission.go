package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/user"
	"strconv"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/daemon/trust"
	"github.com/reactivegraph/mgmt/engine/httpd"
	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/gapi/native"
)

// ObjectOptions say whose objects a store has, and what judges a change of one.
type ObjectOptions struct {
	Host    string         // that writes the records
	Secrets *trust.Secrets // encrypts what is secret in them
	// Topics are those of this host. Objects of them are admitted against the graph of the engine that Running returns, nil while there is
	// none. Both are nil where the objects are of other hosts.
	Topics  []string
	Running func() *mgmt.Engine
	Log     *slog.Logger
}

// Objects returns the objects in a store. Nothing is read or opened before the first question. The caller owns the World. A kind that comes
// to the tables later is a table then.
func Objects(w world.World, tables *model.Registry, o ObjectOptions) *model.NB {
	admission := &native.Admission{Kinds: tables.Kinds, Topics: append([]string{}, o.Topics...)}
	// Only objects of this host's topics are judged by the graph, so Running is not nil where this is called.
	admission.Graph = func(ctx context.Context, f func(native.Graph) error) error {
		e := o.Running()
		if e == nil {
			return native.ErrBusy
		}
		looked := false
		err := e.Look(ctx, func(g mgmt.Running) error {
			looked = true
			return f(g)
		})
		// The engine had no graph to look at, or none any more. An error of f itself, or the end
		// of the caller's context, is another matter and passes as it is.
		if err != nil && !looked && ctx.Err() == nil {
			return native.ErrBusy
		}
		return err
	}
	opt := model.Options{Origin: "host:" + o.Host, Admit: admission.Admit, Log: o.Log}
	o.Secrets.Fill(&opt)
	admission.Sealed = opt.Sealed
	return model.Open(w, tables, opt)
}

// runs reports whether a resource is in the graph that runs, by kind[name]. It may block until the loop of the engine answers, or ctx ends.
func (d *Daemon) runs(ctx context.Context, resource string) bool {
	e := d.engine.Load()
	if e == nil {
		return false
	}
	_, err := e.Status(ctx, resource)
	return err == nil
}

// writersOf returns who may change objects: root, the user of the daemon, and the members of a group. The group
// is looked up at once, so that a wrong name is an error at the start.
// The kernel tells the groups of a caller, as they were when it connected; a new member connects anew.
// An empty name stands for no group. The function that is returned may be called by many
// goroutines.
func writersOf(group string) (func(httpd.Peer) bool, error) {
	if group == "" {
		return httpd.Peer.Owner, nil
	}
	gid, err := groupID(group)
	if err != nil {
		return nil, fmt.Errorf("api_write_group: %w", err)
	}
	return func(p httpd.Peer) bool { return p.Owner() || p.In(gid) }, nil
}

// groupID returns the number of a group that is named by its name or its number.
// It is asked once, at the start: a group that is made later needs a restart.
func groupID(group string) (uint32, error) {
	if n, err := strconv.ParseUint(group, 10, 32); err == nil {
		return uint32(n), nil
	}
	g, err := user.LookupGroup(group)
	if _, unknown := errors.AsType[user.UnknownGroupError](err); unknown {
		return 0, fmt.Errorf("there is no group %q on this machine", group)
	}
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(g.Gid, 10, 32)
	return uint32(n), err
}
