package hosts

import (
	"encoding/json"
	"maps"
	"math"
	"reflect"
	"slices"

	"github.com/reactivegraph/mgmt/engine/world"
)

// Board is the facts of all live hosts, by their names, at one revision of the store. The zero value has no hosts. It belongs to one goroutine.
type Board struct {
	facts map[string]map[string]any
}

// Take brings the board to the next step of Follow, and reports whether it has other facts now. The rest of a record, such as the state of the
// host, does not count. A record that can't be read is a host without facts.
func (b *Board) Take(c Change) (differs bool) {
	before := maps.Clone(b.facts)
	if c.Whole || b.facts == nil {
		b.facts = map[string]map[string]any{}
	}
	for _, u := range c.Updates {
		parts := split(u.Key, tableHosts, 1)
		switch {
		case parts == nil:
		case u.Deleted:
			delete(b.facts, parts[0])
		default:
			b.facts[parts[0]] = factsOf(u.KV)
		}
	}
	return !reflect.DeepEqual(before, b.facts)
}

// Facts returns the facts of each host, as engine.Facts.Map names them. The map is the caller's; its values must not be altered.
func (b *Board) Facts() map[string]map[string]any { return maps.Clone(b.facts) }

// exact is the bound up to which each whole number is a float64, too.
const exact = 1 << 53

// factsOf reads the facts of a record. All numbers among facts are whole ones, which JSON does not tell.
func factsOf(kv world.KV) map[string]any {
	var m Member
	if json.Unmarshal(kv.Value, &m) != nil || m.Facts == nil {
		return map[string]any{}
	}
	for key, v := range m.Facts {
		if f, ok := v.(float64); ok && f == math.Trunc(f) && math.Abs(f) <= exact {
			m.Facts[key] = int64(f)
		}
	}
	return m.Facts
}

// LeaseOf returns the ID of the lease under which a host stands for a schedule, empty for none.
func (t *Table) LeaseOf(name, host string) string { return t.by[name][host].lease }

// Chosen returns the hosts of each of these schedules, sorted by name.
func (t *Table) Chosen(names []string) map[string][]string {
	out := make(map[string][]string, len(names))
	for _, name := range names {
		out[name] = slices.Clone(t.Choose(name).Hosts)
	}
	return out
}
