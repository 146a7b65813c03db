package undo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/lifecycle"
	"github.com/reactivegraph/mgmt/engine/records"
	"github.com/reactivegraph/mgmt/engine/reversal"
)

// Store is what a reactor has kept. It is safe for concurrent use. The zero Store is empty.
type Store struct {
	mu   sync.Mutex
	kept map[string]kept
}

// kept is the knowledge of one kept reversal.
type kept struct {
	can    bool             // it can be undone
	wanted *reversal.Wanted // without what was declared; nil where later edits are not followed

	// The vertex that was seen last to want just that, and the values that it had received.
	by   engine.Res
	with *map[string]*engine.Send
}

// Recall reads for which ids an earlier process has kept something. A record that can't be
// read is left alone, and never replaced.
func (u *Store) Recall(ctx context.Context, from records.Store) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.kept = map[string]kept{}
	for rec, err := range from.Records(ctx, reversal.Table) {
		if err != nil {
			return fmt.Errorf("what was kept for reverse: %w", err)
		}
		rev, err := reversal.Decode(rec)
		u.kept[rec.Key] = kept{can: err != nil || rev.Why == ""}
	}
	for rec, err := range from.Records(ctx, reversal.TableWanted) {
		if err != nil {
			return fmt.Errorf("what was kept for reverse: %w", err)
		}
		if w, err := reversal.DecodeWanted(rec); err == nil && u.kept[rec.Key].can {
			w.Declared = nil
			u.kept[rec.Key] = kept{can: true, wanted: w}
		}
	}
	return nil
}

// Has reports whether something is kept for an id.
func (u *Store) Has(id string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	_, ok := u.kept[id]
	return ok
}

// Wants reports whether something has to be kept before the vertex of an id is altered: the state of
// the machine before the first change, and later the parameters if they are new. The received
// values are told apart by their pointer.
func (u *Store) Wants(id string, res engine.Res, received *map[string]*engine.Send) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	k, ok := u.kept[id]
	switch {
	case !ok:
		return true
	case k.wanted == nil || k.by == res && k.with == received:
		return false
	}
	if w, err := reversal.WantedOf(res, nil, nil); err == nil && w.Print != k.wanted.Print {
		return true
	}
	k.by, k.with = res, received
	u.kept[id] = k
	return false
}

// Subject is a vertex that is about to be altered.
type Subject struct {
	ID     string
	Res    engine.Res
	Secret []string            // its parameters that must not be shown
	Clean  func(string) string // takes the secrets out of a text
	At     Place               // where it stands
}

// Step is what has to be written before a vertex is altered.
type Step struct {
	Writes []records.Write
	Why    string // why it can't be undone

	later bool // something is kept already, and this is about a later edit
	id    string
	kept  kept
}

// Warning is the message for the log of a step with a Why.
func (s *Step) Warning() string {
	if s.later {
		return "what it does from now on can't be undone when it leaves the graph, though reverse: true asks for it"
	}
	return "this can't be undone when it leaves the graph, though reverse: true asks for it"
}

// NotWritten is the error of a step whose writes the store has refused.
func (s *Step) NotWritten(err error) error {
	if s.later {
		return fmt.Errorf("what it wants now cannot be recorded for reverse, so nothing was changed: %w", err)
	}
	return fmt.Errorf("what is there before the first change cannot be recorded, so nothing was changed: %w", err)
}

// Keep returns the records to write before a vertex is altered, for which Wants is true. On an
// error it must not be altered. Kept is called once the writes are durable.
func (u *Store) Keep(ctx context.Context, s *Subject) (*Step, error) {
	u.mu.Lock()
	k, ok := u.kept[s.ID]
	u.mu.Unlock()
	if ok {
		return s.later(k.wanted), nil
	}
	return s.first(ctx, u)
}

// Kept says that the writes of a step are durable.
func (u *Store) Kept(s *Step) { u.put(s.id, s.kept) }

// later keeps the new parameters of the vertex together with the old ones. Where these can't be
// kept, only the old ones are undone.
func (s *Subject) later(before *reversal.Wanted) *Step {
	step := &Step{id: s.ID, later: true, kept: kept{can: true}}
	w, write, err := s.wanted(before)
	if err != nil {
		step.Why = s.Clean(err.Error())
		return step
	}
	w.Declared = nil
	step.Writes, step.kept.wanted = []records.Write{write}, w
	return step
}

// wanted returns what the vertex wants now, and what keeps it.
func (s *Subject) wanted(before *reversal.Wanted) (*reversal.Wanted, records.Write, error) {
	w, err := reversal.WantedOf(s.Res, s.Secret, before)
	if err != nil {
		return nil, records.Write{}, err
	}
	if w.Thing != before.Thing {
		return nil, records.Write{}, errors.New("it is about another thing than before")
	}
	write, err := w.Write(s.ID)
	return w, write, err
}

func (u *Store) put(id string, k kept) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.kept[id] = k
}

// first keeps the state of the machine, the parameters of the vertex, and its place in the
// graph.
func (s *Subject) first(ctx context.Context, u *Store) (*Step, error) {
	rev := &reversal.Reversal{Kind: s.Res.Kind(), Name: s.Res.Name()}
	rev.After, rev.Before = s.At.After, s.At.Before
	was, err := lifecycle.Read(ctx, s.Res)
	if err != nil {
		return nil, fmt.Errorf("cannot look at what is there before the first change, so nothing was changed: %w", err)
	}
	writes, w, err := s.image(rev, was)
	if err != nil {
		rev.Why = s.Clean(err.Error())
		if writes, err = rev.Writes(nil); err != nil {
			return nil, err
		}
	}
	return &Step{Writes: writes, Why: rev.Why, id: s.ID, kept: kept{can: rev.Why == "", wanted: w}}, nil
}

// image returns the state to write, after a trial of undoing it.
func (s *Subject) image(rev *reversal.Reversal, was engine.Res) ([]records.Write, *reversal.Wanted, error) {
	img, err := reversal.Take(s.Res, was, s.Secret)
	if err != nil {
		return nil, nil, err
	}
	w, err := reversal.WantedOf(s.Res, s.Secret, nil)
	if err != nil {
		return nil, nil, err
	}
	first, err := w.Write(s.ID)
	if err != nil {
		return nil, nil, err
	}
	empty := func(kind string) (engine.Res, error) {
		res := s.Res.Default()
		if res == nil {
			return nil, fmt.Errorf("a %s has no Default", kind)
		}
		return res, nil
	}
	if _, err := lifecycle.Undo(img, rev, empty, false); err != nil {
		return nil, nil, err
	}
	writes, err := rev.Writes(img)
	if err != nil {
		return nil, nil, err
	}
	return append(writes, first), w, nil
}

// Over returns the records to write with the success of a vertex that is a reversal, or is not
// to be reversed any more: nothing is kept for it. Forget is called when that is durable.
func (u *Store) Over(id string) []records.Write {
	if !u.Has(id) {
		return nil
	}
	return reversal.Forget(id)
}

// Forget says that nothing is kept for an id any more.
func (u *Store) Forget(id string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.kept, id)
}

// Prune returns the records to write to forget the vertices that can't be undone and are not
// there: nothing is left to do for them. Forget is called with each key when that is durable.
func (u *Store) Prune(there func(id string) bool) (writes []records.Write) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(u.kept)) {
		if !u.kept[id].can && !there(id) {
			writes = append(writes, reversal.Forget(id)...)
		}
	}
	return writes
}
