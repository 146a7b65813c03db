package journal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"log/slog"
	"sync"
	"sync/atomic"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/reactivegraph/mgmt/engine/internal/boltfile"
	"github.com/reactivegraph/mgmt/engine/records"
)

// Why a journal cannot be had or written to, for errors.Is. With ErrUnwritable
// and ErrFull a caller can go on without durability; with ErrLocked the state
// folder belongs to another process.
var (
	ErrLocked     = boltfile.ErrLocked
	ErrUnwritable = boltfile.ErrUnwritable
	ErrFull       = boltfile.ErrFull
	ErrClosed     = errors.New("journal: it is closed")
)

// format is the version of the file's content. Another one is set aside.
const format = "1"

// The buckets. A table's bucket has its name with a prefix, so that no table can
// take the place of the others. The history comes last: a check that ends at its
// bound has seen the rest.
const (
	bucketMeta    = "!"
	tablePrefix   = "="
	bucketHistory = "~history"
)

// The keys of bucketMeta.
const (
	keyFormat  = "format"
	keyCeiling = "ceiling" // of the ids of the history
)

// isAbsent reports whether there is no file.
func isAbsent(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// Options are how a journal is kept. The zero value is good.
type Options struct {
	// Log gets a warning when a file is set aside. Nil is silent.
	Log *slog.Logger
	// MaxFile is how many bytes the file may grow to, 1 GiB if 0. Records that do
	// not fit are refused with ErrFull.
	MaxFile int64
	// History is what is kept of what has happened.
	History HistoryOptions
	// Kept says that the caller calls Keep again and again, and tells of what that answers.
	Kept bool
}

func (o Options) withDefaults() Options {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.MaxFile <= 0 {
		o.MaxFile = 1 << 30
	}
	o.History = o.History.withDefaults()
	return o
}

// Journal is an records.Store in one file, which belongs to it alone. Two
// goroutines are its own until Close: one commits, one writes the history.
type Journal struct {
	open    opener
	history *History
	queue   queue
	batch   batch // of the goroutine that commits

	placing atomic.Pointer[placing]

	mu   sync.RWMutex   // held for writing while file is replaced
	file *boltfile.File // nil where the last one is gone and none could be made yet

	stop, done chan struct{}
}

var _ records.Store = (*Journal)(nil)

// Open opens the journal of a path, and makes it where there is none. The folder
// must exist. A file that is damaged is set aside with a warning. The error is
// ErrLocked where another process has it open, ErrUnwritable or ErrFull where
// none can be made.
func Open(path string, opt Options) (*Journal, error) {
	opt = opt.withDefaults()
	j := &Journal{
		open: opener{Place: boltfile.Place{Path: path, MaxSize: opt.MaxFile}, log: opt.Log, kept: opt.Kept, seed: opt.History.seed},
		stop: make(chan struct{}), done: make(chan struct{}),
	}
	j.placing.Store(&placing{})
	j.queue.wake = make(chan struct{}, 1)
	j.history = newHistory(&stored{j}, opt.History, opt.Log)
	var err error
	if j.file, err = j.open.open(); err != nil {
		return nil, err
	}
	go j.run()
	j.history.start()
	return j, nil
}

// History returns the history in the file of the journal. It ends with it.
func (j *Journal) History() *History { return j.history }

// Close writes the rest of the history, does waiting commits, and lets go of the
// file. Later calls answer ErrClosed, further Closes nothing.
func (j *Journal) Close() error {
	return errors.Join(j.history.Close(), j.shut())
}

func (j *Journal) shut() error {
	if !j.queue.close() {
		<-j.done
		return nil
	}
	close(j.stop)
	<-j.done
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.file == nil {
		return nil
	}
	f := j.file
	j.file = nil
	return f.Close()
}

// use calls do with the file, and once more with another one if it turns out to be
// damaged or unusable: the same one, looked at again, at first, then a new one.
func (j *Journal) use(do func(*boltfile.File) error) error {
	var err error
	for attempt := range 3 {
		var f *boltfile.File
		if f, err = j.current(do); f == nil || !isSpoilt(err) {
			return err
		}
		if err := j.renew(f, err, attempt > 0); err != nil {
			return err
		}
	}
	return err
}

// current calls do with the file as it is, and makes one where there is none. It
// returns the file that it was called with.
func (j *Journal) current(do func(*boltfile.File) error) (*boltfile.File, error) {
	j.mu.RLock()
	f := j.file
	if f == nil {
		j.mu.RUnlock()
		if err := j.renew(nil, nil, false); err != nil {
			return nil, err
		}
		j.mu.RLock()
		f = j.file
	}
	defer j.mu.RUnlock()
	if f == nil {
		return nil, ErrClosed
	}
	return f, do(f)
}

// isSpoilt says that a file must be opened anew: it is damaged, or bbolt could not
// map it.
func isSpoilt(err error) bool {
	return boltfile.IsDamage(err) || errors.Is(err, berrors.ErrInvalidMapping) || errors.Is(err, berrors.ErrDatabaseNotOpen)
}

// renew replaces a file that cannot be used, unless another caller has. With force
// it is set aside even if it looks sound.
func (j *Journal) renew(old *boltfile.File, cause error, force bool) error {
	fresh, err := j.replace(old, cause, force)
	if fresh && err == nil {
		j.history.stale.Store(true)
	}
	return err
}

func (j *Journal) replace(old *boltfile.File, cause error, force bool) (fresh bool, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.file != old {
		return false, nil
	}
	if j.isShut() {
		return false, ErrClosed
	}
	if old != nil {
		j.file = nil
		if err := old.Close(); err != nil {
			j.open.log.Warn("the journal cannot be closed", "path", j.open.Path, "error", err)
		}
	}
	if force && boltfile.IsDamage(cause) {
		f, err := boltfile.OpenLocked(j.open.Path, 0)
		if err == nil {
			err = j.open.setAside(f, cause)
		}
		if err != nil && !isAbsent(err) {
			return false, err
		}
	}
	j.file, err = j.open.open()
	return true, err
}

// isShut: the goroutine that commits has ended, so no file is opened any more.
func (j *Journal) isShut() bool {
	select {
	case <-j.done:
		return true
	default:
		return false
	}
}

// Records implements records.Store. The table is copied before anything is
// yielded, so a loop may take its time, and may commit. It is in memory meanwhile.
func (j *Journal) Records(ctx context.Context, table string) iter.Seq2[records.Record, error] {
	return func(yield func(records.Record, error) bool) {
		var all *stretches
		err := ctx.Err()
		if err == nil {
			all, err = j.snapshot(ctx, tablePrefix+table)
		}
		if err != nil {
			yield(records.Record{}, err)
			return
		}
		all.yield(ctx, yield)
	}
}

func (j *Journal) snapshot(ctx context.Context, bucket string) (*stretches, error) {
	var all *stretches
	err := j.use(func(f *boltfile.File) error {
		all = &stretches{}
		return f.View(func(tx *bbolt.Tx) error { return all.read(ctx, tx, bucket) })
	})
	if err != nil && !errors.Is(err, ctx.Err()) {
		err = fmt.Errorf("journal: read %s: %w", j.open.Path, err)
	}
	return all, err
}

// records are copies of a table's records, in slabs.
type stretches struct {
	list []stretch
	slab []byte
}

// stretch is one record: its key, then its value.
type stretch struct {
	bytes []byte
	key   int
}

const slabSize = 64 << 10

func (r *stretches) read(ctx context.Context, tx *bbolt.Tx, bucket string) error {
	b := tx.Bucket([]byte(bucket))
	if b == nil {
		return nil
	}
	seed, at := boltfile.BucketSum([]byte(bucket)), b.Cursor()
	for k, v := at.First(); k != nil; k, v = at.Next() {
		if len(k) > maxKey || len(v) > maxValue+boltfile.SealSize {
			return boltfile.Damaged("a record of %q has %d and %d bytes", bucket, len(k), len(v))
		}
		value, ok := boltfile.Unsealed(seed, k, v)
		if !ok {
			return boltfile.Damaged("the record %q of %q has changed", k, bucket)
		}
		r.add(k, value)
		if len(r.list)%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

func (r *stretches) add(k, v []byte) {
	n := len(k) + len(v)
	if cap(r.slab)-len(r.slab) < n {
		r.slab = make([]byte, 0, max(n, slabSize))
	}
	from := len(r.slab)
	r.slab = append(append(r.slab, k...), v...)
	r.list = append(r.list, stretch{r.slab[from:len(r.slab):len(r.slab)], len(k)})
}

func (r *stretches) yield(ctx context.Context, yield func(records.Record, error) bool) {
	for _, s := range r.list {
		if err := ctx.Err(); err != nil {
			yield(records.Record{}, err)
			return
		}
		rec := records.Record{Key: string(s.bytes[:s.key]), Value: append([]byte{}, s.bytes[s.key:]...)}
		if !yield(rec, nil) {
			return
		}
	}
}
