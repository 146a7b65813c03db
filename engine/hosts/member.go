package hosts

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/internal/sorted"
)

// Member is the record of a live host. Fields may become more, and a reader ignores unknown ones.
type Member struct {
	Name    string         `json:"name"`
	Version string         `json:"version"` // of mgmt
	Since   time.Time      `json:"since"`   // when this daemon has started
	Facts   map[string]any `json:"facts"`
	State   MemberState    `json:"state"`
}

// MemberState is how the graph of a host stands.
type MemberState struct {
	Graph     string    `json:"graph,omitempty"` // its name; empty for none
	Converged bool      `json:"converged"`
	Since     time.Time `json:"since,omitzero"` // when Word has become that
	OK        int       `json:"ok"`
	Failed    int       `json:"failed"`
	Blocked   int       `json:"blocked"`
	Other     int       `json:"other"` // neither of these
}

// Word says the state in one word: failing where a resource has failed or is blocked, else
// converged, or working.
func (s *MemberState) Word() string {
	switch {
	case s.Failed+s.Blocked > 0:
		return "failing"
	case s.Converged:
		return "converged"
	}
	return "working"
}

// MemberKeys returns the key of a host with its value, for Keeper.Set.
func MemberKeys(m Member) (map[string][]byte, error) {
	value, err := json.Marshal(m)
	return map[string][]byte{MemberKey(m.Name): value}, err
}

// MemberKey is the key of a host's record. Every host may read it, so it also serves as a question whether the store is there.
func MemberKey(host string) string { return tableHosts + join(host) }

// Members returns the live hosts, sorted by their names. A record that cannot be read is a
// Member with a name alone, and hides no other.
func Members(ctx context.Context, w world.World) ([]Member, error) {
	s := Store{World: w, Clock: clock.System{}}
	kvs, _, err := s.list(ctx, tableHosts)
	if err != nil {
		return nil, fmt.Errorf("the hosts: %w", err)
	}
	list := make([]Member, 0, len(kvs))
	for _, kv := range kvs {
		parts := split(kv.Key, tableHosts, 1)
		if parts == nil {
			continue
		}
		var m Member
		if json.Unmarshal(kv.Value, &m) != nil {
			m = Member{}
		}
		m.Name = parts[0]
		list = append(list, m)
	}
	sorted.Func(list, func(a, b Member) int { return cmp.Compare(a.Name, b.Name) })
	return list, nil
}
