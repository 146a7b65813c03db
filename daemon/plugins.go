package daemon

import (
	"github.com/reactivegraph/mgmt/daemon/kinds"
	"github.com/reactivegraph/mgmt/engine/control"
	"github.com/reactivegraph/mgmt/engine/plugin"
)

// providers answers questions about the providers of a daemon, on any goroutine. It never waits for a process, so a provider that hangs
// delays no answer.
type providers struct{ kinds func() *kinds.Set } // those of the last reading, whose graph may still be refused

// all returns the providers; none where there is no folder of them.
func (d *providers) all() []*plugin.Plugin {
	if set := d.kinds().Plugins(); set != nil {
		return set.Plugins()
	}
	return nil
}

// List implements control.Providers. A plugin gives its own status under its own lock, so the list is not of one moment.
func (d *providers) List() []control.Provider {
	list := []control.Provider{}
	for _, p := range d.all() {
		s := p.Status()
		list = append(list, control.Provider{Name: s.Name, Version: s.Version, Phase: string(s.Phase), PID: s.PID, Starts: s.Starts, Since: s.Since,
			Error: s.Error, Kinds: s.Kinds, Hash: s.Hash, Attached: s.Attached})
	}
	return list
}

// Restart implements control.Providers. Of two descriptors of one name the first one counts.
func (d *providers) Restart(name string) (found, running bool) {
	for _, p := range d.all() {
		if p.Name == name {
			return true, p.Restart()
		}
	}
	return false, false
}
