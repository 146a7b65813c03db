package worldtest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/memory"
)

// Same plays random operations on a World in memory and on Worlds of open, and fails
// where they answer differently. The Worlds of open are empty and new for each run.
// Revisions are compared as their distance from the first one. Same closes the Worlds.
// A failure is shrunk by rapid to the shortest run of steps that still fails.
func Same(t *testing.T, open func(t *testing.T) world.World) {
	t.Helper()
	rapid.Check(t, func(rt *rapid.T) {
		all := []*player{{t: t, name: "memory", w: memory.New()}, {t: t, name: "the other", w: open(t)}}
		for _, p := range all {
			defer p.w.Close()
			// A cluster that other tests use has a revision above 0, so each World
			// counts from its own.
			p.start = p.state(world.ListOptions{}).Revision
		}
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			s := drawStep(rt)
			want := all[0].play(s)
			for _, p := range all[1:] {
				if got := p.play(s); got != want {
					rt.Fatalf("%+v: %s answers %s\n%s answers %s", s, all[0].name, want, p.name, got)
				}
			}
		}
		// The steps have compared the present content. The history shows whether each
		// World told the same changes on the way.
		want := all[0].history()
		for _, p := range all[1:] {
			if got := p.history(); got != want {
				rt.Fatalf("the history of %s: %s\nof %s: %s", all[0].name, want, p.name, got)
			}
		}
	})
}

// Memory returns an empty World in memory that remembers so many changes. A test compares another World with it; the caller closes it.
func Memory(history int) world.World { return memory.New(memory.WithHistory(history)) }

// step is one operation on all Worlds. A failure prints it whole.
type step struct {
	Do      string
	Ops     []stepOp
	Compare []stepOp // Key, and At
	Limit   int
}

// stepOp is one operation or one comparison of a step; a step uses the fields that it
// needs. Lease is an index into the leases of the run; a negative one, or one too
// great, is none.
type stepOp struct {
	Key    string
	Value  string
	Delete bool
	Lease  int // index into the leases, -1 for none
	At     int // the expectation of a comparison: 0 absent, 1 as it is, 2 another revision
}

// drawStep draws from few keys, values and leases, so that the steps of a run meet each
// other. The keys are neighbours in the order of bytes. They show a store that splits
// keys at a slash, or ends them with a zero byte. Half of the possible indexes of a
// lease are negative, so that leases do not hold every key.
func drawStep(t *rapid.T) step {
	op := rapid.Custom(func(t *rapid.T) stepOp {
		return stepOp{
			Key:    rapid.SampledFrom([]string{"a", "a/", "a/b", "a\x00", "b", "c"}).Draw(t, "key"),
			Value:  rapid.SampledFrom([]string{"", "1", "2"}).Draw(t, "value"),
			Delete: rapid.Bool().Draw(t, "delete"), Lease: rapid.IntRange(-3, 2).Draw(t, "lease"),
			At: rapid.IntRange(0, 3).Draw(t, "at"),
		}
	})
	return step{
		Do:      rapid.SampledFrom([]string{"txn", "txn", "txn", "txn", "lease", "revoke", "pages"}).Draw(t, "do"),
		Ops:     rapid.SliceOfN(op, 0, 5).Draw(t, "ops"),
		Compare: rapid.SliceOfN(op, 0, 2).Draw(t, "compare"),
		Limit:   rapid.IntRange(1, 3).Draw(t, "limit"),
	}
}

// player plays steps on one World, and writes each answer as a text that two Worlds
// share. Revisions count from start, and leases go by their number.
type player struct {
	t      *testing.T
	name   string
	w      world.World
	start  int64
	leases []world.Lease
}

// play does one step and returns the answer as a text. Of an error only its class is in
// the text, because each store words its errors itself.
func (p *player) play(s step) string {
	ctx := p.t.Context()
	switch s.Do {
	case "lease":
		l, err := p.w.Lease(ctx, leaseTime)
		if err == nil {
			p.leases = append(p.leases, l)
		}
		return class(err)
	case "revoke":
		if len(p.leases) == 0 {
			return ""
		}
		return class(p.leases[s.Limit%len(p.leases)].Revoke(ctx)) + p.text(p.state(world.ListOptions{}))
	case "pages":
		return p.pages(s.Limit)
	}
	rev, ok, err := p.w.Txn(ctx, p.compares(s), p.ops(s))
	if err != nil {
		return class(err)
	}
	// The state follows even where the comparisons did not hold: a World must not have
	// written then.
	return fmt.Sprint(rev-p.start, ok, p.text(p.state(world.ListOptions{})))
}

