package worldtest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/reactivegraph/mgmt/engine/world"
)

// texts writes updates in their order.
func texts(us []world.Update) []string {
	var out []string
	for _, u := range us {
		out = append(out, text(u))
	}
	return out
}

// expect compares updates with the wanted ones.
func (b *bench) expect(got []world.Update, want ...string) {
	b.t.Helper()
	if !slices.Equal(texts(got), want) {
		b.t.Errorf("Watch showed %v, want %v", texts(got), want)
	}
}

// testWatchReplays: a watch from an earlier revision shows every write since then, once
// and in order. The revision to begin after is not shown again. Keys below other
// prefixes leave no trace.
func testWatchReplays(b *bench) {
	_, r0 := b.list("")
	r1 := b.must(put("a/1", "1"), put("b/1", "1"), put("a/2", "1"))
	r2 := b.must(put("a/1", "2"))
	b.must(del("a/2"), put("b/1", "2"))
	all := b.take("a/", r0, 4)
	b.expect(all, "a/1=1", "a/2=1", "a/1=2", "a/2 deleted")
	if all[0].Revision != r1 || all[1].Revision != r1 || all[2].Revision != r2 || all[3].Revision <= r2 {
		b.t.Errorf("revisions of %+v, want %d, %d, %d and a later one", all, r1, r1, r2)
	}
	b.expect(b.take("a/", r1, 2), "a/1=2", "a/2 deleted")
	b.expect(b.take("b/", r2, 1), "b/1=2")
}

// testWatchFollows: a Watch waits for changes that come later, and a prefix leaves the
// others out. Reader and writer run at once, so the World must wake a reader that has
// come to the end.
func testWatchFollows(b *bench) {
	_, rev := b.list("")
	var wg sync.WaitGroup
	wg.Go(func() {
		for _, op := range []world.Op{put("w/a", "1"), put("other", "1"), put("w/a", "2"), del("w/a")} {
			if _, ok, err := b.World.Txn(b.ctx, nil, []world.Op{op}); !ok || err != nil {
				b.t.Errorf("Txn: %t, %v", ok, err)
			}
		}
	})
	b.expect(b.take("w/", rev, 3), "w/a=1", "w/a=2", "w/a deleted")
	wg.Wait()
}

// testWatchEnds: a Watch ends with its context while it waits, and with its loop. Neither end is
// an error, and no goroutine is left.
func testWatchEnds(b *bench) {
	rev := b.must(put("a", "1"))
	ctx, cancel := context.WithCancel(b.ctx)
	done := make(chan error, 1)
	seen := make(chan struct{}, 8)
	go func() {
		var failed error
		for _, err := range b.World.Watch(ctx, "", rev-1) {
			if failed = err; err != nil {
				break
			}
			seen <- struct{}{}
		}
		done <- failed
	}()
	// The change was shown, so the Watch now waits for the next one. Its context ends
	// it there.
	<-seen
	cancel()
	if err := <-done; err != nil {
		b.t.Errorf("a Watch whose context ended yields %v", err)
	}
	b.expect(b.take("", rev-1, 1), "a=1") // which breaks out of its loop
}

// testWatchNoGap: a List and then a Watch from its revision see every write, while
// others write. Every user of a World runs this race: it reads the state, and follows
// it from there.
func testWatchNoGap(b *bench) {
	const writers = 3
	var wg sync.WaitGroup
	defer wg.Wait()
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				b.write(w, i)
			}
		})
	}
	p, err := b.World.List(b.ctx, "g/", world.ListOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	rev, last := p.Revision, make(map[string]int)
	for _, kv := range p.KVs {
		last[kv.Key], _ = strconv.Atoi(string(kv.Value))
	}
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	// Many short Watches follow each other. Each begins where the last one ended, and
	// so meets writers that go on.
	for complete(last) < writers {
		rev = b.follow(ctx, last, rev)
		if ctx.Err() != nil {
			b.t.Fatalf("not all came: %v", last)
		}
	}
}

// each is how often a writer writes. The writes of all make 360 changes, so that a
// backend with a short history can still pass.
const each = 60

// write writes a pair of keys in one transaction. The second key is below another
// prefix. A Watch of g/ must leave it out, though it has the same revision.
func (b *bench) write(w, i int) {
	ops := []world.Op{put(fmt.Sprintf("g/%d", w), strconv.Itoa(i+1)), put(fmt.Sprintf("h/%d", w), "x")}
	if _, ok, err := b.World.Txn(b.ctx, nil, ops); !ok || err != nil {
		b.t.Errorf("write %d of %d: %t, %v", i, each, ok, err)
	}
}

// complete counts the writers whose last write was seen.
func complete(last map[string]int) (n int) {
	for _, v := range last {
		if v == each {
			n++
		}
	}
	return n
}

