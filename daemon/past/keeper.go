package past

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/control"
	"github.com/reactivegraph/mgmt/engine/provenance"
	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/engine/seal"
	"github.com/reactivegraph/mgmt/gapi"
)

// What is kept at most.
const (
	maxGraphs = 100
	maxBytes  = 64 << 20
)

const (
	indexFile = "index.json"
	keyFile   = "key"
	folder    = "graphs"
	// busy is how many times longer than the writing of a graph the pause after it is.
	busy = 10
)

// Options are the surroundings of a Keeper.
type Options struct {
	Dir   string // the state folder; empty to keep nothing
	Clock clock.Clock
	Log   *slog.Logger
	Most  int // graphs; 100 if 0
}

// entry is a kept graph as the index has it.
type entry struct {
	control.KeptGraph
	Content string            `json:"content"` // the name of its file
	Bytes   int               `json:"bytes"`
	Each    map[string]string `json:"each,omitempty"` // prints of the resources; of the newest only
}

// pin says that a kept graph stands in the place of the one of the input.
type pin struct {
	control.Pinned
}

// index is the file that lists the graphs.
type index struct {
	Graphs []entry `json:"graphs"` // the oldest first
	Pin    *pin    `json:"pin,omitempty"`
	// Over is the print of the graph of the input that the pin, and what was undone, stand over; empty where that has yet to come.
	Over string `json:"over,omitempty"`
}

// Keeper keeps the graphs of one state folder, which is its own. Its methods may be called from any goroutine.
type Keeper struct {
	o        Options
	identity func() (seal.Identity, error)

	mu     sync.Mutex
	index  index
	held   []Held        // what was undone
	next   *effect       // has taken effect, and is to be kept; nil for none
	active bool          // the goroutine is there
	kept   chan struct{} // closed when all is kept; nil where it is
	warned bool          // the last write has failed; of the goroutine
	wg     sync.WaitGroup
	ctx    context.Context // ends with Close
	end    context.CancelFunc
}

// effect is a graph that has taken effect.
type effect struct {
	d      *gapi.Declared
	at     time.Time
	origin provenance.Origin
	pin    *pin // of which this is the graph; nil for one of the input
}

// Open reads what is kept in a state folder. It makes nothing yet.
func Open(o Options) (*Keeper, error) {
	k := &Keeper{o: o}
	k.ctx, k.end = context.WithCancel(context.Background())
	k.identity = sync.OnceValues(func() (seal.Identity, error) { return seal.Open(k.path(keyFile), nil) })
	text, err := os.ReadFile(k.path(indexFile))
	if errors.Is(err, fs.ErrNotExist) || o.Dir == "" {
		return k, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &k.index)
	}
	if err != nil {
		return nil, fmt.Errorf("the list of the graphs that took effect can't be read; repair %s, or remove it: %w", k.path(indexFile), err)
	}
	return k, k.loadHeld()
}

// Seal encrypts a text to this host, as the kept graphs are.
func (k *Keeper) Seal(clear string) (string, error) {
	if err := os.MkdirAll(k.path(""), 0o700); err != nil {
		return "", err
	}
	id, err := k.identity()
	if err != nil {
		return "", err
	}
	return seal.Seal([]string{id.Recipient()}, clear)
}

// Unseal decrypts what Seal has encrypted.
func (k *Keeper) Unseal(text string) (string, error) {
	id, err := k.identity()
	if err != nil {
		return "", err
	}
	return id.Unseal(text)
}

func (k *Keeper) path(name string) string { return filepath.Join(k.o.Dir, folder, name) }

