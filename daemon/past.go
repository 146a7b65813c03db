package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/daemon/past"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/control"
	"github.com/reactivegraph/mgmt/engine/journal"
	"github.com/reactivegraph/mgmt/engine/journal/images"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/selection"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// pastPart keeps the graphs that took effect, and puts an earlier one in the place of that of the input. There is none where the daemon has no
// state folder, or only looks.
type pastPart struct {
	d *Daemon
	*past.Keeper
	images *images.Store                          // nil for none
	graph  atomic.Pointer[func() *resgraph.Graph] // in effect
}

// Undo says how much is kept of the state before each change, for mgmt undo. Zero values stand for the defaults of package images.
type Undo struct {
	Size int64 // bytes; negative for nothing
	Age  time.Duration
}

// Open implements Part. It comes after the parts that add to the graph, so what it keeps is the graph with all that is beside it.
func (p *pastPart) Open(_ context.Context, d *Daemon) (err error) {
	p.d = d
	if d.Folder.Dir == "" || d.Options.Noop == reactor.NoopAll {
		return nil
	}
	if p.Keeper, err = past.Open(past.Options{Dir: d.Folder.Dir, Clock: clock.System{}, Log: d.Log}); err != nil {
		return err
	}
	d.Beside(func(front gapi.Frontend) gapi.Frontend { return p.Beside(front, p.bounds) })
	if d.Undo.Size < 0 {
		return nil
	}
	p.images, err = images.Open(images.Options{
		Dir: filepath.Join(d.Folder.Dir, "images"), Size: d.Undo.Size, Age: d.Undo.Age, Clock: clock.System{}, Log: d.Log, Seal: p.Seal, Unseal: p.Unseal,
	})
	if err == nil {
		d.Options.Images = p.images
		d.Options.Observer = d.Options.Observer.With(mgmt.Observer{Loaded: func(graph func() *resgraph.Graph) { p.graph.Store(&graph) }})
	}
	return err
}

// bounds returns how a kept graph is read. Its secrets are in it.
func (p *pastPart) bounds() yaml.Options { return p.d.renewal.input.Load().Foreign() }

// Start implements Part.
func (p *pastPart) Start(context.Context, *mgmt.Engine) error { return nil }

// Close implements Part.
func (p *pastPart) Close() error {
	if p.Keeper == nil {
		return nil
	}
	err := p.Keeper.Close()
	if p.images != nil {
		err = errors.Join(err, p.images.Close())
	}
	return err
}

// keptGraphs answers for the past over the socket.
type keptGraphs struct {
	*past.Keeper
	input   *graphInput
	part    *pastPart
	session func() string // of the recorder
}

// kept returns what answers for the past; nil for nothing.
func (p *pastPart) kept(in *graphInput, rec *control.Recorder) control.Kept {
	if p.Keeper == nil {
		return nil
	}
	return &keptGraphs{p.Keeper, in, p, func() string { return rec.Standing().Session }}
}

// Graphs implements control.Kept.
func (k *keptGraphs) Graphs(ctx context.Context) (*control.GraphList, error) {
	err := k.Wait(ctx)
	return k.List(), err
}

// Difference implements control.Kept.
func (k *keptGraphs) Difference(ctx context.Context, from, to int) (*control.GraphDiff, error) {
	all, err := k.Graphs(ctx)
	if err != nil {
		return nil, err
	}
	if to == 0 && len(all.Graphs) > 0 {
		to = all.Graphs[0].Number
	}
	o := k.part.bounds()
	o.Registry = k.part.d.set.Load().Kinds
	return k.Diff(from, to, o)
}

// Rollback implements control.Kept. The caller may go: the work is brought to its end.
func (k *keptGraphs) Rollback(ctx context.Context, req control.RollbackRequest) (*control.Verdict, error) {
	g := k.input
	if err := g.take(ctx); err != nil {
		return nil, err
	}
	defer func() { <-g.turn }()
	if err := k.Wait(ctx); err != nil {
		return nil, err
	}
	ctx = context.WithoutCancel(ctx)
	by := control.CallerOf(ctx)
	if err := k.Pin(req.Number, by, req.Reason); err != nil {
		return nil, err
	}
	left, done := g.engine.AskedBy(by)
	defer done()
	return g.reload(ctx, left)
}

// Release implements control.Kept.
func (k *keptGraphs) Release(ctx context.Context, resources ...string) (bool, error) {
	unpinned, err := false, error(nil)
	if len(resources) == 0 {
		unpinned, err = k.Unpin()
	}
	if err != nil {
		return false, err
	}
	some, err := k.Keeper.Release(func(id string) bool { return len(resources) == 0 || slices.Contains(resources, id) })
	if err != nil || !some && !unpinned {
		return false, err
	}
	v, err := k.input.Reload(ctx)
	if err == nil && v.Refused != "" {
		return true, &control.Error{Status: 409, Text: "what stood over the graph of the input has ended, and that graph was refused: " + v.Refused}
	}
	return true, err
}

