package worldtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/reactivegraph/mgmt/engine"
)

// texts writes updates in their order.
func texts(us []engine.Update) []string {
	var out []string
	for _, u := range us {
		out = append(out, text(u))
	}
	return out
}

// expect compares updates with the wanted ones.
func (b *bench) expect(got []engine.Update, want ...string) {
	b.t.Helper()
	if !slices.Equal(texts(got), want) {
		b.t.Errorf("Watch showed %v, want %v", texts(got), want)
	}
}

// testWatchReplays: a watch from an earlier revision shows every write since then, once
// and in order.
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

// testWatchFollows: a Watch waits for what comes.
func testWatchFollows(b *bench) {
	_, rev := b.list("")
	var wg sync.WaitGroup
	wg.Go(func() {
		for _, op := range []engine.Op{put("w/a", "1"), put("other", "1"), put("w/a", "2"), del("w/a")} {
			if _, ok, err := b.World.Txn(b.ctx, nil, []engine.Op{op}); !ok || err != nil {
				b.t.Errorf("Txn: %t, %v", ok, err)
			}
		}
	})
	b.expect(b.take("w/", rev, 3), "w/a=1", "w/a=2", "w/a deleted")
	wg.Wait()
}

// testWatchEnds: with its context while it waits, and with its loop.
func testWatchEnds(b *bench) {
	rev := b.must(put("a", "1"))
	ctx, cancel := context.WithCancel(b.ctx)
	done := make(chan error, 1)
	seen := make(chan struct{}, 8)
	go func() {
		var failed error
		for u, err := range b.World.Watch(ctx, "", rev-1) {
			if failed = err; err != nil {
				break
			}
			_ = u
			seen <- struct{}{}
		}
		done <- failed
	}()
	<-seen
	cancel()
	if err := <-done; err != nil {
		b.t.Errorf("a Watch whose context ended yields %v", err)
	}
	b.expect(b.take("", rev-1, 1), "a=1") // which breaks out of its loop
}

// testWatchNoGap: a List and then a Watch from there see every write, while others write.
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
	kvs, rev, err := b.World.List(b.ctx, "g/")
	if err != nil {
		b.t.Fatal(err)
	}
	last := make(map[string]int)
	for _, kv := range kvs {
		last[kv.Key], _ = strconv.Atoi(string(kv.Value))
	}
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	for complete(last) < writers {
		rev = b.follow(ctx, last, rev)
		if ctx.Err() != nil {
			b.t.Fatalf("not all came: %v", last)
		}
	}
}

// each is how often a writer writes.
const each = 60

// write writes a pair of keys in one transaction.
func (b *bench) write(w, i int) {
	ops := []engine.Op{put(fmt.Sprintf("g/%d", w), strconv.Itoa(i+1)), put(fmt.Sprintf("h/%d", w), "x")}
	if _, ok, err := b.World.Txn(b.ctx, nil, ops); !ok || err != nil {
		b.t.Errorf("write %d of %d: %t, %v", i, each, ok, err)
	}
}

// complete counts the writers of which the last write was seen.
func complete(last map[string]int) (n int) {
	for _, v := range last {
		if v == each {
			n++
		}
	}
	return n
}

// follow takes one update, and checks that it is the next one of its writer and not older than the
// last seen one.
func (b *bench) follow(ctx context.Context, last map[string]int, rev int64) int64 {
	for u, err := range b.World.Watch(ctx, "g/", rev) {
		n, _ := strconv.Atoi(string(u.Value))
		switch {
		case err != nil:
			b.t.Fatal(err)
		case u.Revision <= rev:
			b.t.Fatalf("revision %d after %d", u.Revision, rev)
		case n != last[u.Key]+1:
			b.t.Fatalf("%s=%d after %d", u.Key, n, last[u.Key])
		}
		last[u.Key] = n
		return u.Revision
	}
	return rev
}

// testWatchCompacted: who comes too late is told, and can list again.
func testWatchCompacted(b *bench) {
	_, rev := b.list("")
	b.must(put("a", "1"))
	b.must(put("a", "2"))
	b.Compact(b.t)
	var failed error
	for u, err := range b.World.Watch(b.ctx, "", rev) {
		if failed = err; err == nil {
			b.t.Errorf("Watch from a forgotten revision shows %v", u)
		}
		break
	}
	if !errors.Is(failed, engine.ErrCompacted) {
		b.t.Errorf("Watch from a forgotten revision: %v", failed)
	}
	got, now := b.list("a")
	if !slices.Equal(got, []string{"a=2"}) {
		b.t.Errorf("List after a compaction: %v", got)
	}
	b.must(put("a", "3"))
	b.expect(b.take("a", now, 1), "a=3")
}
