package deploy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/world"
)

// Order is what an operator wants to deploy. The caller has checked the graph.
type Order struct {
	Store     string // the id of the store, as its record says
	Topic     string
	Content   []byte // the encoding of a Bundle, and its digest
	Digest    string
	Graphs    []string
	BackTo    int64 // the number of the old deploy, where the content is that of one
	Leaving   engine.Leaving
	By        string
	Time      time.Time
	Expires   time.Time // the zero time for never
	Batch     string
	MaxFailed int
	Takeover  bool // also where another deploy is under way
}

// Lead is a rollout that an operator leads.
type Lead struct {
	Manifest Manifest
	Rollout  Rollout
	Resumed  bool // it was under way, or stopped, and goes on
	Open     bool // the rollout is not to be done yet: the operator waits for hosts that are in no batch

	store    Store
	revision int64 // of the rollout
}

// Begin writes a deploy, and returns its rollout. Where the same content is under way or has stopped, that goes on. The
// error is of ErrBusy where another content is under way, or another operator was faster. It is of ErrRecord where the rollout
// cannot be read; an order that takes over replaces such a rollout.
func (s Store) Begin(ctx context.Context, key Key, o Order) (*Lead, error) {
	if _, err := ParseBatch(o.Batch); err != nil {
		return nil, err
	}
	if o.Store == "" {
		return nil, fmt.Errorf("%w: the order names no store", ErrStore)
	}
	now, revision, err := s.rollout(ctx, o.Topic)
	switch {
	case errors.Is(err, ErrRecord) && o.Takeover:
		now = Rollout{State: Done} // the hosts keep their graphs until their turn comes
	case errors.Is(err, ErrRecord):
		return nil, fmt.Errorf("%w; replace it with --take-over", err)
	case err != nil:
		return nil, err
	}
	if now.Number > 0 && now.State != Done {
		l, over, err := s.resume(ctx, key, o, now, revision)
		if l != nil || err != nil {
			return l, err
		}
		if now.State == Running && !o.Takeover && !over {
			return nil, fmt.Errorf("%w: number %d by %s; wait for it, or deploy with --take-over", ErrBusy, now.Number, now.By)
		}
	}
	last, err := s.highest(ctx, o.Topic, now.Number)
	if err != nil {
		return nil, err
	}
	if last >= maxNumber {
		return nil, fmt.Errorf("%w: the topic %s has one with the number %d, and no number is left: take another topic, or delete that record", ErrRecord, o.Topic, last)
	}
	m := Manifest{Store: o.Store, Topic: o.Topic, Number: last + 1, Digest: o.Digest, Size: len(o.Content), BackTo: o.BackTo, Graphs: o.Graphs, By: o.By, Time: o.Time.UTC(), Expires: o.Expires.UTC(), Leaving: o.Leaving}
	if m.Parts, err = s.PutContent(ctx, o.Topic, o.Digest, o.Content); err != nil {
		return nil, err
	}
	r := Rollout{Number: m.Number, Digest: m.Digest, Base: now.Number, State: Running, By: o.By, Batch: o.Batch, MaxFailed: o.MaxFailed}
	if now.State != Done {
		r.Base = now.Base // the hosts that the one before has not reached stay where they are
	}
	return s.write(ctx, key, m, r, revision)
}

// maxAhead is how far a report may be ahead of the store. A host that lies thus uses up few numbers.
const maxAhead = 1_000_000

// highest returns the highest number that a topic has had: of its rollout, its records and the reports of the hosts. A store that
// was made anew has none of its own, and hosts refuse a number that they have had with other files.
func (s Store) highest(ctx context.Context, topic string, last int64) (int64, error) {
	records, err := s.History(ctx, topic)
	if err != nil {
		return 0, err
	}
	for _, r := range records {
		last = max(last, r.Number)
	}
	reports, err := s.Reports(ctx)
	if err != nil {
		return 0, err
	}
	most := last + maxAhead
	for _, r := range reports {
		if n := r.Deploys[topic].Number; n <= most {
			last = max(last, n)
		}
	}
	return last, nil
}

// write writes the record and the rollout in one transaction.
func (s Store) write(ctx context.Context, key Key, m Manifest, r Rollout, revision int64) (*Lead, error) {
	record, err := key.Sign(m)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(record)
	if err != nil {
		return nil, err
	}
	rollout, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	at, ok, err := s.World.Txn(ctx,
		[]world.Compare{{Key: RolloutKey(m.Topic), Revision: revision}, {Key: recordKey(m.Topic, m.Number)}},
		[]world.Op{{Key: recordKey(m.Topic, m.Number), Value: text}, {Key: RolloutKey(m.Topic), Value: rollout}})
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("%w: it was faster; look at mgmt deploys", ErrBusy)
	}
	return &Lead{Manifest: m, Rollout: r, store: s, revision: at}, nil
}

