package reactor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/values"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// undoing keeps what undoes the vertices with the metaparameter reverse: for
// each id one engine.Reversal and its image, from before the first change until
// the reversal has succeeded, over swaps and restarts. It is safe for concurrent
// use, and knows of each id whether there is something, so that a run that has
// nothing to keep costs one look.
type undoing struct {
	store engine.Store

	mu   sync.Mutex
	kept map[string]kept
}

// kept is what is known of something that is kept.
type kept struct {
	can    bool           // it can be undone
	wanted *engine.Wanted // without what was declared; nil where later edits are not followed

	// Who was seen last to want just that, and with which values received.
	by   engine.Res
	with *map[string]*engine.Send
}

// recall reads for which ids an earlier process has kept something. What can't be
// read is left alone, and never replaced: the first image is the true one.
func (u *undoing) recall(ctx context.Context) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.kept = map[string]kept{}
	for rec, err := range u.store.Records(ctx, engine.TableReversal) {
		if err != nil {
			return fmt.Errorf("what was kept for reverse: %w", err)
		}
		rev, err := engine.DecodeReversal(rec)
		u.kept[rec.Key] = kept{can: err != nil || rev.Why == ""}
	}
	for rec, err := range u.store.Records(ctx, engine.TableWanted) {
		if err != nil {
			return fmt.Errorf("what was kept for reverse: %w", err)
		}
		if w, err := engine.DecodeWanted(rec); err == nil && u.kept[rec.Key].can {
			w.Declared = nil
			u.kept[rec.Key] = kept{can: true, wanted: w}
		}
	}
	return nil
}

func (u *undoing) has(id string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	_, ok := u.kept[id]
	return ok
}

// wants reports whether something has to be kept before v is altered: what is there
// before the first change, and what it wants where that is not what it wanted before.
// It is called by the run of v.
func (u *undoing) wants(v *vertex) bool {
	if !v.meta.Reverse || !v.abil.Reversible || !v.abil.Readable {
		return false
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	k, ok := u.kept[v.id]
	received := v.wired().Received()
	switch {
	case !ok:
		return true
	case k.wanted == nil || k.by == v.res && k.with == received:
		return false
	}
	if w, err := engine.WantedOf(v.res, nil, nil); err == nil && w.Print != k.wanted.Print {
		return true
	}
	k.by, k.with = v.res, received
	u.kept[v.id] = k
	return false
}

// keep makes durable what has to be kept before v is altered.
func (u *undoing) keep(ctx context.Context, v *vertex) error {
	u.mu.Lock()
	k, ok := u.kept[v.id]
	u.mu.Unlock()
	if ok {
		return u.follow(ctx, v, k)
	}
	return u.first(ctx, v)
}

// follow makes durable what v wants now, beside what it wanted before. Where that can't
// be kept, what it wanted up to now is undone, and a warning says so.
func (u *undoing) follow(ctx context.Context, v *vertex, k kept) error {
	w, write, err := later(v, k.wanted)
	if err != nil {
		v.r.log.Warn("what it does from now on can't be undone when it leaves the graph, though reverse: true asks for it",
			slog.String("resource", v.id), slog.String("reason", v.cleanText(err.Error())))
		u.put(v.id, kept{can: true})
		return nil
	}
	if err := v.r.commit(ctx, v, []engine.Write{write}); err != nil {
		return fmt.Errorf("what it wants now cannot be recorded for reverse, so nothing was changed: %w", err)
	}
	w.Declared = nil
	u.put(v.id, kept{can: true, wanted: w})
	return nil
}

// later returns what v wants now, and what keeps it.
func later(v *vertex, before *engine.Wanted) (*engine.Wanted, engine.Write, error) {
	w, err := engine.WantedOf(v.res, v.secretFields(), before)
	if err != nil {
		return nil, engine.Write{}, err
	}
	if w.Thing != before.Thing {
		return nil, engine.Write{}, errors.New("it is about another thing than before")
	}
	write, err := w.Write(v.id)
	return w, write, err
}

func (u *undoing) put(id string, k kept) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.kept[id] = k
}

// first makes durable what is there now, what v wants, and where it stands in its
// graph. What can't be undone is kept as that, so that nobody takes our own work for
// what was there before.
func (u *undoing) first(ctx context.Context, v *vertex) error {
	rev := &engine.Reversal{Kind: v.res.Kind(), Name: v.res.Name()}
	rev.After, rev.Before = v.job.stand.neighbours(u)
	var was engine.Res
	err := protect("Read", func() (err error) {
		was, err = v.res.(engine.Readable).Read(ctx)
		return err
	})
	if err != nil {
		return fmt.Errorf("cannot look at what is there before the first change, so nothing was changed: %w", err)
	}
	writes, w, err := image(v, rev, was)
	if err != nil {
		rev.Why = v.cleanText(err.Error())
		v.r.log.Warn("this can't be undone when it leaves the graph, though reverse: true asks for it",
			slog.String("resource", v.id), slog.String("reason", rev.Why))
		if writes, err = rev.Writes(nil); err != nil {
			return err
		}
	}
	if err := v.r.commit(ctx, v, writes); err != nil {
		return fmt.Errorf("what is there before the first change cannot be recorded, so nothing was changed: %w", err)
	}
	u.put(v.id, kept{can: rev.Why == "", wanted: w})
	return nil
}

