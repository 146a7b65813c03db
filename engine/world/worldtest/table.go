package worldtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/reactivegraph/mgmt/engine/world"
)

// testGet: a key has its last value, with the revision of that write; an absent key is
// ErrNotFound. An empty value is a value: a World must tell it from an absent key.
func testGet(b *bench) {
	if _, err := b.World.Get(b.ctx, "a"); !errors.Is(err, world.ErrNotFound) {
		b.t.Errorf("Get of a key that never was: %v", err)
	}
	r1 := b.must(put("a", "1"))
	r2 := b.must(put("b", ""))
	kv, err := b.World.Get(b.ctx, "a")
	if err != nil || kv.Key != "a" || string(kv.Value) != "1" || kv.Revision != r1 {
		b.t.Errorf("Get = %+v, %v; want revision %d", kv, err, r1)
	}
	if kv, err = b.World.Get(b.ctx, "b"); err != nil || len(kv.Value) != 0 || kv.Revision != r2 || r2 <= r1 {
		b.t.Errorf("Get of an empty value = %+v, %v; want revision %d after %d", kv, err, r2, r1)
	}
	b.must(del("a"))
	if _, err := b.World.Get(b.ctx, "a"); !errors.Is(err, world.ErrNotFound) {
		b.t.Errorf("Get of a deleted key: %v", err)
	}
}

// testList: a list is a snapshot of one revision, in the order of the keys, and a
// prefix is text and not a path. A prefix that ends with no slash therefore finds the
// key itself, and longer names too.
func testList(b *bench) {
	got, empty := b.list("")
	if len(got) != 0 || empty == 0 {
		b.t.Errorf("an empty world lists %v at %d", got, empty)
	}
	rev := b.must(put("x/b", "2"), put("x/a", "1"), put("x", "0"), put("y/a", "3"), put("x0", "4"))
	if p, err := b.World.List(b.ctx, "", world.ListOptions{At: empty}); err != nil || len(p.KVs) != 0 {
		b.t.Errorf("the page of the empty world, later: %d keys, %v", len(p.KVs), err)
	}
	for _, c := range []struct{ prefix, want string }{
		{"x/", "x/a=1 x/b=2"}, {"x", "x=0 x/a=1 x/b=2 x0=4"}, {"y/a", "y/a=3"}, {"z", ""},
		{"", "x=0 x/a=1 x/b=2 x0=4 y/a=3"},
	} {
		got, at := b.list(c.prefix)
		if strings.Join(got, " ") != c.want || at != rev {
			b.t.Errorf("List(%q) = %v at %d; want %s at %d", c.prefix, got, at, c.want, rev)
		}
	}
	b.must(del("x/a"))
	if got, at := b.list("x/"); strings.Join(got, " ") != "x/b=2" || at <= rev {
		b.t.Errorf("after a delete: %v at %d, before at %d", got, at, rev)
	}
}

// testCreated: a key is created anew after a deletion only. Status and identity rest on this:
// the same revision of creation means the same object.
func testCreated(b *bench) {
	first := b.must(put("a", "1"))
	b.must(put("a", "2"))
	if kv, err := b.World.Get(b.ctx, "a"); err != nil || kv.Created != first || kv.Revision <= first {
		b.t.Errorf("Get after a second put = %+v, %v; want created at %d", kv, err, first)
	}
	b.must(del("a"))
	again := b.must(put("a", "3"))
	u := b.take("", first-1, 4)
	for i, want := range []int64{first, first, 0, again} {
		if u[i].Created != want {
			b.t.Errorf("update %d of %+v: created at %d, want %d", i, u, u[i].Created, want)
		}
	}
}

// testPages: the pages at one revision are the list, whatever is written between them.
func testPages(b *bench) {
	for i := range 7 {
		b.must(put(fmt.Sprintf("p/%d", i), "old"))
	}
	b.must(put("p/4", "older"), put("q", "other"))
	want, rev := b.list("p/")
	o := world.ListOptions{Limit: 3}
	var got []string
	for pages := 1; ; pages++ {
		p, err := b.World.List(b.ctx, "p/", o)
		if err != nil || p.Revision != rev || len(p.KVs) > 3 || pages > 3 {
			b.t.Fatalf("page %d: %+v, %v; want revision %d", pages, p, err, rev)
		}
		got = append(got, pairs(p.KVs)...)
		if !p.More {
			break
		}
		o.At, o.After = p.Revision, p.KVs[len(p.KVs)-1].Key
		// Between the pages one key of a later page is altered, a new key comes in
		// between, and p/5 is made anew. At the old revision none of this may show.
		b.must(put("p/4", "new"), put(fmt.Sprintf("p/%d0", pages), "new"))
		b.must(del("p/5"))
		b.must(put("p/5", "new"))
	}
	if !slices.Equal(got, want) {
		b.t.Errorf("the pages are %v, the list was %v", got, want)
	}
	// A page that is exactly full says that nothing follows. A reader would ask for an
	// empty page else.
	if p, err := b.World.List(b.ctx, "p/", world.ListOptions{Limit: 7, At: rev}); err != nil || p.More || len(p.KVs) != 7 {
		b.t.Errorf("a page of all: %+v, %v", p, err)
	}
	if p, err := b.World.List(b.ctx, "p/", world.ListOptions{After: "p/9", At: rev}); err != nil || len(p.KVs) != 0 {
		b.t.Errorf("a page after the last: %+v, %v", p, err)
	}
}

