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

	"github.com/reactivegraph/mgmt/engine"
)

// testGet: a key has its last value, with the revision of that write; an absent key is
// ErrNotFound.
func testGet(b *bench) {
	if _, err := b.World.Get(b.ctx, "a"); !errors.Is(err, engine.ErrNotFound) {
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
	if _, err := b.World.Get(b.ctx, "a"); !errors.Is(err, engine.ErrNotFound) {
		b.t.Errorf("Get of a deleted key: %v", err)
	}
}

// testList: a list is a snapshot of one revision, in the order of the keys, and a prefix
// is text and not a path.
func testList(b *bench) {
	if got, _ := b.list(""); len(got) != 0 {
		b.t.Errorf("an empty world lists %v", got)
	}
	rev := b.must(put("x/b", "2"), put("x/a", "1"), put("x", "0"), put("y/a", "3"), put("x0", "4"))
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

// testTxn: a transaction does all or nothing, and tells which of the two it was.
func testTxn(b *bench) {
	absent := []engine.Compare{{Key: "a"}}
	rev, ok, err := b.World.Txn(b.ctx, absent, []engine.Op{put("a", "1"), put("b", "1")})
	if err != nil || !ok {
		b.t.Fatalf("where the key is absent: %t, %v", ok, err)
	}
	if at, ok, err := b.World.Txn(b.ctx, absent, []engine.Op{put("a", "2")}); ok || err != nil || at != rev {
		b.t.Errorf("where the key is there: %d, %t, %v; want %d", at, ok, err, rev)
	}
	both := []engine.Compare{{Key: "a", Revision: rev}, {Key: "b", Revision: rev}}
	next, ok, err := b.World.Txn(b.ctx, both, []engine.Op{put("a", "3"), del("b"), put("c", "3")})
	if err != nil || !ok || next <= rev {
		b.t.Fatalf("where both hold: %d after %d, %t, %v", next, rev, ok, err)
	}
	if _, ok, _ := b.World.Txn(b.ctx, both, []engine.Op{del("c")}); ok {
		b.t.Error("old revisions still hold")
	}
	if got, at := b.list(""); strings.Join(got, " ") != "a=3 c=3" || at != next {
		b.t.Errorf("after all: %v at %d, want at %d", got, at, next)
	}
	if _, ok, err := b.World.Txn(b.ctx, []engine.Compare{{Key: "b"}}, nil); !ok || err != nil {
		b.t.Errorf("a deleted key is absent: %t, %v", ok, err)
	}
	if at := b.must(); at != next {
		b.t.Errorf("a Txn of nothing went from %d to %d", next, at)
	}
	if at := b.must(del("never")); at != next {
		b.t.Errorf("deleting nothing went from %d to %d", next, at)
	}
}

// testTxnRefused: a transaction that writes a key twice is refused as a whole, since the
// stores differ in which write would win.
func testTxnRefused(b *bench) {
	before := b.must(put("a", "1"))
	for _, ops := range [][]engine.Op{
		{put("b", "1"), put("a", "2"), put("a", "3")},
		{put("b", "1"), del("a"), put("a", "3")},
	} {
		if _, _, err := b.World.Txn(b.ctx, nil, ops); err == nil {
			b.t.Errorf("%v: the same key twice is no error", ops)
		}
	}
	if got, at := b.list(""); strings.Join(got, " ") != "a=1" || at != before {
		b.t.Errorf("after refused transactions: %v at %d, want at %d", got, at, before)
	}
}

// testCopies: callers may alter the bytes that they gave or got, without an effect on the
// world.
func testCopies(b *bench) {
	value := []byte("one")
	rev := b.must(engine.Op{Key: "a", Value: value})
	copy(value, "XXX")
	kv, err := b.World.Get(b.ctx, "a")
	if err != nil {
		b.t.Fatal(err)
	}
	copy(kv.Value, "YYY")
	u := b.take("", rev-1, 1)[0]
	copy(u.Value, "ZZZ")
	kvs, _, err := b.World.List(b.ctx, "")
	if err != nil {
		b.t.Fatal(err)
	}
	copy(kvs[0].Value, "VVV")
	again, err := b.World.Get(b.ctx, "a")
	if err != nil || !bytes.Equal(again.Value, []byte("one")) {
		b.t.Errorf("somebody wrote into the world: %q, %v", again.Value, err)
	}
}

// testCounter: many count together by compare and swap, and lose nothing.
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

// increment adds one to a number by compare and swap, and tries again when another writer
// was first.
func increment(b *bench) error {
	for {
		kv, err := b.World.Get(b.ctx, "n")
		if err != nil && !errors.Is(err, engine.ErrNotFound) {
			return err
		}
		n, _ := strconv.Atoi(string(kv.Value))
		_, ok, err := b.World.Txn(b.ctx, []engine.Compare{{Key: "n", Revision: kv.Revision}}, []engine.Op{put("n", strconv.Itoa(n+1))})
		if ok || err != nil {
			return err
		}
	}
}

// testModel: a long random history comes to the same as in a map.
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
		if rnd.IntN(4) == 0 {
			guess++
		}
		op, text := put(key, value), key+"="+value
		_, had := model[key]
		if rnd.IntN(3) == 0 {
			op, text = del(key), key+" deleted"
		}
		rev, ok, err := b.World.Txn(b.ctx, []engine.Compare{{Key: key, Revision: guess}}, []engine.Op{op})
		if err != nil || ok != (guess == revs[key]) {
			b.t.Fatalf("step %d, %s at %d, is at %d: %t, %v", i, text, guess, revs[key], ok, err)
		}
		switch {
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
func text(u engine.Update) string {
	if u.Deleted {
		return u.Key + " deleted"
	}
	return u.Key + "=" + string(u.Value)
}

// testCancelled: every call ends with its context and says so.
func testCancelled(b *bench) {
	ctx, cancel := context.WithCancel(b.ctx)
	cancel()
	if _, err := b.World.Get(ctx, "a"); !errors.Is(err, context.Canceled) {
		b.t.Errorf("Get: %v", err)
	}
	if _, _, err := b.World.List(ctx, ""); !errors.Is(err, context.Canceled) {
		b.t.Errorf("List: %v", err)
	}
	if _, _, err := b.World.Txn(ctx, nil, []engine.Op{put("a", "1")}); !errors.Is(err, context.Canceled) {
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
