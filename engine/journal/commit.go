package journal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"go.etcd.io/bbolt"

	"github.com/reactivegraph/mgmt/engine/internal/boltfile"
	"github.com/reactivegraph/mgmt/engine/records"
	"github.com/reactivegraph/mgmt/internal/sorted"
)

const (
	maxKey   = bbolt.MaxKeySize
	maxTable = 1 << 10
	maxValue = 16 << 20 // bytes of one Commit

	keepBuffer = 64 << 10 // bytes of a buffer that stays for the next group
	keepItems  = 1 << 10
	maxGroup   = 8 << 20 // bytes that are committed together, unless one Commit alone has more
)

// What no store takes.
var (
	errNoTable = errors.New("journal: a write names no table")
	errNoKey   = errors.New("journal: a write names no key")
	errTooBig  = errors.New("journal: a write is too big")
)

// validate returns the size of what one Commit writes.
func validate(writes []records.Write) (int, error) {
	size := 0
	for i := range writes {
		w := &writes[i]
		switch {
		case w.Table == "":
			return 0, errNoTable
		case w.Key == "":
			return 0, errNoKey
		case len(w.Table) > maxTable:
			return 0, fmt.Errorf("%w: a table's name has %d bytes and may have %d", errTooBig, len(w.Table), maxTable)
		case len(w.Key) > maxKey:
			return 0, fmt.Errorf("%w: a key has %d bytes and may have %d", errTooBig, len(w.Key), maxKey)
		}
		size += len(w.Key) + len(w.Value)
	}
	if size > maxValue {
		return 0, fmt.Errorf("%w: one commit has %d bytes and may have %d", errTooBig, size, maxValue)
	}
	return size, nil
}

// request is one Commit that waits. Its writes belong to the caller, who waits
// for done once the group that it is in has begun.
type request struct {
	writes []records.Write
	own    bool // Table is a bucket of the journal itself
	size   int
	done   chan error // capacity 1
}

var requests = sync.Pool{New: func() any { return &request{done: make(chan error, 1)} }}

func (r *request) release() {
	r.writes = nil
	requests.Put(r)
}

// queue holds who waits for a group. Each is a goroutine that is blocked, so there
// are no more entries than callers.
type queue struct {
	mu     sync.Mutex
	list   []*request
	closed bool
	wake   chan struct{} // capacity 1
}

func (q *queue) add(r *request) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return ErrClosed
	}
	q.list = append(q.list, r)
	if len(q.list) == 1 {
		select {
		case q.wake <- struct{}{}:
		default:
		}
	}
	return nil
}

// remove takes out one whose group has not begun.
func (q *queue) remove(r *request) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.list, r)
	if i < 0 {
		return false
	}
	q.list = slices.Delete(q.list, i, i+1)
	return true
}

// take moves the next group into a slice that it reuses.
func (q *queue) take(group []*request) []*request {
	group = group[:0]
	q.mu.Lock()
	defer q.mu.Unlock()
	size := 0
	for _, r := range q.list {
		if size += r.size; size > maxGroup && len(group) > 0 {
			break
		}
		group = append(group, r)
	}
	q.list = slices.Delete(q.list, 0, len(group))
	return group
}

// close refuses all later commits. It says whether it was the first.
func (q *queue) close() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	was := q.closed
	q.closed = true
	return !was
}

// Commit implements records.Store. It waits for the disk. A context that ends
// before the work has begun ends the wait, and nothing was done; later it does
// not.
func (j *Journal) Commit(ctx context.Context, writes []records.Write) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	size, err := validate(writes)
	if err != nil || len(writes) == 0 {
		return err
	}
	return j.submit(ctx, writes, size, false)
}

func (j *Journal) submit(ctx context.Context, writes []records.Write, size int, own bool) error {
	r := requests.Get().(*request)
	defer r.release()
	r.writes, r.size, r.own = writes, size, own
	if err := j.queue.add(r); err != nil {
		return err
	}
	select {
	case err := <-r.done:
		return err
	case <-ctx.Done():
		if j.queue.remove(r) {
			return ctx.Err()
		}
		return <-r.done
	}
}

// run is the goroutine that commits. It ends when the queue is closed and empty.
func (j *Journal) run() {
	defer close(j.done)
	var group []*request
	for stopped := false; ; {
		// Other goroutines that can run now may have something to commit too. A group of one
		// costs as much as one of many; where no other goroutine runs, this costs
		// nothing.
		runtime.Gosched()
		group = j.queue.take(group)
		switch {
		case len(group) > 0:
			j.commit(group)
			continue
		case stopped:
			return
		}
		select {
		case <-j.queue.wake:
		case <-j.stop:
			stopped = true
		}
	}
}