// resume goes on with a rollout of the same content; it returns nil where a new number is due. That is so where the content
// is another one, where the record or a part of the files is missing or damaged, and where the deploy has expired: over tells that, since
// no further host accepts it then. A rollout that has stopped, or is taken over, goes on only under this operator's signature: the hosts
// may have refused the other key.
func (s Store) resume(ctx context.Context, key Key, o Order, now Rollout, revision int64) (l *Lead, over bool, err error) {
	record, err := s.Get(ctx, o.Topic, now.Number)
	if errors.Is(err, ErrRecord) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	m, err := record.Read()
	over = err == nil && m.Expired(o.Time)
	if now.State == Stopped || o.Takeover {
		m, err = record.Verify([]Public{key.Public()}, o.Topic, now.Number)
	}
	if err != nil || over || m.Store != o.Store || m.Digest != o.Digest || m.BackTo != o.BackTo || m.Leaving != o.Leaving {
		return nil, over, nil
	}
	if _, err := s.Content(ctx, m); errors.Is(err, ErrContent) {
		return nil, false, nil
	} else if err != nil {
		return nil, false, err
	}
	l = &Lead{Manifest: m, Rollout: now, Resumed: true, store: s, revision: revision}
	r := now
	r.State, r.Digest, r.By, r.Batch, r.MaxFailed = Running, m.Digest, o.By, o.Batch, o.MaxFailed
	return l, false, l.set(ctx, r)
}

// rollout returns the rollout of a topic, with its revision; both are zero where there is none.
func (s Store) rollout(ctx context.Context, topic string) (r Rollout, revision int64, err error) {
	kv, err := s.World.Get(ctx, RolloutKey(topic))
	if errors.Is(err, world.ErrNotFound) {
		return Rollout{State: Done}, 0, nil
	}
	if err != nil {
		return r, 0, err
	}
	r, err = ReadRollout(kv.Value)
	return r, kv.Revision, err
}

// Rollout returns the rollout of a topic; the zero number stands for none.
func (s Store) Rollout(ctx context.Context, topic string) (Rollout, error) {
	r, _, err := s.rollout(ctx, topic)
	return r, err
}

// set writes the rollout, if this operator still leads it.
func (l *Lead) set(ctx context.Context, r Rollout) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	key := RolloutKey(l.Manifest.Topic)
	at, ok, err := l.store.World.Txn(ctx, []world.Compare{{Key: key, Revision: l.revision}}, []world.Op{{Key: key, Value: text}})
	if err != nil {
		return err
	}
	if !ok {
		return ErrTaken
	}
	l.Rollout, l.revision = r, at
	return nil
}

// Step looks at the hosts once, and lets the next batch go where the last one has converged. moved says that the rollout
// is another one than before. members are the hosts of the topic with a lease, as Members returns them. Hosts in late have taken too long, and
// count as failed.
func (l *Lead) Step(ctx context.Context, members []string, reports []Report, late map[string]bool) (moved bool, err error) {
	if err := l.leads(ctx); err != nil {
		return false, err
	}
	standings := map[string]Standing{}
	for _, r := range reports {
		standings[r.Host] = r.Deploys[l.Manifest.Topic]
	}
	next, moved, err := l.Rollout.Next(members, standings, late)
	if err != nil || !moved || l.Open && next.State == Done {
		return false, err
	}
	return true, l.set(ctx, next)
}

// Members returns the hosts of a topic that are there and take deploys: that have a lease and a report. The operator's records say which
// topics a host has, and not its report.
func (f *Fleet) Members(topic string, live []string, reports []Report) (members []string) {
	for _, r := range reports {
		if f.Has(r.Host, topic) && slices.Contains(live, r.Host) {
			members = append(members, r.Host)
		}
	}
	return members
}

// Expected returns the hosts that should take the deploys of a topic, there or not: those with a record of the operator or a report, sorted.
func (f *Fleet) Expected(topic string, reports []Report) []string {
	names := slices.Collect(maps.Keys(f.Hosts))
	for _, r := range reports {
		names = append(names, r.Host)
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(host string) bool { return !f.Has(host, topic) })
}

// leads asks the store whether this operator still leads the rollout. The error is ErrTaken where that is not so.
func (l *Lead) leads(ctx context.Context) error {
	kv, err := l.store.World.Get(ctx, RolloutKey(l.Manifest.Topic))
	if errors.Is(err, world.ErrNotFound) || err == nil && kv.Revision != l.revision {
		return ErrTaken
	}
	return err
}

// Reports returns the reports of the hosts, sorted by their names. A report that cannot be read is left out: its host then counts
// as a host without the deploy.
func (s Store) Reports(ctx context.Context) (list []Report, err error) {
	kvs, err := s.list(ctx, tableDeployed)
	for _, kv := range kvs {
		var r Report
		if json.Unmarshal(kv.Value, &r) == nil && ReportKey(r.Host) == kv.Key {
			list = append(list, r)
		}
	}
	return list, err
}
