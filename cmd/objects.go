package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/user"
	"strconv"
	"sync/atomic"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/daemon/trust"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/httpd"
	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/gapi/native"
)

// objectsOf returns the objects in a store. Nothing is read or opened before the first question.
// The caller owns the World. The kinds are those of the program at the moment of a question, so a kind that comes later
// is a table, too. Records name the host that has written them; an empty name is that of this machine. Each change is admitted
// against the graph of the engine that runs, nil where none does yet. Where running itself is nil, the objects are of other hosts.
func (a *app) objectsOf(w engine.World, host string, s *trust.Secrets, running *atomic.Pointer[mgmt.Engine], log *slog.Logger) *model.NB {
	tables := a.tables()
	admission := &native.Admission{Kinds: tables.Kinds, Topics: []string{}}
	if running != nil {
		admission.Topics = trust.Topics(cmp.Or(host, hostname()), a.folders.Roles)
	}
	// Only objects of this host's topics are judged by the graph. Without an engine there are no
	// such topics, so running is not nil where this is called.
	admission.Graph = func(ctx context.Context, f func(native.Graph) error) error {
		e := running.Load()
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
	o := model.Options{Origin: originOf(host), Admit: admission.Admit, Log: log}
	s.Fill(&o)
	admission.Sealed = o.Sealed
	return model.Open(w, tables, o)
}

// runs returns a function that tells whether a resource is in the graph that runs, by kind[name].
// Before the run it is always false.
// The answer is that of this moment; the next graph may have another.
// It may block until the loop of the engine answers, or ctx ends.
func runs(running *atomic.Pointer[mgmt.Engine]) func(ctx context.Context, resource string) bool {
	return func(ctx context.Context, resource string) bool {
		e := running.Load()
		if e == nil {
			return false
		}
		_, err := e.Status(ctx, resource)
		return err == nil
	}
}

// originOf is how records name a host as their writer.
func originOf(host string) string { return "host:" + cmp.Or(host, hostname()) }

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