// took notes that a graph has taken effect. It does not wait until it is kept.
func (k *Keeper) took(e *effect) {
	if k.o.Dir == "" {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.next = e
	if k.kept == nil {
		k.kept = make(chan struct{})
	}
	if !k.active {
		k.active = true
		k.wg.Go(k.work)
	}
}

// work keeps what has taken effect until nothing more comes.
func (k *Keeper) work() {
	for {
		k.mu.Lock()
		e := k.next
		k.next, k.active = nil, e != nil
		k.mu.Unlock()
		if e == nil {
			return
		}
		began := k.o.Clock.Now()
		err := k.keep(e)
		if err != nil && !k.warned {
			// The folder that cannot be written has its own warning.
			k.o.Log.Info("a graph that took effect can't be kept: mgmt history and mgmt rollback do without it", "error", err)
		}
		k.warned = err != nil
		k.mu.Lock()
		if k.next == nil {
			close(k.kept)
			k.kept = nil
		}
		k.mu.Unlock()
		_ = clock.Sleep(k.ctx, k.o.Clock, busy*k.o.Clock.Now().Sub(began)) // or Close
	}
}

// keep writes a graph, unless it is the newest already.
func (k *Keeper) keep(e *effect) error {
	d := e.d.Complete()
	p := printOf(d)
	k.mu.Lock()
	g := entry{Content: p.whole, Each: p.each}
	var last *entry
	if n := len(k.index.Graphs); n > 0 {
		last = &k.index.Graphs[n-1]
		g.Number = last.Number
	}
	known := slices.IndexFunc(k.index.Graphs, func(o entry) bool { return o.Content == p.whole })
	if known >= 0 {
		g.Bytes, g.Lacks = k.index.Graphs[known].Bytes, k.index.Graphs[known].Lacks
	}
	k.mu.Unlock()
	if last != nil && last.Content == p.whole && (e.pin == nil) == (last.Rollback == 0) {
		return nil
	}
	g.Number++
	g.At, g.By, g.Path, g.Digest, g.Name = e.at, e.origin.By, e.origin.Path, e.origin.Digest, d.Name
	if e.pin != nil {
		g.Rollback, g.By, g.Reason = e.pin.Number, e.pin.By, e.pin.Reason
	}
	g.Resources = len(p.each)
	g.Added, g.Changed, g.Removed = compare(last, p.each)
	if known < 0 {
		if err := k.write(&g, d); err != nil {
			return err
		}
	}
	return k.update(func(x *index) {
		for i := range x.Graphs {
			x.Graphs[i].Each = nil
		}
		x.Graphs = append(x.Graphs, g)
		x.bound(cmp.Or(k.o.Most, maxGraphs))
	})
}

// compare counts the resources that are new, other and gone since the last graph.
func compare(last *entry, each map[string]string) (added, changed, removed int) {
	was := map[string]string{}
	if last != nil {
		was = last.Each
	}
	for id, sum := range each {
		switch old, ok := was[id]; {
		case !ok:
			added++
		case old != sum:
			changed++
		}
	}
	for id := range was {
		if _, ok := each[id]; !ok {
			removed++
		}
	}
	return added, changed, removed
}

// write puts the content of a graph into its file.
func (k *Keeper) write(g *entry, d *gapi.Declared) error {
	doc, err := documentOf(d)
	if err != nil {
		return err
	}
	g.Lacks = doc.Lacks
	packed, err := doc.pack()
	if err != nil {
		return err
	}
	sealed, err := k.Seal(packed)
	if err != nil {
		return err
	}
	g.Bytes = len(sealed)
	return safepath.System().WriteFile(k.path(g.Content), []byte(sealed), 0o600, true)
}

// bound drops the oldest graphs where there are too many. The newest one stays, and the pinned one.
func (x *index) bound(most int) {
	for len(x.Graphs) > 1 {
		bytes, seen := 0, map[string]bool{}
		for _, g := range x.Graphs {
			if !seen[g.Content] {
				bytes += g.Bytes
			}
			seen[g.Content] = true
		}
		if len(x.Graphs) <= most && bytes <= maxBytes {
			return
		}
		at := slices.IndexFunc(x.Graphs[:len(x.Graphs)-1], func(g entry) bool { return x.Pin == nil || g.Number != x.Pin.Number })
		if at < 0 {
			return
		}
		x.Graphs = slices.Delete(x.Graphs, at, at+1)
	}
}

// update alters the index, and removes the files that it does not need any more. With an error it is as before.
func (k *Keeper) update(do func(*index)) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	x := k.index
	x.Graphs = slices.Clone(x.Graphs)
	do(&x)
	text, err := json.Marshal(&x)
	if err != nil {
		return err
	}
	if k.o.Dir != "" {
		if err := os.MkdirAll(k.path(""), 0o700); err != nil {
			return err
		}
		if err := safepath.System().WriteFile(k.path(indexFile), text, 0o600, true); err != nil {
			return err
		}
	}
	for _, old := range k.index.Graphs {
		if !slices.ContainsFunc(x.Graphs, func(g entry) bool { return g.Content == old.Content }) {
			_ = os.Remove(k.path(old.Content)) // a file that is left costs its bytes
		}
	}
	k.index = x
	return nil
}

// load reads the content of a kept graph.
func (k *Keeper) load(number int) (*document, error) {
	g, err := k.find(number)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(k.path(g.Content))
	if err == nil {
		var packed string
		if packed, err = k.Unseal(string(text)); err == nil {
			return unpack(packed)
		}
	}
	return nil, fmt.Errorf("graph %d can't be read: %w", number, err)
}

