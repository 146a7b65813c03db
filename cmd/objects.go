package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os/user"
	"strconv"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/httpd"
	"github.com/reactivegraph/mgmt/engine/model"
)

// objectsOf returns the objects in a store. Nothing is read or opened before the first question.
// The caller owns the World. The kinds are those of the program at the moment of a question, so a kind that comes later
// is a table, too. Records name the host that has written them; an empty name is that of this machine.
func (a *app) objectsOf(w engine.World, host string, s *sealing, log *slog.Logger) *model.NB {
	o := model.Options{Origin: originOf(host), Log: log}
	s.set(&o)
	return model.Open(w, a.tables(), o)
}

// originOf is how records name a host as their writer.
func originOf(host string) string { return "host:" + cmp.Or(host, hostname()) }

// writersOf returns who may change objects: root, the user of the daemon, and the members of a group. The group
// is looked up at once, so that a wrong name is an error at the start.
// The kernel tells the groups of a caller, as they were when it connected; a new member connects anew.
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
