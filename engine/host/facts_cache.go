package host

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/hosting"
	"github.com/reactivegraph/mgmt/internal/unix"
)

// A FactReader keeps the facts of a machine as long as the files that they come
// from, and the hostname, are the same. The zero value is ready, and of this
// machine. It is safe for concurrent use.
type FactReader struct {
	Root  string   // where the files of the machine are; "/" when empty
	Roles []string // the purposes of the machine, as the user says
	// Hostname is the name that the user gives to the machine: the fact hostname, and the host part of fqdn. Empty for its own name,
	// which is followed.
	Hostname string

	mu    sync.Mutex
	state factState // of the facts; its zero value is before the first reading
	facts engine.Facts
}

// factState changes when a fact may have changed.
type factState struct {
	known    bool
	hostname string
	cpus     int    // of this machine
	memory   uint64 // the same
	sigs     [len(factFiles)]sig
}

// Paths returns the paths to watch for changes of facts. Host.WatchFacts tells of changes in the
// kernel alone: of addresses and of the hostname.
func (r *FactReader) Paths() []string {
	paths := make([]string, len(factFiles))
	for i, path := range factFiles {
		paths[i] = r.at(path)
	}
	return paths
}

// at returns where a file of the machine is.
func (r *FactReader) at(path string) string {
	if r.root() == "/" {
		return path
	}
	return filepath.Join(r.root(), path)
}

func (r *FactReader) root() string { return cmp.Or(r.Root, "/") }

// Facts returns the facts of the machine as they are now, except for addresses, which are as they
// were when something else last changed. If they cannot be read they are as they were before. The
// caller owns the result.
func (r *FactReader) Facts() engine.Facts { return r.read(false) }

// read returns the facts, with the addresses as they are now if that is asked for.
func (r *FactReader) read(addressesToo bool) engine.Facts {
	now := factState{known: true}
	for i, path := range factFiles {
		now.sigs[i] = sigOf(r.at(path))
	}
	now.hostname, _ = os.Hostname()
	if r.root() == "/" {
		now.cpus, now.memory = processors(), totalMemory()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state != now {
		if f, err := ReadFacts(r.root(), r.Hostname, r.Roles); err == nil {
			r.facts, r.state = f, now
		}
	}
	if addressesToo && r.root() == "/" {
		r.facts.Addresses = addresses(localAddresses())
	}
	out := r.facts
	out.Addresses, out.Roles = slices.Clone(out.Addresses), slices.Clone(out.Roles)
	return out
}

// Facts implements engine.Host. While facts are watched the kernel tells of new
// addresses; else it is asked for them each time.
func (h *Host) Facts() engine.Facts { return h.facts.read(!h.feed.on.Load()) }

// Machine implements hosting.Machiner.
func (h *Host) Machine() engine.Machine { return MachineOf(h.Facts()) }

// MachineOf returns this machine, whose facts are given. A system without a kernel for graphs is an Unknown one.
func MachineOf(f engine.Facts) engine.Machine { return MachineWith(f.Map()) }

// MachineWith is MachineOf with the facts as engine.Facts.Map gives them.
func MachineWith(facts map[string]any) engine.Machine {
	if unix.Portable {
		return engine.Machine{Facts: map[string]any{}, Unknown: true}
	}
	return engine.Machine{Facts: facts, Has: HasProgram}
}

// MachineAt returns the machine of a host. A host that does not tell its programs has those of this machine.
func MachineAt(h engine.Host) engine.Machine {
	if m, ok := h.(hosting.Machiner); ok {
		return m.Machine()
	}
	return MachineOf(h.Facts())
}

// HasProgram reports whether a command whose Env is nil would find a program of
// this name.
func HasProgram(name string) bool {
	_, err := findProgram(&engine.Command{Argv: []string{name}, Dir: "/", Env: []string{"PATH=" + DefaultPath}})
	return err == nil
}
