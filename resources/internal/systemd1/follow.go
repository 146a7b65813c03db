package systemd1

import (
	"context"

	"github.com/reactivegraph/mgmt/engine/bus"
	"github.com/reactivegraph/mgmt/engine/events"
)

// subscribe has the manager send signals to this connection. It forgets that when it starts anew,
// and so it is asked again then. No user of the connection takes that back, for others use it too.
func (m *Manager) subscribe(ctx context.Context) error {
	_, err := m.call(ctx, "Subscribe")
	if IsError(err, name+".AlreadySubscribed") {
		return nil
	}
	return err
}

// restarted is the signal that another manager has the name now.
var restarted = bus.Match{Sender: busName, Path: busObject, Interface: busName, Member: "NameOwnerChanged", Arg0: name, Resync: true}

// own is a signal of the manager's own.
func own(member string) bus.Match {
	return bus.Match{Sender: name, Path: object, Interface: iface, Member: member}
}

// changed is the signal that a unit has changed; of any if path is empty.
func changed(path string) bus.Match {
	return bus.Match{Sender: name, Path: path, Interface: properties, Member: "PropertiesChanged"}
}

// signals subscribes, so that nothing is lost that happens after it has returned.
func (m *Manager) signals(ctx context.Context, matches ...bus.Match) (events.Subscription, error) {
	sub, err := m.bus.Signals(ctx, append(matches, restarted)...)
	if err != nil {
		return nil, err
	}
	if err := m.subscribe(ctx); err != nil {
		sub.Close()
		return nil, err
	}
	return sub, nil
}

// Signals tells when something of these units may have changed, or of any if none is named. A unit
// tells of itself; the enabled and masked states are told for all at once. After a Resync, and when
// a unit has come or gone, it has to be called again: another manager knows nothing of it, and a
// unit that came may be another one's alias.
func (m *Manager) Signals(ctx context.Context, units ...string) (events.Subscription, error) {
	matches := []bus.Match{own("UnitFilesChanged"), own("Reloading")}
	if len(units) == 0 {
		matches = append(matches, changed(""))
	}
	for _, unit := range units {
		u, err := m.Unit(ctx, unit)
		if err != nil {
			return nil, err
		}
		matches = append(matches, changed(u.Path))
	}
	return m.signals(ctx, matches...)
}

// Follow calls event when something of a unit may have changed: its state, its files, the manager
// itself, or a file that files watches. It calls armed once nothing goes unseen any more, and
// returns when the context ends.
func (m *Manager) Follow(ctx context.Context, unit string, files events.Subscription, armed, event func()) error {
	s, err := m.Signals(ctx, unit)
	if err != nil {
		return err
	}
	defer s.Close()
	armed()
	for {
		select {
		case <-files.C():
		case <-s.C():
			// Another manager, or another connection: neither knows that we listen.
			if s.Cause().Resync {
				_ = m.subscribe(ctx) // while there is no manager, no client can; a manager announces its start
			}
		case <-ctx.Done():
			return nil
		}
		event()
	}
}