// Undo implements control.Kept.
func (k *keptGraphs) Undo(ctx context.Context, req control.UndoRequest) (*control.UndoPlan, error) {
	if k.part.images == nil {
		return nil, &control.Error{Status: 404, Text: "this daemon keeps no earlier states", Hint: "set undo_size"}
	}
	w, err := k.wanted(ctx, req)
	if err != nil {
		return nil, err
	}
	plan, list := w.plan(k.part.d.set.Load().Kinds(), k.part.images)
	if req.DryRun || len(list) == 0 {
		return plan, nil
	}
	if graph := k.part.graph.Load(); graph != nil {
		past.Order(list, (*graph)())
	}
	g := k.input
	if err := g.take(ctx); err != nil {
		return nil, err
	}
	defer func() { <-g.turn }()
	ctx = context.WithoutCancel(ctx)
	by := control.CallerOf(ctx)
	if err := k.Hold(list, by, req.Reason); err != nil {
		return nil, err
	}
	left, done := g.engine.AskedBy(by)
	defer done()
	plan.Verdict, err = g.reload(ctx, left)
	return plan, err
}

// undoing is what is to be undone: the images of each resource, the oldest first, and the changes without any.
type undoing struct {
	images map[string][]images.Image
	bare   []string // resources that have changed, and of which there is no image
}

// wanted returns what a request is about.
func (k *keptGraphs) wanted(ctx context.Context, req control.UndoRequest) (*undoing, error) {
	w := &undoing{images: map[string][]images.Image{}}
	match, from := func(string) bool { return true }, time.Time{}
	if req.Resource != "" {
		sel, err := selection.Parse(req.Resource)
		if err != nil {
			return nil, &control.Error{Status: 400, Text: err.Error()}
		}
		if sel.Asks("module", "label", "state") {
			return nil, &control.Error{Status: 400, Text: "what was changed is known by kind and name alone", Hint: "select by these"}
		}
		match = func(id string) bool { return sel.Match(selection.Named(id)) }
	}
	if req.Since > 0 {
		from = clock.System{}.Now().Add(-time.Duration(req.Since * float64(time.Second)))
	}
	var run *control.Event
	changed := map[string]bool{}
	session := k.session()
	for entry, err := range k.input.engine.History().Query(ctx, journal.Query{Outcome: string(control.Changed), From: from}) {
		if err != nil {
			return nil, err
		}
		if req.Run != 0 {
			var e control.Event
			if json.Unmarshal(entry.Data, &e) == nil && e.Run == req.Run && e.Session == session {
				e.At, run = entry.At, &e
			}
			continue
		}
		if match(entry.Resource) {
			changed[entry.Resource] = true
		}
	}
	if req.Run != 0 {
		if run == nil {
			return nil, &control.Error{Status: 404, Text: fmt.Sprintf("no run %d of this daemon has changed something", req.Run), Hint: "mgmt log -o json has the numbers of runs"}
		}
		changed[run.Resource] = true
		match = func(id string) bool { return id == run.Resource }
	}
	for _, i := range k.part.images.Since(from) {
		if match(i.Resource) {
			w.images[i.Resource] = append(w.images[i.Resource], i)
		}
	}
	for id, list := range w.images {
		first := 0
		switch {
		case run != nil: // the last one before the end of the run, if that was made in it
			began := run.At.Add(-time.Duration(run.Seconds*float64(time.Second)) - time.Second)
			first = slices.IndexFunc(list, func(i images.Image) bool { return i.At.After(run.At) })
			if first < 0 {
				first = len(list)
			}
			if first--; first < 0 || list[first].At.Before(began) {
				delete(w.images, id)
				continue
			}
		case req.Since == 0:
			first = len(list) - 1
		}
		w.images[id] = list[first:]
	}
	for id := range changed {
		if len(w.images[id]) == 0 {
			w.bare = append(w.bare, id)
		}
	}
	return w, nil
}

// plan says what can be undone, and what can't.
func (w *undoing) plan(kinds *engine.Registry, from *images.Store) (*control.UndoPlan, []past.Held) {
	plan := &control.UndoPlan{Undo: []control.Undoing{}}
	var list []past.Held
	cannot := func(id, why string) { plan.Cannot = append(plan.Cannot, control.CantUndo{Resource: id, Why: why}) }
	for _, id := range slices.Sorted(maps.Keys(w.images)) {
		h, err := past.HeldOf(kinds, w.images[id], from.Content)
		if err != nil {
			cannot(id, err.Error())
			continue
		}
		list = append(list, *h)
		plan.Undo = append(plan.Undo, control.Undoing{Resource: id, Before: h.Before, Changes: len(w.images[id])})
	}
	for _, id := range slices.Sorted(slices.Values(w.bare)) {
		cannot(id, whyBare(kinds, id))
	}
	slices.SortStableFunc(plan.Cannot, func(a, b control.CantUndo) int { return strings.Compare(a.Resource, b.Resource) })
	return plan, list
}

// whyBare says why there is no state before a change.
func whyBare(kinds *engine.Registry, id string) string {
	ref, err := schema.ParseRef(id)
	if err != nil {
		return "its kind is not known"
	}
	k, err := kinds.Kind(ref.Kind)
	switch {
	case err != nil:
		return "its kind is not known any more"
	case ref.Kind == "exec":
		return "what a command has done is not known"
	case !k.Abilities.Reversible || !k.Abilities.Readable:
		return "the kind " + ref.Kind + " can't go back to an earlier state"
	}
	return "the state before the change was not kept, or is too old"
}
