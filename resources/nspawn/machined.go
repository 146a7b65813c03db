package nspawn

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/bus"
	"github.com/reactivegraph/mgmt/engine/events"
	_ "github.com/reactivegraph/mgmt/engine/host/msgbus" // the Host has buses
	"github.com/reactivegraph/mgmt/resources/internal/names"
	"github.com/reactivegraph/mgmt/resources/internal/systemd1"
)

// The bus names of systemd-machined, which knows what machines run.
const (
	machinedName  = "org.freedesktop.machine1"
	machinedPath  = "/org/freedesktop/machine1"
	machinedIface = machinedName + ".Manager"
)

// machined asks systemd-machined. It is not there while no machine runs: the bus starts it for a
// call, and it ends again when it has nothing to do. So it is only called where it is there
// already, or where the graph asks for a thing that only it can do; or else each look would start
// it, and its end would be a reason to look.
type machined struct{ bus bus.Bus }

// container is a container that runs.
type container struct {
	unit   string // the unit that it belongs to
	leader int    // the number of its first process
	since  string // when it was started
}

// run tells two runs of a container apart; empty if it does not run.
func (m *container) run() string {
	if m == nil {
		return ""
	}
	return fmt.Sprintf("%s %d %s", m.unit, m.leader, m.since)
}

// openMachined connects to the bus. That machined itself is there it does not say.
func openMachined(ctx context.Context, host engine.Host) (*machined, error) {
	bus, err := host.Bus(ctx, bus.System)
	if err != nil {
		return nil, err
	}
	return &machined{bus}, nil
}

// call calls a method, for which machined is started.
func (m *machined) call(ctx context.Context, method string, args ...any) ([]any, error) {
	body, err := m.bus.Call(ctx, machinedName, machinedPath, machinedIface+"."+method, args...)
	if systemd1.IsError(err, "org.freedesktop.DBus.Error.ServiceUnknown") {
		err = fmt.Errorf("systemd-machined is not there; %s: %w", whereFrom, err)
	}
	return body, err
}

// machine returns the one of a name; nil if none runs.
func (m *machined) machine(ctx context.Context, name string) (*container, error) {
	body, err := m.bus.Call(ctx, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus.NameHasOwner", machinedName)
	if err != nil || len(body) != 1 || body[0] != true {
		return nil, err
	}
	if body, err = m.call(ctx, "GetMachine", name); err == nil {
		var found *container
		if found, err = m.at(ctx, replyText(body)); err == nil {
			return found, nil
		}
	}
	if systemd1.IsError(err, machinedName+".NoSuchMachine", "org.freedesktop.DBus.Error.UnknownObject") {
		return nil, nil
	}
	return nil, err
}

// at returns the machine of an object.
func (m *machined) at(ctx context.Context, path string) (*container, error) {
	found := &container{}
	var leader uint32
	for key, to := range map[string]func(v any) (ok bool){
		"Unit":      func(v any) (ok bool) { found.unit, ok = v.(string); return ok },
		"Leader":    func(v any) (ok bool) { leader, ok = v.(uint32); return ok },
		"Timestamp": func(v any) bool { found.since = fmt.Sprint(v); return true },
	} {
		body, err := m.bus.Call(ctx, machinedName, path, "org.freedesktop.DBus.Properties.Get", machinedName+".Machine", key)
		if err != nil {
			return nil, err
		}
		if v, ok := replyFirst(body).(interface{ Value() any }); !ok || !to(v.Value()) {
			return nil, fmt.Errorf("systemd-machined says of the %s of %s what can't be understood: %v", key, path, body)
		}
	}
	found.leader = int(leader)
	return found, nil
}

// names lists the images and the containers that there are, sorted. Impossible names of a machine
// are left out, and so is the machine that we are on.
func (m *machined) names(ctx context.Context) ([]string, error) {
	var list []string
	for _, method := range []string{"ListImages", "ListMachines"} {
		body, err := m.call(ctx, method)
		if err != nil {
			return nil, err
		}
		rows, _ := replyFirst(body).([][]any)
		for _, row := range rows {
			name := replyText(row)
			vm := method == "ListMachines" && replyText(row[min(1, len(row)):]) != "container"
			if !vm && names.CheckHost("the name", name) == nil {
				list = append(list, name)
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

// removeImage removes an image with all that is in it, and its settings.
func (m *machined) removeImage(ctx context.Context, name string) error {
	_, err := m.call(ctx, "RemoveImage", name)
	return err
}

// changes are the signals that tell of a machine's start and end.
func (m *machined) changes(ctx context.Context, name string) (events.Subscription, error) {
	return m.bus.Signals(ctx,
		bus.Match{Path: machinedPath, Interface: machinedIface, Member: "MachineNew", Arg0: name},
		bus.Match{Path: machinedPath, Interface: machinedIface, Member: "MachineRemoved", Arg0: name},
	)
}

// replyFirst returns the first of the values of a reply.
func replyFirst(body []any) any {
	if len(body) == 0 {
		return nil
	}
	return body[0]
}

// replyText returns the first of some values as text.
func replyText(body []any) string { return strings.TrimSpace(fmt.Sprint(replyFirst(body))) }
