package modeltest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/world"
)

// Config says what the scenarios run on.
type Config struct {
	Stores []NamedStore
	Worlds []NamedWorld
	// Database leaves out the scenarios that touch no World. The package of a World sets it: the others say nothing about
	// that World.
	Database bool
}

// NamedStore makes empty stores.
type NamedStore struct {
	Name string
	New  func() model.Store
}

// NamedWorld opens empty Worlds. The runner closes them.
type NamedWorld struct {
	Name string
	Open func() (world.World, error)
}

// runner plays one scenario.
// One store, one World and one registry belong to one run, so no run sees another.
type runner struct {
	ctx    context.Context // of the test
	s      *scenario
	reg    *model.Registry
	models *models
	store  *countedStore
	world  *countedWorld
	nb     *model.NB
	sync   *model.Sync    // for the steps sync
	copy   *model.Replica // for the steps ctl
	faulty *paper         // the scenario on paper, where it recommends something
	sound  *paper

	events  *model.Events
	subs    map[string]func() // how to end a subscription
	calls   [][]any           // entries of hooks, subscribers and the comparison
	vars    map[string]*model.Object
	views   map[string]*model.View // of the variables, with the targets that they have fetched
	put     map[string]bool        // variables that the store has had
	seen    int64                  // the revision up to which published was asked for
	written int64                  // the same for writes
}

// countedWorld counts the reads of records.
type countedWorld struct {
	world.World
	reads atomic.Int64
}

// Get counts.
func (w *countedWorld) Get(ctx context.Context, key string) (world.KV, error) {
	if strings.HasPrefix(key, "m/") {
		w.reads.Add(1)
	}
	return w.World.Get(ctx, key)
}

// countedStore counts the questions by id.
type countedStore struct {
	model.Store
	fetches int
}

// Get counts.
func (s *countedStore) Get(ctx context.Context, m *model.Model, id string) (*model.Object, error) {
	s.fetches++
	return s.Store.Get(ctx, m, id)
}

// play runs a scenario, and returns the first step whose outcome is not the expected one.
func play(ctx context.Context, s *scenario, c Config, store NamedStore, world NamedWorld) error {
	w, err := world.Open()
	if err != nil {
		return err
	}
	defer func() { _ = w.Close() }()
	r := &runner{
		ctx: ctx, s: s, reg: model.NewRegistry(nil), store: &countedStore{Store: store.New()}, world: &countedWorld{World: w},
		events: &model.Events{}, subs: map[string]func(){}, vars: map[string]*model.Object{}, views: map[string]*model.View{}, put: map[string]bool{},
	}
	r.models = &models{defs: s.Models, made: map[string]*model.Model{}, log: func(entry ...any) { r.calls = append(r.calls, entry) }}
	if err := r.define(); err != nil {
		return fmt.Errorf("the models: %w", err)
	}
	r.nb = model.Open(r.world, r.reg, model.Options{})
	r.copy = &model.Replica{Store: r.store, Source: r.nb, Reg: r.reg, Events: r.events}
	r.sync = &model.Sync{NB: r.nb, Store: r.store, All: s.Selective != nil && !*s.Selective, Update: r.synced, Delete: r.dropped}
	r.faulty, r.sound = newPaper(r, true), newPaper(r, false)
	return r.steps()
}

// define registers the models that are neither deferred nor without a table.
func (r *runner) define() error {
	for _, name := range r.models.order() {
		def := r.s.Models[name]
		if def.Deferred {
			continue
		}
		m, err := r.models.get(name)
		if err != nil {
			return err
		}
		if m.FirstClass() && (def.Register == nil || *def.Register) {
			if err := r.reg.Add(m); err != nil {
				return err
			}
		}
	}
	return nil
}

// synced logs an object that should be there, and keeps it.
func (r *runner) synced(_ context.Context, o *model.Object) error {
	r.calls = append(r.calls, []any{"update", o.ID()})
	return r.store.Put(o)
}

// dropped logs an object that should not be there, and forgets it.
func (r *runner) dropped(_ context.Context, o *model.Object) error {
	r.calls = append(r.calls, []any{"delete", o.ID()})
	r.store.Delete(o.Model(), o.ID(), 0)
	return nil
}

// steps runs all steps.
func (r *runner) steps() error {
	all := r.operations()
	for i, step := range r.s.Steps {
		do := all[asText(step["op"])]
		if do == nil {
			return fmt.Errorf("step %d: the format has no operation %q", i, step["op"])
		}
		want := r.wanted(step)
		got, err := do(step)
		if problem := compare(want, got, err, step["unordered"] == true); problem != nil {
			return fmt.Errorf("step %d %s: %w", i, text(step), problem)
		}
	}
	return nil
}

// compare returns how an outcome differs from the expected one.
func compare(want map[string]any, got map[string]any, err error, unordered bool) error {
	if code, ok := want["error"]; ok {
		if err == nil {
			return fmt.Errorf("no error, but %v", got)
		}
		if have := string(model.CodeOf(err)); have != code {
			return fmt.Errorf("the error %s (%w)", have, err)
		}
		return nil
	}
	if err != nil {
		return err
	}
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if key == "ok" && want[key] == true {
			continue
		}
		have, there := got[key]
		w := norm(want[key])
		h := norm(have)
		if unordered {
			w, h = sortedList(w), sortedList(h)
		}
		if !there || !reflect.DeepEqual(w, h) && !(key == "calls" && sameCalls(w, h)) {
			errs = append(errs, fmt.Errorf("%s is %s, want %s", key, text(h), text(w)))
		}
	}
	return errors.Join(errs...)
}

// norm brings a value into the form of encoding/json with float64, so that an int64 of Go equals a number of the file.
func norm(v any) any {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	var out any
	_ = json.Unmarshal(b, &out)
	return out
}

// text writes a value for a message.
func text(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}

// sortedList sorts a list by the text of its items; another value stays.
func sortedList(v any) any {
	list, ok := v.([]any)
	if !ok {
		return v
	}
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b any) int { return strings.Compare(text(a), text(b)) })
	return list
}

// sameCalls compares calls. A hook may log a value of the original object. The format leaves open how the entry names
// that value, so the last element alone counts.
func sameCalls(want, have any) bool {
	w, ok1 := want.([]any)
	h, ok2 := have.([]any)
	if !ok1 || !ok2 || len(w) != len(h) {
		return false
	}
	for i := range w {
		a, _ := w[i].([]any)
		b, _ := h[i].([]any)
		if reflect.DeepEqual(a, b) {
			continue
		}
		if len(a) == 0 || len(b) != 2 || b[0] != "orig" || !reflect.DeepEqual(a[len(a)-1], b[1]) {
			return false
		}
	}
	return true
}
