package host

import (
	"os"
	"slices"
	"sync"

	"github.com/reactivegraph/mgmt/engine"
)

// factCache keeps facts as long as the files that they come from, and the hostname,
// are the same.
type factCache struct {
	mu       sync.Mutex
	read     bool
	sigs     []sig
	hostname string
	facts    engine.Facts
}

// Facts returns the facts of the machine as they are now, except for addresses,
// memory and processors, which are as they were when a file that facts come from last
// changed. Nobody else has what it returns.
func (h *Host) Facts() engine.Facts {
	return h.facts.get(func() (engine.Facts, error) { return ReadFacts("/", h.roles) })
}

func (c *factCache) get(read func() (engine.Facts, error)) engine.Facts {
	sigs := make([]sig, len(factFiles))
	for i, path := range factFiles {
		sigs[i] = sigOf(path)
	}
	hostname, _ := os.Hostname()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.read || hostname != c.hostname || !slices.Equal(sigs, c.sigs) {
		if f, err := read(); err == nil {
			c.facts, c.read, c.sigs, c.hostname = f, true, sigs, hostname
		}
	}
	out := c.facts
	out.Addresses, out.Roles = slices.Clone(out.Addresses), slices.Clone(out.Roles)
	return out
}