// image returns what has to be written, after undoing it in thought.
func image(v *vertex, rev *engine.Reversal, was engine.Res) ([]engine.Write, *engine.Wanted, error) {
	secret := v.secretFields()
	img, err := engine.Take(v.res, was, secret)
	if err != nil {
		return nil, nil, err
	}
	w, err := engine.WantedOf(v.res, secret, nil)
	if err != nil {
		return nil, nil, err
	}
	first, err := w.Write(v.id)
	if err != nil {
		return nil, nil, err
	}
	empty := func(kind string) (engine.Res, error) {
		res := v.res.Default()
		if res == nil {
			return nil, fmt.Errorf("a %s has no Default", kind)
		}
		return res, nil
	}
	if _, err := img.Undo(empty, rev, false); err != nil {
		return nil, nil, err
	}
	writes, err := rev.Writes(img)
	if err != nil {
		return nil, nil, err
	}
	return append(writes, first), w, nil
}

// secretFields returns the parameters that must not be shown though their type
// is plain: those that were received so, and those whose values the check has
// hidden.
func (v *vertex) secretFields() []string {
	fields := map[string]bool{}
	for key, s := range v.recvMap() {
		if s.Secret {
			fields[key] = true
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, c := range v.changes {
		_, from := c.From.(schema.Secret)
		_, to := c.To.(schema.Secret)
		if from || to {
			fields[c.Field] = true
		}
	}
	return slices.Sorted(maps.Keys(fields))
}

// hide keeps parameters from being shown whose type is plain, as if they had been
// received from a secret.
func (v *vertex) hide(fields []string) {
	if len(fields) == 0 {
		return
	}
	v.wiring().Mark(v.id, fields)
	for _, f := range fields {
		if x, err := schema.Get(v.res, f); err == nil {
			values.EachText(x, func(s string, _ bool) { v.guard(s) })
		}
	}
}

// over returns what has to be written with the success of v: nothing is kept any
// more if it is a reversal, or is no longer to be reversed. settled is called when
// that is durable.
func (u *undoing) over(v *vertex) []engine.Write {
	if v.meta.Reverse || !u.has(v.id) || !v.undone() {
		return nil
	}
	return engine.ForgetReversal(v.id)
}

func (u *undoing) settled(v *vertex) {
	if !v.meta.Reverse && v.undone() {
		u.forgotten(v.id)
	}
}

func (u *undoing) forgotten(id string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.kept, id)
}

// prune forgets those that can't be undone and are not in the graph that has
// taken effect: there is nothing left to do for them.
func (u *undoing) prune(ctx context.Context, g *engine.Graph) error {
	var writes []engine.Write
	u.mu.Lock()
	for _, id := range slices.Sorted(maps.Keys(u.kept)) {
		if _, ok := g.Index(id); !ok && !u.kept[id].can {
			writes = append(writes, engine.ForgetReversal(id)...)
		}
	}
	u.mu.Unlock()
	if len(writes) == 0 {
		return nil
	}
	if err := u.store.Commit(ctx, writes); err != nil {
		return fmt.Errorf("cannot forget what can't be undone: %w", err)
	}
	for _, w := range writes {
		u.forgotten(w.Key)
	}
	return nil
}

// maxNeighbours bounds how many ids a reversal names on each side.
const maxNeighbours = 1000

// standing is where a vertex stands in the graph that it runs in. The run that
// gets it only reads what does not change any more.
type standing struct {
	g   *engine.Graph
	all []*vertex // by index of g
	at  int
}

// neighbours returns the ids that the vertex comes after and before: the near ones
// first, and beyond those of which nothing is kept, or will be. They are sorted.
func (s standing) neighbours(u *undoing) (after, before []string) {
	if s.g == nil {
		return nil, nil
	}
	after = s.spread(s.g.Pred, func(v *vertex) bool { return !u.has(v.id) })
	before = s.spread(s.g.Succ, func(v *vertex) bool { return !v.meta.Reverse })
	return after, before
}

func (s standing) spread(row func(int) []int32, beyond func(*vertex) bool) []string {
	var ids []string
	seen := map[int32]bool{int32(s.at): true}
	queue := []int32{int32(s.at)}
	for n := 0; n < len(queue) && len(ids) < maxNeighbours; n++ {
		for _, i := range row(int(queue[n])) {
			if seen[i] || len(ids) == maxNeighbours {
				continue
			}
			seen[i] = true
			ids = append(ids, s.all[i].id)
			if beyond(s.all[i]) {
				queue = append(queue, i)
			}
		}
	}
	slices.Sort(ids)
	return ids
}
