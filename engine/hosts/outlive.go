package hosts

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt/engine"
)

// exported is how a resource stands in the store.
type exported struct {
	keys  map[string][]byte
	lasts time.Duration // after the end of the daemon
}

// outlive keeps the exports of a host, which outlive its daemon. Those that last for the same time have one Keeper with one lease.
//
// # Laws
//
//   - No end of the daemon takes an export back. The time of its lease does, and a graph without it.
//   - A new daemon takes back what the earlier one has exported and its own first graph lacks, before and not after which it knows nothing. So the
//     file has each key before the store has it.
type outlive struct {
	p *Publisher

	mu      sync.Mutex
	first   bool // no graph was there yet
	keepers map[time.Duration]*Keeper
	of      map[string]time.Duration // by key: of its keeper
	noted   map[string]bool          // the keys in the file
	pruned  bool                     // the file has no key of an earlier daemon any more that this one has not
	life    context.Context          // nil while nothing runs
	running sync.WaitGroup
}

func (o *outlive) init(p *Publisher) {
	*o = outlive{p: p, first: true, keepers: map[time.Duration]*Keeper{}, of: map[string]time.Duration{}, noted: map[string]bool{}}
}

// isFirst reports whether no graph was there yet.
func (o *outlive) isFirst() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.first && !o.p.o.Quiet
}

// run keeps the exports until ctx ends. The returned function waits for that.
func (o *outlive) run(ctx context.Context) (end func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.life = ctx
	for _, k := range o.keepers {
		o.running.Go(func() { k.Run(ctx) })
	}
	return func() {
		o.mu.Lock()
		o.life = nil
		o.mu.Unlock()
		o.running.Wait()
	}
}

// set makes these the exports of the host. It reports whether the store has to be used.
func (o *outlive) set(exports map[string]exported) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	groups, of := map[time.Duration]map[string][]byte{}, map[string]time.Duration{}
	for _, x := range exports {
		if groups[x.lasts] == nil {
			groups[x.lasts] = map[string][]byte{}
		}
		maps.Copy(groups[x.lasts], x.keys)
		for key := range x.keys {
			of[key] = x.lasts
		}
	}
	if o.first {
		o.first = false
		for _, key := range o.read() {
			o.noted[key] = true
			lasts, wanted := of[key]
			if !wanted {
				lasts = new(engine.MetaParams).Outlives()
			}
			o.keeper(lasts).Inherit(key)
		}
	}
	for key, lasts := range of {
		if was, known := o.of[key]; known && was != lasts {
			o.keeper(was).Forget(key)
			o.keeper(lasts).Inherit(key)
		}
	}
	o.of = of
	o.note()
	for lasts := range groups {
		o.keeper(lasts)
	}
	for lasts, k := range o.keepers {
		k.Set("exports", groups[lasts])
	}
	return len(o.keepers) > 0
}

// keeper returns the keeper of the exports that last for a time. The caller holds the lock.
func (o *outlive) keeper(lasts time.Duration) *Keeper {
	if k := o.keepers[lasts]; k != nil {
		return k
	}
	k := NewKeeper(Store{World: o.p.o.World, Clock: o.p.o.Clock}, lasts) // the keeper of the record tells of a loss
	k.Outlive()
	k.OnRefused(o.p.refused)
	k.OnWritten(o.prune)
	o.keepers[lasts] = k
	if ctx := o.life; ctx != nil {
		o.running.Go(func() { k.Run(ctx) })
	}
	return k
}

// prune forgets the keys of earlier daemons once they are in no doubt any more.
func (o *outlive) prune() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.pruned || o.first || slices.ContainsFunc(slices.Collect(maps.Values(o.keepers)), (*Keeper).HasInherited) {
		return
	}
	o.pruned = true
	if now := setOf(o.of); !maps.Equal(now, o.noted) {
		o.noted = now
		o.save()
	}
}

// setOf returns the keys of a map.
func setOf(of map[string]time.Duration) map[string]bool {
	set := map[string]bool{}
	for key := range of {
		set[key] = true
	}
	return set
}

// read returns the keys of the earlier daemon.
func (o *outlive) read() (keys []string) {
	if o.p.o.File == "" {
		return nil
	}
	text, err := os.ReadFile(o.p.o.File)
	if err == nil {
		err = json.Unmarshal(text, &keys)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		o.p.o.Log.Warn("what this host exported before can't be read: what the graph exports no longer stays for its time", slog.String("path", o.p.o.File), slog.Any("error", err))
	}
	return keys
}

// note has the file name all exports.
func (o *outlive) note() {
	before := len(o.noted)
	maps.Copy(o.noted, setOf(o.of))
	if len(o.noted) > before {
		o.save()
	}
}

// save writes the file.
func (o *outlive) save() {
	if o.p.o.File == "" {
		return
	}
	text, err := json.Marshal(slices.Sorted(maps.Keys(o.noted)))
	if err == nil {
		err = ReplaceFile(o.p.o.File, text)
	}
	if err != nil {
		o.p.o.Log.Warn("the names of the exports can't be kept: after a restart, what the graph exports no longer stays for its time", slog.Any("error", err))
	}
}

// ReplaceFile writes a file anew. After a power loss the file is the old one or the new one, and never an empty one.
func ReplaceFile(path string, text []byte) error {
	f, err := os.OpenFile(path+".new", os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
