package control

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/reactivegraph/mgmt/engine/deploy"
	"github.com/reactivegraph/mgmt/engine/hosts"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/internal/sorted"
)

// ReadHosts reads the hosts that are there, and those that the operator has admitted and that are gone.
func ReadHosts(ctx context.Context, w world.World) (*Hosts, error) {
	// The records come first: a host that comes meanwhile is there.
	admitted, err := deploy.Store{World: w}.Admitted(ctx)
	var seen map[string]time.Time
	if err == nil {
		seen, err = hosts.LastSeen(ctx, w)
	}
	if err != nil && !errors.Is(err, world.ErrRefused) {
		return nil, err
	}
	unread := err
	members, err := hosts.Members(ctx, w)
	if err != nil {
		return nil, err
	}
	all := HostsOf(members)
	if unread != nil { // the rights that an older mgmt has given
		all.Incomplete = fmt.Sprintf("hosts that are gone are missing here: mgmt hosts allow, or once mgmt api migrate, gives this host the right to know them (%v)", unread)
		return all, nil
	}
	all.AddGone(slices.DeleteFunc(admitted, func(name string) bool { return !hosts.Counts(w, name) }), seen)
	return all, nil
}

// AddGone adds the hosts that the operator has admitted and that are not there, with the times since when.
func (all *Hosts) AddGone(admitted []string, seen map[string]time.Time) {
	for _, name := range admitted {
		if !slices.ContainsFunc(all.Hosts, func(h Host) bool { return h.Name == name }) {
			all.Hosts = append(all.Hosts, Host{Name: name, State: Gone, Since: seen[name]})
		}
	}
	sorted.Func(all.Hosts, func(a, b Host) int { return cmp.Compare(a.Name, b.Name) })
}