func (k *Keeper) find(number int) (*entry, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := range k.index.Graphs {
		if g := k.index.Graphs[i]; g.Number == number {
			return &g, nil
		}
	}
	return nil, &control.Error{Status: 404, Text: fmt.Sprintf("there is no graph %d", number), Hint: "mgmt history lists those that are kept"}
}

// Wait waits until what has taken effect before the call is kept.
func (k *Keeper) Wait(ctx context.Context) error {
	k.mu.Lock()
	kept := k.kept
	k.mu.Unlock()
	if kept == nil {
		return nil
	}
	select {
	case <-kept:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// List returns the kept graphs, the newest first, and the pin.
func (k *Keeper) List() *control.GraphList {
	k.mu.Lock()
	defer k.mu.Unlock()
	out := &control.GraphList{Graphs: []control.KeptGraph{}}
	for _, g := range slices.Backward(k.index.Graphs) {
		out.Graphs = append(out.Graphs, g.KeptGraph)
	}
	if p := k.index.Pin; p != nil {
		out.Pinned = new(p.Pinned)
	}
	return out
}

// Pinned returns the rollback that stands; nil for none.
func (k *Keeper) Pinned() *control.Pinned { return k.List().Pinned }

// stands reports whether something stands over the graph of the input, or has.
func (k *Keeper) stands() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.index.Pin != nil || len(k.held) > 0 || k.index.Over != ""
}

// Pin has a kept graph stand in the place of the one that the input has next.
func (k *Keeper) Pin(number int, by, reason string) error {
	g, err := k.find(number)
	if err != nil {
		return err
	}
	if g.Lacks != "" {
		return &control.Error{Status: 409, Text: fmt.Sprintf("graph %d can't take effect again: %s", number, g.Lacks), Hint: ""}
	}
	if _, err := k.load(number); err != nil {
		return err
	}
	if _, err := k.Release(all); err != nil {
		return err
	}
	return k.update(func(x *index) {
		x.Pin, x.Over = &pin{control.Pinned{Number: number, By: by, Reason: reason, Since: k.o.Clock.Now()}}, ""
	})
}

func all(string) bool { return true }

// Unpin ends a rollback, and reports whether there was one.
func (k *Keeper) Unpin() (bool, error) {
	if k.Pinned() == nil {
		return false, nil
	}
	return true, k.update(func(x *index) { x.Pin = nil })
}

// Close writes what is not kept yet. Nothing takes effect any more.
func (k *Keeper) Close() error {
	k.end()
	k.wg.Wait()
	return nil
}

// over returns what stands over the graph that the input has: the pin, nil for none, and what was undone. Another graph than before ends both.
func (k *Keeper) over(d *gapi.Declared) (*pin, []Held) {
	k.mu.Lock()
	p, held, over := k.index.Pin, slices.Clone(k.held), k.index.Over
	k.mu.Unlock()
	if p == nil && len(held) == 0 {
		if over != "" {
			k.setOver("")
		}
		return nil, nil
	}
	switch is := printOf(d).whole; over {
	case is:
	case "":
		k.setOver(is)
	default:
		k.drop("a new graph takes its place")
		return nil, nil
	}
	return p, held
}

func (k *Keeper) setOver(over string) {
	if err := k.update(func(x *index) { x.Over = over }); err != nil {
		k.o.Log.Warn("a rollback, or an undo, counts until the end of this process only: the state folder can't be written", "error", err)
		k.mu.Lock()
		k.index.Over = over
		k.mu.Unlock()
	}
}

// drop ends a rollback, and what was undone, where they can't go on.
func (k *Keeper) drop(why string, more ...any) {
	if p := k.Pinned(); p != nil {
		more = append(more, "graph", p.Number)
	}
	if n := len(k.Undone()); n > 0 {
		more = append(more, "undone", n)
	}
	k.o.Log.Warn("a rollback, or an undo, has ended", append([]any{"reason", why}, more...)...)
	_, err := k.Release(all)
	if bad := k.update(func(x *index) { x.Pin, x.Over = nil, "" }); bad != nil {
		err = bad
	}
	if err != nil {
		k.mu.Lock()
		k.index.Pin, k.index.Over, k.held = nil, "", nil
		k.mu.Unlock()
		k.o.Log.Warn("the state folder can't be written: what has ended may come back with the next start", "error", err)
	}
}
