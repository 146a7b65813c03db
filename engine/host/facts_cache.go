package host

import (
	"os"
	"slices"
	"sync"

	"github.com/reactivegraph/mgmt/engine"
)

// A FactReader keeps the facts of this machine as long as the files that they come
// from, and the hostname, are the same. The zero value is ready. It is safe for
// concurrent use.
type FactReader struct {
	Roles []string // what the user says of the machine; set before the first use

	read func() (engine.Facts, error) // ReadFacts of / when nil

	mu       sync.Mutex
	known    bool
	sigs     []sig
	hostname string
	facts    engine.Facts
}

// Facts returns the facts of the machine as they are now, except for addresses,
// memory and processors, which are as they were when a file that facts come from
// last changed. Nobody else has what it returns.
func (r *FactReader) Facts() engine.Facts {
	sigs := make([]sig, len(factFiles))
	for i, path := range factFiles {
		sigs[i] = sigOf(path)
	}
	hostname, _ := os.Hostname()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.known || hostname != r.hostname || !slices.Equal(sigs, r.sigs) {
		if f, err := r.fresh(); err == nil {
			r.facts, r.known, r.sigs, r.hostname = f, true, sigs, hostname
		}
	}
	out := r.facts
	out.Addresses, out.Roles = slices.Clone(out.Addresses), slices.Clone(out.Roles)
	return out
}

func (r *FactReader) fresh() (engine.Facts, error) {
	if r.read != nil {
		return r.read()
	}
	return ReadFacts("/", r.Roles)
}

// Facts implements engine.Host; see FactReader.
func (h *Host) Facts() engine.Facts { return h.facts.Facts() }

// HasProgram reports whether a command whose Env is nil would find a program of
// this name.
func HasProgram(name string) bool {
	_, err := findProgram(&engine.Command{Argv: []string{name}, Dir: "/", Env: []string{"PATH=" + DefaultPath}})
	return err == nil
}
