package hosts

import (
	"slices"

	"github.com/reactivegraph/mgmt/engine/world"
)

// Removed are the hosts that the operator has taken out of a store. Nothing of theirs counts, also where the store lets them write: no facts, no export,
// no candidate, and no place of a semaphore. It is asked from several goroutines.
type Removed interface {
	Removed(host string) bool
	// Changed returns a channel that is closed when Removed may answer something else. It is taken before Removed is asked.
	Changed() <-chan struct{}
}

// Without returns a World whose readers in this package see nothing of removed hosts. Other users of it see all keys.
func Without(w world.World, r Removed) world.World { return &without{w, r} }

type without struct {
	world.World
	removed Removed
}

// Used is that of the store; see the function Used.
func (w *without) Used() <-chan struct{} { return Used(w.World) }

// Counts reports whether what a host has in a World counts: the host is not removed.
func Counts(w world.World, host string) bool {
	out, ok := w.(*without)
	return !ok || !out.removed.Removed(host)
}

// changed returns the channel of the list of a store, nil where it has none.
func (s *Store) changed() <-chan struct{} {
	if w, ok := s.World.(*without); ok {
		return w.removed.Changed()
	}
	return nil
}

// counting returns what is not of removed hosts. It does not alter what it is given.
func counting[T any](s *Store, all []T, of func(T) world.KV) []T {
	if _, ok := s.World.(*without); !ok {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(x T) bool {
		host := ownerOf(of(x))
		return host != "" && !Counts(s.World, host)
	})
}

// ownerOf returns the host whose key that is, empty for a key that belongs to no host. A request for a semaphore says it in its value, so its end belongs to
// nobody.
func ownerOf(kv world.KV) string {
	if parts := split(kv.Key, tableHosts, 1); parts != nil {
		return parts[0]
	}
	if parts := split(kv.Key, tableSeen, 1); parts != nil {
		return parts[0]
	}
	if parts := split(kv.Key, tableExports, 4); parts != nil {
		return parts[1]
	}
	if parts := split(kv.Key, tableSchedules, 3); parts != nil {
		return parts[2]
	}
	if split(kv.Key, tableSemaphores, 3) != nil {
		return string(kv.Value)
	}
	return ""
}
