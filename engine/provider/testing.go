package provider

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"

	"github.com/reactivegraph/mgmt/engine"
)

// This file is for tests of providers, above all for package providertest: it does
// the steps of the controller one by one.

// WithPoll sets how often things are read to see changes, whatever the definition says,
// and however short that is.
func WithPoll(every Interval) Option { return func(k *Kind) { k.def.Poll = every } }

// Runtime returns the Runtime of a provider for a call. Its messages go to the sink,
// without the secrets of the changes. changes are those of a Set or Refresh, nil for
// every other call.
func (k *Kind) Runtime(h engine.Host, sink func(Event), changes []Change) *Runtime {
	var titles []string
	noop := false
	for _, c := range changes {
		titles, noop = append(titles, c.Title), c.Noop
	}
	log := NewLogger(LogOptions{Type: k.def.Name, Titles: titles, Noop: noop, Sink: sink, Secret: k.hides})
	log.learnAll(changes)
	return &Runtime{Type: k, Noop: noop, Log: log, Host: h, slog: slog.New(slog.DiscardHandler)}
}

// Wanted returns the wanted values of a resource of the kind, before their
// canonical form. The error is that of Validate.
func (k *Kind) Wanted(r engine.Res) (Record, error) {
	of := resOf(r)
	if of == nil || of.kind != k {
		return nil, fmt.Errorf("%s is none of this kind", r)
	}
	w, err := k.wanted(of)
	if err != nil {
		return nil, err
	}
	return w.record.Clone(), nil
}

// Canonical returns the canonical form of the wanted values, with its name, checked as
// it is in a transaction. Without the feature canonicalize that is what is wanted.
func (k *Kind) Canonical(ctx context.Context, rt *Runtime, p Provider, wanted Record) (Record, Name, error) {
	f := k.canonical(ctx, rt, p, []*member{{want: &want{record: wanted, name: k.nameOf(wanted)}}})[0]
	if f.err != nil {
		return nil, Name{}, f.err
	}
	return f.want.record.Clone(), f.want.name, nil
}

// Inspect checks a record of Get or Find, and returns it as resources see it, nil for an absent thing,
// with its name. The error joins all that is wrong with it, however strict the kind is.
func (k *Kind) Inspect(rec Record) (Record, Name, error) {
	n, err := k.identify(rec)
	if err != nil {
		return nil, Name{}, err
	}
	rec = k.wrap(rec.Clone())
	if rec[ensureKey] == absent {
		return nil, n, nil
	}
	return rec, n, k.checkRecord(rec)
}

// Differing returns an attribute in which a thing is not as wanted, as resources
// compare them: nil is a thing that is absent. The error is that of an InSyncer, or of
// an attribute that can't be set any more.
func (k *Kind) Differing(ctx context.Context, rt *Runtime, p Provider, n Name, wanted, is Record) (string, error) {
	j := &job{res: &res{init: new(engine.Init)}, name: n, should: wanted, quiet: true} // of this machine
	if err := k.compare(ctx, rt, p, j, &entry{record: is}); err != nil {
		return "", err
	}
	if len(j.diffs) == 0 {
		return "", nil
	}
	return cmp.Or(j.diffs[0], k.def.Name), nil
}

// Altered returns an error if a provider has altered its changes; before are copies
// of them.
func Altered(before, after []Change) error {
	given := byTitle(after)
	for i := range before {
		if what, yes := altered(before[i], given[before[i].Title]); yes {
			return fmt.Errorf("what was given for %q was altered: %s", before[i].Title, what)
		}
	}
	return nil
}