// follow takes a few batches of one Watch. Each update has to be the next one of its
// writer. So the writers meet a Watch that goes on, and a new Watch. It returns the
// revision up to which all was seen, where the next Watch begins.
func (b *bench) follow(ctx context.Context, last map[string]int, rev int64) int64 {
	few := 4
	for batch, err := range b.World.Watch(ctx, "g/", rev) {
		if err != nil {
			b.t.Fatal(err)
		}
		if batch.Revision <= rev {
			b.t.Fatalf("revision %d after %d", batch.Revision, rev)
		}
		for _, u := range batch.Updates {
			n, _ := strconv.Atoi(string(u.Value))
			if n != last[u.Key]+1 || u.Revision != batch.Revision {
				b.t.Fatalf("%s=%d after %d, at %d of %d", u.Key, n, last[u.Key], u.Revision, batch.Revision)
			}
			last[u.Key] = n
		}
		rev = batch.Revision
		if few--; few == 0 || complete(last) > 0 {
			return rev
		}
	}
	return rev
}

// testWatchWhole: all changes of a Txn below the prefix come in one batch, in the order
// of the Txn. The Txns grow up to 122 operations, and DefaultLimits allow 128. A store
// that sends a large revision in parts fails here. A user may act on each batch, so a
// part of one would show a state that never was.
func testWatchWhole(b *bench) {
	_, from := b.list("")
	var want []string
	for i := range 5 {
		ops := []world.Op{put("x", "no")}
		texts := []string{fmt.Sprintf("%d:", i)}
		for k := range 1 + 30*i {
			ops = append(ops, put(fmt.Sprintf("w/%03d", k), strconv.Itoa(i)))
			texts = append(texts, fmt.Sprintf("w/%03d=%d", k, i))
		}
		b.must(ops...)
		want = append(want, strings.Join(texts, " "))
	}
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	n := 0
	for batch, err := range b.World.Watch(ctx, "w/", from) {
		if err != nil {
			b.t.Fatal(err)
		}
		if got := fmt.Sprintf("%d: %s", n, strings.Join(texts(batch.Updates), " ")); got != want[n] {
			b.t.Errorf("batch %d is %s, want %s", n, got, want[n])
		}
		if n++; n == len(want) {
			return
		}
	}
	b.t.Errorf("%d batches of %d came", n, len(want))
}

// testBookmarks: a prefix where nothing happens learns how far the store has come, and
// a Watch that begins at a bookmark misses nothing. Without bookmarks a quiet Watch
// would begin anew at a revision that the store forgot long ago. In each round the
// foreign keys change often enough for one bookmark, and the reader takes it before the
// next round.
func testBookmarks(b *bench) {
	if !b.Bookmarks {
		return
	}
	rev := b.must(put("quiet", "1"))
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	next, stop := iter.Pull2(b.World.Watch(ctx, "quiet", rev))
	defer stop()
	for range 3 {
		for i := range 300 {
			b.must(put("busy", strconv.Itoa(i)))
		}
		batch, err, ok := next()
		if err != nil || !ok || len(batch.Updates) > 0 || batch.Revision <= rev {
			b.t.Fatalf("%+v, %v; want a bookmark behind %d", batch, err, rev)
		}
		rev = batch.Revision
	}
	b.must(put("quiet", "2"))
	b.expect(b.take("quiet", rev, 1), "quiet=2")
	// The first Watch still waits. A store that goes by the clock may have sent more bookmarks to it,
	// and they come before the change.
	for {
		batch, err, _ := next()
		if len(batch.Updates) == 0 && err == nil && batch.Revision > rev {
			rev = batch.Revision // one more bookmark
			continue
		}
		if err != nil || len(batch.Updates) != 1 {
			b.t.Errorf("after the bookmarks: %+v, %v", batch, err)
		}
		return
	}
}

// testWatchCompacted: a Watch from a forgotten revision is told so at once, and its caller can
// list again. A list after a compaction is whole: only older revisions are forgotten.
func testWatchCompacted(b *bench) {
	_, rev := b.list("")
	b.must(put("a", "1"))
	b.must(put("a", "2"))
	b.Compact(b.t)
	var failed error
	for batch, err := range b.World.Watch(b.ctx, "", rev) {
		if failed = err; err == nil {
			b.t.Errorf("Watch from a forgotten revision shows %v", batch)
		}
		break
	}
	if !errors.Is(failed, world.ErrCompacted) {
		b.t.Errorf("Watch from a forgotten revision: %v", failed)
	}
	// A compaction takes no present key away.
	got, now := b.list("a")
	if !slices.Equal(got, []string{"a=2"}) {
		b.t.Errorf("List after a compaction: %v", got)
	}
	// A store that was restored from an older copy is behind its users.
	for batch, err := range b.World.Watch(b.ctx, "", now+1000) {
		if failed = err; !errors.Is(err, world.ErrCompacted) {
			b.t.Errorf("Watch from a revision that never was: %v, %v", batch, err)
		}
		break
	}
	if p, err := b.World.List(b.ctx, "", world.ListOptions{At: now + 1000}); !errors.Is(err, world.ErrCompacted) {
		b.t.Errorf("List at a revision that never was: %+v, %v", p, err)
	}
	b.must(put("a", "3"))
	b.expect(b.take("a", now, 1), "a=3")
}