// testPagesCompacted: a list that takes too long is told to begin again. A World
// answers ErrCompacted and never a mixture of two revisions. A list of now works on.
func testPagesCompacted(b *bench) {
	rev := b.must(put("a", "1"), put("b", "1"))
	b.must(put("a", "2"))
	b.Compact(b.t)
	if p, err := b.World.List(b.ctx, "", world.ListOptions{At: rev}); !errors.Is(err, world.ErrCompacted) {
		b.t.Errorf("List at a forgotten revision: %+v, %v", p, err)
	}
	if got, _ := b.list("a"); !slices.Equal(got, []string{"a=2"}) {
		b.t.Errorf("List after that: %v", got)
	}
}

// testLimits: exactly as much as is allowed is done, and one more is refused. The
// LimitError has both figures, so that a caller can cut its work into parts. All stores
// have the same limits, so that a program which runs on one runs on all.
func testLimits(b *bench) {
	l := b.World.Limits()
	var ops []world.Op
	var absent []world.Compare
	for i := range l.Ops + 1 {
		ops = append(ops, put(fmt.Sprintf("k%d", i), "1"))
		absent = append(absent, world.Compare{Key: ops[i].Key})
	}
	// Operations and comparisons have the same limit each, so a Txn may have both in
	// full.
	if _, ok, err := b.World.Txn(b.ctx, absent[:l.Ops], ops[:l.Ops]); !ok || err != nil {
		b.t.Errorf("a Txn of %d operations: %t, %v", l.Ops, ok, err)
	}
	b.must(put("k0", strings.Repeat("x", l.Bytes-len("k0"))))
	b.must(put(strings.Repeat("k", l.Key), "1"))
	// The keys of comparisons travel as well, so they count.
	long, room := []world.Compare(nil), l.Bytes-len("k1")
	for i := range l.Ops {
		key := fmt.Sprintf("%d", i) + strings.Repeat("k", l.Key-len(fmt.Sprint(i)))
		long, room = append(long, world.Compare{Key: key}), room-len(key)
	}
	if _, ok, err := b.World.Txn(b.ctx, long, []world.Op{put("k1", strings.Repeat("x", room))}); !ok || err != nil {
		b.t.Errorf("a Txn of the longest comparisons, and a value that fills the rest: %t, %v", ok, err)
	}
	for what, txn := range map[string]struct {
		compares []world.Compare
		ops      []world.Op
	}{
		"operations":  {nil, ops},
		"comparisons": {absent, nil},
		"bytes":       {nil, []world.Op{put("k0", strings.Repeat("x", l.Bytes-1))}},
		"key":         {nil, []world.Op{put(strings.Repeat("k", l.Key+1), "1")}},
		"compared":    {[]world.Compare{{Key: strings.Repeat("k", l.Key+1)}}, nil},
		"together":    {long, []world.Op{put("k1", strings.Repeat("x", room+1))}},
		"2 MiB":       {nil, []world.Op{put("k0", strings.Repeat("x", 2<<20))}},
	} {
		var limit *world.LimitError
		_, _, err := b.World.Txn(b.ctx, txn.compares, txn.ops)
		if !errors.As(err, &limit) || !errors.Is(err, world.ErrRefused) || limit.Have <= limit.Most {
			b.t.Errorf("%s: %v", what, err)
		}
	}
}

