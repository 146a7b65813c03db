package reactor

import (
	"maps"
	"slices"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/values"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// guardSent keeps what v itself sends and is secret out of all that it says. It
// is called after a run.
func (v *vertex) guardSent() {
	if sent := v.run.said.sent; len(sent) > 0 {
		v.guardList(slices.Collect(maps.Values(sent)))
	}
}

// guardList keeps the secret ones of some values out of all that v says.
func (v *vertex) guardList(vals []values.Value) {
	for _, val := range vals {
		if val.Secret {
			v.Hide(val.V, true)
		}
	}
}

// clean returns changes without secrets: neither the secrets of a tainted field nor the ones in
// other texts.
func (v *vertex) clean(cs []engine.Change) []engine.Change {
	if w := v.wired(); w.HasSecret() {
		return v.Changes(cs, w.IsSecret)
	}
	return v.Changes(cs, nil)
}

func (v *vertex) recvMap() map[string]*engine.Send { return v.wired().Recv() }

// secretFields returns the parameters that must not be shown though their type is plain: parameters
// that were received so, and parameters whose values the check has hidden.
func (v *vertex) secretFields() []string {
	fields := map[string]bool{}
	for key, s := range v.recvMap() {
		if s.Secret {
			fields[key] = true
		}
	}
	v.run.mu.Lock()
	defer v.run.mu.Unlock()
	for _, c := range v.run.said.changes {
		_, from := c.From.(schema.Secret)
		_, to := c.To.(schema.Secret)
		if from || to {
			fields[c.Field] = true
		}
	}
	return slices.Sorted(maps.Keys(fields))
}