// leaseTime is longer than any test: no lease ends by time here, since the stores measure
// time differently.
const leaseTime = 1 << 42

// ops are the operations of a step. A lease that was not made yet is none. A deletion
// gets no lease, since a lease says nothing of it.
func (p *player) ops(s step) (ops []world.Op) {
	for _, o := range s.Ops {
		op := world.Op{Key: o.Key, Value: []byte(o.Value), Delete: o.Delete}
		if o.Lease >= 0 && o.Lease < len(p.leases) && !o.Delete {
			op.Lease = p.leases[o.Lease]
		}
		ops = append(ops, op)
	}
	return ops
}

// compares are the comparisons of a step. They are made of the content of this World,
// since the revisions of two Worlds differ. A key that is absent here compares with 0,
// whatever the step expects.
func (p *player) compares(s step) (cs []world.Compare) {
	for _, o := range s.Compare {
		c := world.Compare{Key: o.Key}
		if kv, err := p.w.Get(p.t.Context(), o.Key); err == nil && o.At > 0 {
			c.Revision = kv.Revision + int64(o.At/2)
		}
		cs = append(cs, c)
	}
	return cs
}

// pages lists page by page, and writes between them. The writes alter b and delete a,
// which an earlier page has shown or a later page is to show. The later pages must show
// neither change.
func (p *player) pages(limit int) string {
	var all []string
	o := world.ListOptions{Limit: limit}
	for {
		page := p.state(o)
		all = append(all, p.text(page))
		if !page.More {
			return strings.Join(all, "; ")
		}
		o.At, o.After = page.Revision, page.KVs[len(page.KVs)-1].Key
		if _, _, err := p.w.Txn(p.t.Context(), nil, []world.Op{{Key: "b", Value: []byte("between")}, {Key: "a", Delete: true}}); err != nil {
			p.t.Fatal(err)
		}
	}
}

// state is a page of all keys. It fails the test itself: no step makes a List fail.
func (p *player) state(o world.ListOptions) world.Page {
	p.t.Helper()
	page, err := p.w.List(p.t.Context(), "", o)
	if err != nil {
		p.t.Fatalf("%s: List: %v", p.name, err)
	}
	return page
}

// text writes a page with revisions as distances from the first one.
func (p *player) text(page world.Page) string {
	var b strings.Builder
	fmt.Fprintf(&b, " at %d, more %t:", page.Revision-p.start, page.More)
	for _, kv := range page.KVs {
		fmt.Fprintf(&b, " %q=%s@%d/%d", kv.Key, kv.Value, kv.Revision-p.start, kv.Created-p.start)
	}
	return b.String()
}

// history is all that a Watch from the beginning shows. The changes of a revision are
// sorted, since the end of a lease promises no order for its deletions. Package engine
// promises an order for a Txn, and testWatchWhole checks it.
func (p *player) history() string {
	end := p.state(world.ListOptions{}).Revision
	if end == p.start {
		return ""
	}
	var b strings.Builder
	for batch, err := range p.w.Watch(p.t.Context(), "", p.start) {
		if err != nil {
			p.t.Fatalf("%s: Watch: %v", p.name, err)
		}
		us := slices.SortedFunc(slices.Values(batch.Updates), func(a, b world.Update) int { return cmp.Compare(a.Key, b.Key) })
		fmt.Fprintf(&b, " %d:", batch.Revision-p.start)
		for _, u := range us {
			fmt.Fprintf(&b, " %q=%s,%t", u.Key, u.Value, u.Deleted)
		}
		// The revision is compared and not the number of batches, since a store may
		// send bookmarks between them.
		if batch.Revision == end {
			break
		}
	}
	return b.String()
}

// class is what a caller can act on. An error of no class is compared by its text. Two
// Worlds then answer differently, and the test shows both.
func class(err error) string {
	for _, c := range []error{world.ErrRefused, world.ErrUnavailable, world.ErrNotFound, world.ErrCompacted, world.ErrClosed} {
		if errors.Is(err, c) {
			return c.Error()
		}
	}
	return fmt.Sprint(err)
}