// testClosed: nothing works after Close, and a Watch that waits ends. A second Close
// succeeds, so that an owner may close in a defer as well. The Watch waits below a
// prefix without keys, so that only Close can end it. Done of a lease is closed as
// well, so that an owner who waits for it goes on.
func testClosed(b *bench) {
	rev := b.must(put("a", "1"))
	l := b.lease()
	ended := make(chan error, 1)
	go func() {
		var last error
		for _, err := range b.World.Watch(b.ctx, "none", rev) {
			last = err
		}
		ended <- last
	}()
	for range 2 {
		if err := b.World.Close(); err != nil {
			b.t.Fatalf("Close: %v", err)
		}
	}
	<-l.Done()
	if err := <-ended; !errors.Is(err, world.ErrClosed) {
		b.t.Errorf("the Watch of a closed World ends with %v", err)
	}
	if _, err := b.World.Get(b.ctx, "a"); !errors.Is(err, world.ErrClosed) {
		b.t.Errorf("Get: %v", err)
	}
	if _, err := b.World.List(b.ctx, "", world.ListOptions{}); !errors.Is(err, world.ErrClosed) {
		b.t.Errorf("List: %v", err)
	}
	if _, _, err := b.World.Txn(b.ctx, nil, []world.Op{put("a", "2")}); !errors.Is(err, world.ErrClosed) {
		b.t.Errorf("Txn: %v", err)
	}
	if _, err := b.World.Lease(b.ctx, b.Lease); !errors.Is(err, world.ErrClosed) {
		b.t.Errorf("Lease: %v", err)
	}
}

// testTxn: a transaction does all or nothing, and tells which of the two it was. A Txn
// of no change makes no revision, so an idle user wakes no Watch.
func testTxn(b *bench) {
	absent := []world.Compare{{Key: "a"}}
	rev, ok, err := b.World.Txn(b.ctx, absent, []world.Op{put("a", "1"), put("b", "1")})
	if err != nil || !ok {
		b.t.Fatalf("where the key is absent: %t, %v", ok, err)
	}
	if at, ok, err := b.World.Txn(b.ctx, absent, []world.Op{put("a", "2")}); ok || err != nil || at != rev {
		b.t.Errorf("where the key is there: %d, %t, %v; want %d", at, ok, err, rev)
	}
	both := []world.Compare{{Key: "a", Revision: rev}, {Key: "b", Revision: rev}}
	next, ok, err := b.World.Txn(b.ctx, both, []world.Op{put("a", "3"), del("b"), put("c", "3")})
	if err != nil || !ok || next <= rev {
		b.t.Fatalf("where both hold: %d after %d, %t, %v", next, rev, ok, err)
	}
	// The revisions of the first Txn were right for the second, and are out of date
	// now.
	if _, ok, _ := b.World.Txn(b.ctx, both, []world.Op{del("c")}); ok {
		b.t.Error("old revisions still hold")
	}
	if got, at := b.list(""); strings.Join(got, " ") != "a=3 c=3" || at != next {
		b.t.Errorf("after all: %v at %d, want at %d", got, at, next)
	}
	if _, ok, err := b.World.Txn(b.ctx, []world.Compare{{Key: "b"}}, nil); !ok || err != nil {
		b.t.Errorf("a deleted key is absent: %t, %v", ok, err)
	}
	if at := b.must(); at != next {
		b.t.Errorf("a Txn of nothing went from %d to %d", next, at)
	}
	if at := b.must(del("never")); at != next {
		b.t.Errorf("deleting nothing went from %d to %d", next, at)
	}
}

// testTxnRefused: a transaction that writes a key twice is refused as a whole, since
// the stores differ in the write that would win. An operation without a key is refused
// in the same way. A refusal leaves no revision behind.
func testTxnRefused(b *bench) {
	before := b.must(put("a", "1"))
	for _, ops := range [][]world.Op{
		{put("b", "1"), put("a", "2"), put("a", "3")},
		{put("b", "1"), del("a"), put("a", "3")},
		{put("b", "1"), put("", "1")},
	} {
		if _, _, err := b.World.Txn(b.ctx, nil, ops); !errors.Is(err, world.ErrRefused) {
			b.t.Errorf("%v: the same key twice: %v", ops, err)
		}
	}
	if got, at := b.list(""); strings.Join(got, " ") != "a=1" || at != before {
		b.t.Errorf("after refused transactions: %v at %d, want at %d", got, at, before)
	}
}