// commit does the work of a group and tells each of its callers. Commits that do
// not fit together are tried one by one, so that a big one does not fail the small
// ones.
func (j *Journal) commit(group []*request) {
	err := j.write(group)
	if len(group) == 1 || !errors.Is(err, ErrFull) {
		for _, r := range group {
			r.done <- err
		}
		return
	}
	for i := range group {
		group[i].done <- j.write(group[i : i+1])
	}
}

// write makes the writes of a group durable, all or none.
func (j *Journal) write(group []*request) error {
	j.batch.gather(group)
	defer j.batch.forget()
	j.keepPlace(group)
	err := j.use(func(f *boltfile.File) error { return f.Update(j.batch.apply) })
	if err != nil {
		return fmt.Errorf("journal: commit to %s: %w", j.open.Path, err)
	}
	return nil
}

// batch is what a group comes to: one write for each key. It is used again and
// again, so that a commit allocates little.
type batch struct {
	items []item
	buf   []byte // the keys and stored values of a transaction
}

type item struct {
	*records.Write
	own bool
	seq int32
}

// gather sorts the writes of a group by table and key, and keeps the last of each
// key.
func (b *batch) gather(group []*request) {
	for _, r := range group {
		for i := range r.writes {
			b.items = append(b.items, item{&r.writes[i], r.own, int32(len(b.items))})
		}
	}
	sorted.Func(b.items, item.compare)
	n := 0
	for i := range b.items {
		if i+1 < len(b.items) && b.items[i].same(b.items[i+1]) {
			continue
		}
		b.items[n] = b.items[i]
		n++
	}
	clear(b.items[n:])
	b.items = b.items[:n]
}

// forget lets go of the callers' data, and of a buffer that was big once.
func (b *batch) forget() {
	clear(b.items)
	b.items, b.buf = b.items[:0], b.buf[:0]
	if cap(b.buf) > keepBuffer {
		b.buf = nil
	}
	if cap(b.items) > keepItems {
		b.items = nil
	}
}

func (a item) compare(b item) int {
	if a.own != b.own {
		if a.own {
			return 1
		}
		return -1
	}
	if c := strings.Compare(a.Table, b.Table); c != 0 {
		return c
	}
	if c := strings.Compare(a.Key, b.Key); c != 0 {
		return c
	}
	return cmp.Compare(a.seq, b.seq)
}

func (a item) same(b item) bool { return a.own == b.own && a.Key == b.Key && a.Table == b.Table }

// bucket appends the name of the bucket of an item.
func (a item) bucket(to []byte) []byte {
	if !a.own {
		to = append(to, tablePrefix...)
	}
	return append(to, a.Table...)
}

// apply does the writes. dirty is false if there was nothing to do.
func (b *batch) apply(tx *bbolt.Tx) (dirty bool, err error) {
	b.buf = b.buf[:0] // a second time where the file was replaced
	for i := 0; i < len(b.items); {
		end := i + 1
		for end < len(b.items) && b.items[end].own == b.items[i].own && b.items[end].Table == b.items[i].Table {
			end++
		}
		did, err := b.table(tx, b.items[i:end])
		if err != nil {
			return false, err
		}
		dirty, i = dirty || did, end
	}
	return dirty, nil
}

// table does the writes of one table, in the order of their keys.
func (b *batch) table(tx *bbolt.Tx, items []item) (dirty bool, err error) {
	name := b.keep(func(to []byte) []byte { return items[0].bucket(to) })
	bucket := tx.Bucket(name)
	if bucket == nil {
		if !slices.ContainsFunc(items, func(w item) bool { return w.Value != nil }) {
			return false, nil
		}
		if bucket, err = tx.CreateBucket(name); err != nil {
			return false, err
		}
	}
	seed, at := boltfile.BucketSum(name), bucket.Cursor()
	for _, w := range items {
		did, err := b.record(bucket, at, seed, w)
		if err != nil {
			return false, err
		}
		dirty = dirty || did
	}
	return dirty, nil
}

func (b *batch) record(bucket *bbolt.Bucket, at *bbolt.Cursor, seed uint32, w item) (dirty bool, err error) {
	key := b.keep(func(to []byte) []byte { return append(to, w.Key...) })
	if w.Value != nil {
		return true, bucket.Put(key, b.keep(func(to []byte) []byte { return boltfile.Sealed(to, seed, key, w.Value) }))
	}
	if k, _ := at.Seek(key); string(k) != w.Key {
		return false, nil
	}
	return true, at.Delete()
}

// keep returns what add appends to the buffer. It stays as it is until the
// transaction ends, also when the buffer moves.
func (b *batch) keep(add func([]byte) []byte) []byte {
	from := len(b.buf)
	b.buf = add(b.buf)
	return b.buf[from:len(b.buf):len(b.buf)]
}
