package storetest_test

import (
	"context"
	"errors"
	"iter"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/reactivegraph/mgmt/engine/journal/storetest"
	"github.com/reactivegraph/mgmt/engine/records"
)

// plain is the least store that keeps every law.
type plain struct {
	mu     sync.Mutex
	tables map[string]map[string]string
}

func (p *plain) Records(ctx context.Context, table string) iter.Seq2[records.Record, error] {
	return func(yield func(records.Record, error) bool) {
		p.mu.Lock()
		recs := maps.Clone(p.tables[table])
		p.mu.Unlock()
		for _, key := range slices.Sorted(maps.Keys(recs)) {
			if err := ctx.Err(); err != nil {
				yield(records.Record{}, err)
				return
			}
			if !yield(records.Record{Key: key, Value: []byte(recs[key])}, nil) {
				return
			}
		}
	}
}

func (p *plain) Commit(ctx context.Context, writes []records.Write) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range writes {
		if w.Table == "" || w.Key == "" {
			return errors.New("a write without a table or a key")
		}
	}
	for _, w := range writes {
		if p.tables[w.Table] == nil {
			p.tables[w.Table] = map[string]string{}
		}
		if p.tables[w.Table][w.Key] = string(w.Value); w.Value == nil {
			delete(p.tables[w.Table], w.Key)
		}
	}
	return nil
}

// TestPlain: a store of forty lines passes, so the suite asks for no more than its laws.
func TestPlain(t *testing.T) {
	storetest.Run(t, storetest.Backend{Open: func(*testing.T) records.Store {
		return &plain{tables: map[string]map[string]string{}}
	}})
}

// faults are stores with one fault each, by the law of the suite that finds it.
var faults = map[string]func(records.Store) records.Store{
	"records": func(s records.Store) records.Store { return backwards{s} },
	"order":   func(s records.Store) records.Store { return reordered{s} },
	"refused": func(s records.Store) records.Store { return deaf{s} },
	"moment":  func(s records.Store) records.Store { return late{s} },
}

// backwards yields the records in the wrong order.
type backwards struct{ records.Store }

func (b backwards) Records(ctx context.Context, table string) iter.Seq2[records.Record, error] {
	return func(yield func(records.Record, error) bool) {
		var list []records.Record
		for r, err := range b.Store.Records(ctx, table) {
			if err != nil {
				yield(r, err)
				return
			}
			list = append(list, r)
		}
		for _, r := range slices.Backward(list) {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// reordered does the writes of a commit from the last to the first.
type reordered struct{ records.Store }

func (o reordered) Commit(ctx context.Context, writes []records.Write) error {
	writes = slices.Clone(writes)
	slices.Reverse(writes)
	return o.Store.Commit(ctx, writes)
}

// deaf does not hear that its context has ended.
type deaf struct{ records.Store }

func (d deaf) Commit(ctx context.Context, writes []records.Write) error {
	return d.Store.Commit(context.WithoutCancel(ctx), writes)
}

// late reads each record when the reader comes to it, and not when Records begins.
type late struct{ records.Store }

func (l late) Records(ctx context.Context, table string) iter.Seq2[records.Record, error] {
	return func(yield func(records.Record, error) bool) {
		for last := ""; ; {
			var next *records.Record
			for r, err := range l.Store.Records(ctx, table) {
				if err != nil {
					yield(r, err)
					return
				}
				if r.Key > last {
					next = &r
					break
				}
			}
			if next == nil || !yield(*next, nil) {
				return
			}
			last = next.Key
		}
	}
}

// TestSuiteFindsFaults: a store with a fault fails the suite, at the law that it breaks. The
// suite runs in a process of its own, since a failing test can not be taken back.
func TestSuiteFindsFaults(t *testing.T) {
	if law := os.Getenv("STORETEST_FAULT"); law != "" {
		storetest.Run(t, storetest.Backend{Open: func(*testing.T) records.Store { return faults[law](&plain{tables: map[string]map[string]string{}}) }})
		return
	}
	for law := range faults {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSuiteFindsFaults$")
		cmd.Env = append(os.Environ(), "STORETEST_FAULT="+law)
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "--- FAIL: TestSuiteFindsFaults/"+law) {
			t.Errorf("a store that breaks the law %s passes: %v\n%s", law, err, out)
		}
	}
}