// testCopies: callers may alter the bytes that they gave or got, without an effect on
// the world. A World in memory would break this first, since it has no wire that
// copies.
func testCopies(b *bench) {
	value := []byte("one")
	rev := b.must(world.Op{Key: "a", Value: value})
	copy(value, "XXX")
	kv, err := b.World.Get(b.ctx, "a")
	if err != nil {
		b.t.Fatal(err)
	}
	copy(kv.Value, "YYY")
	u := b.take("", rev-1, 1)[0]
	copy(u.Value, "ZZZ")
	p, err := b.World.List(b.ctx, "", world.ListOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	copy(p.KVs[0].Value, "VVV")
	again, err := b.World.Get(b.ctx, "a")
	if err != nil || !bytes.Equal(again.Value, []byte("one")) {
		b.t.Errorf("somebody wrote into the world: %q, %v", again.Value, err)
	}
}

// testCounter: many count together by compare and swap, and lose nothing. The count is
// exact only if no two Txns of one revision succeed.
func testCounter(b *bench) {
	const workers, times = 4, 25
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for range times {
				if err := increment(b); err != nil {
					b.t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if kv, err := b.World.Get(b.ctx, "n"); err != nil || string(kv.Value) != strconv.Itoa(workers*times) {
		b.t.Errorf("counted to %q, %v; want %d", kv.Value, err, workers*times)
	}
}

// increment adds one to a number by compare and swap, and tries again when another
// writer was first. An absent key has the revision 0 in kv, and a comparison with 0
// means just that.
func increment(b *bench) error {
	for {
		kv, err := b.World.Get(b.ctx, "n")
		if err != nil && !errors.Is(err, world.ErrNotFound) {
			return err
		}
		n, _ := strconv.Atoi(string(kv.Value))
		_, ok, err := b.World.Txn(b.ctx, []world.Compare{{Key: "n", Revision: kv.Revision}}, []world.Op{put("n", strconv.Itoa(n+1))})
		if ok || err != nil {
			return err
		}
	}
}

// testModel: a long random history comes to the same as in a map. Each run has another
// history. Its log has the seed, so that a failure can be played again.
func testModel(b *bench) {
	seed := rand.Uint64()
	b.t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	model, revs := map[string]string{}, map[string]int64{}
	_, start := b.list("")
	var history []string
	for i := range 300 {
		key, value := fmt.Sprintf("k%d", rnd.IntN(6)), strconv.Itoa(i)
		guess := revs[key]
		// A quarter of the comparisons name a revision that the key does not have, so
		// they must not hold.
		if rnd.IntN(4) == 0 {
			guess++
		}
		op, text := put(key, value), key+"="+value
		_, had := model[key]
		if rnd.IntN(3) == 0 {
			op, text = del(key), key+" deleted"
		}
		rev, ok, err := b.World.Txn(b.ctx, []world.Compare{{Key: key, Revision: guess}}, []world.Op{op})
		if err != nil || ok != (guess == revs[key]) {
			b.t.Fatalf("step %d, %s at %d, is at %d: %t, %v", i, text, guess, revs[key], ok, err)
		}
		switch {
		// Neither a Txn that did not hold nor the deletion of an absent key is in the
		// history.
		case !ok || op.Delete && !had:
			continue
		case op.Delete:
			delete(model, key)
			delete(revs, key)
		default:
			model[key], revs[key] = value, rev
		}
		history = append(history, text)
	}
	var want []string
	for _, key := range slices.Sorted(maps.Keys(model)) {
		want = append(want, key+"="+model[key])
	}
	if got, _ := b.list(""); !slices.Equal(got, want) {
		b.t.Errorf("the world holds %v, the model %v", got, want)
	}
	var seen []string
	for _, u := range b.take("", start, len(history)) {
		seen = append(seen, text(u))
	}
	if !slices.Equal(seen, history) {
		b.t.Errorf("Watch showed %v\nbut it was   %v", seen, history)
	}
}

// text writes an update for a comparison.
func text(u world.Update) string {
	if u.Deleted {
		return u.Key + " deleted"
	}
	return u.Key + "=" + string(u.Value)
}

// testCancelled: every call ends with its context and says so. A Watch is the
// exception: its context is the normal way to end it, so it yields nothing.
func testCancelled(b *bench) {
	ctx, cancel := context.WithCancel(b.ctx)
	cancel()
	if _, err := b.World.Get(ctx, "a"); !errors.Is(err, context.Canceled) {
		b.t.Errorf("Get: %v", err)
	}
	if _, err := b.World.List(ctx, "", world.ListOptions{}); !errors.Is(err, context.Canceled) {
		b.t.Errorf("List: %v", err)
	}
	if _, _, err := b.World.Txn(ctx, nil, []world.Op{put("a", "1")}); !errors.Is(err, context.Canceled) {
		b.t.Errorf("Txn: %v", err)
	}
	if _, err := b.World.Lease(ctx, b.Lease); !errors.Is(err, context.Canceled) {
		b.t.Errorf("Lease: %v", err)
	}
	for u, err := range b.World.Watch(ctx, "", 0) {
		b.t.Errorf("Watch: %v, %v", u, err)
	}
	if got, _ := b.list(""); len(got) != 0 {
		b.t.Errorf("a cancelled Txn wrote %v", got)
	}
}
