package bolt

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/internal/boltfile"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/internal/mvcc"
)

// ErrLocked says that another process has the file open.
var ErrLocked = boltfile.ErrLocked

// Options are how a file is kept. The zero value is good.
type Options struct {
	Log     *slog.Logger  // warnings about the file; nil is silent
	Clock   clock.Clock   // bounds the history; nil is the machine's
	MaxFile int64         // bytes that the file may grow to; 0 is 8 GiB
	History int           // changes that are remembered at most; 0 is 200,000
	KeepFor time.Duration // how long changes are remembered, where History allows it; 0 is an hour
}

func (o Options) withDefaults() Options {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Clock == nil {
		o.Clock = clock.System{}
	}
	if o.MaxFile <= 0 {
		o.MaxFile = 8 << 30
	}
	if o.History <= 0 {
		o.History = 200_000
	}
	if o.KeepFor <= 0 {
		o.KeepFor = time.Hour
	}
	return o
}

// DamageError tells that a file is there and cannot be used.
type DamageError struct {
	Path  string
	Cause error
}

// Error implements error.
func (e *DamageError) Error() string {
	return fmt.Sprintf("the store %s cannot be used: %v; mgmt never replaces it, since that would delete every object in it: "+
		"move the file away, start mgmt, and restore a dump by `mgmt api apply -f DUMP`", e.Path, e.Cause)
}

// Lasting says that no later try helps: a person has to look at the file.
func (*DamageError) Lasting() bool { return true }

// Unwrap returns the cause.
func (e *DamageError) Unwrap() error { return e.Cause }

// World is an world.World in a file.
type World struct {
	*mvcc.Client
	table *table
}

var _ world.World = (*World)(nil)

// Open opens the store of a path, and makes it where there is none; its folder must
// exist. It reads the file once. The error is ErrLocked where another process has the
// file open, a DamageError where the file is not to be trusted, or of the class
// world.ErrUnavailable where none can be made.
func Open(path string, o Options) (*World, error) {
	o = o.withDefaults()
	t := &table{place: boltfile.Place{Path: path, MaxSize: o.MaxFile}, log: o.Log, clock: o.Clock}
	f, err := t.open()
	if err != nil {
		return nil, err
	}
	t.file = f
	err = t.Update(func(w mvcc.Writer) error { return endLeases(w.(*writer), o.Clock.Now().Unix()) })
	if err != nil {
		if boltfile.IsDamage(err) {
			err = &DamageError{path, err}
		}
		return nil, errors.Join(err, t.Close())
	}
	return &World{mvcc.New(t, o.Clock, mvcc.Keep{Most: o.History, For: o.KeepFor}).Client(), t}, nil
}

// table is an mvcc.Backend in a file.
type table struct {
	place boltfile.Place
	log   *slog.Logger

	placing sync.Mutex // held while the place is looked at, and before mu
	bad     error      // why the file has no name, which was told; nil where it has its own
	tries   boltfile.Tries
	clock   clock.Clock

	mu   sync.RWMutex // held for writing while file is replaced
	file *boltfile.File
}

// open returns the file of the path, which is made where it is absent, looked at, and
// made smaller where most of it is free.
func (t *table) open() (*boltfile.File, error) {
	for compacted := false; ; {
		f, err := boltfile.OpenLocked(t.place.Path, 0)
		if errors.Is(err, fs.ErrNotExist) {
			if err := t.place.Create(create); err != nil {
				return nil, unavailable(t.place.Path, err)
			}
			continue
		}
		if err != nil {
			return nil, unavailable(t.place.Path, err)
		}
		file, use, err := t.look(f)
		if err != nil {
			_ = f.Close() // nothing was written, and bbolt may have closed it
			return nil, t.unusable(err)
		}
		if !use.Wasteful() || compacted {
			_ = os.Remove(t.place.Fresh()) // of a process that was killed
			return file, nil
		}
		compacted = true
		if err := t.place.Compact(file); err != nil {
			t.log.Warn("the store cannot be made smaller", "path", t.place.Path, "error", err)
		}
		if err := file.Close(); err != nil {
			return nil, unavailable(t.place.Path, err)
		}
	}
}

// unusable is the error of a file that cannot be opened. Only a file that holds wrong content is damaged:
// a disk that cannot be read, or a limit of the machine, passes, and the file is good then.
func (t *table) unusable(err error) error {
	if boltfile.IsDamage(err) {
		return &DamageError{t.place.Path, err}
	}
	return unavailable(t.place.Path, err)
}

// look checks a file before bbolt maps it.
func (t *table) look(f *os.File) (*boltfile.File, boltfile.Usage, error) {
	if info, err := f.Stat(); err == nil && info.Size() == 0 {
		return nil, boltfile.Usage{}, boltfile.Damaged("another program has emptied it")
	}
	known := false
	use, err := boltfile.Check(f, boltfile.CheckLimit, func(bucket, key, stored []byte) error {
		value, ok := boltfile.Unseal(bucket, key, stored)
		switch {
		case !ok:
			return boltfile.Damaged("the record %q of %q has changed", key, bucket)
		case string(bucket) != bucketMeta || string(key) != keyFormat:
			return nil
		case string(value) != format:
			return boltfile.Damaged("its format is %q, and this program knows %q", value, format)
		}
		known = true
		return nil
	})
	if err == nil && !known {
		err = boltfile.Damaged("it is no store of this program")
	}
	if err != nil {
		return nil, use, err
	}
	file, err := boltfile.Open(f, t.place.MaxSize)
	return file, use, err
}

// View implements mvcc.Backend.
func (t *table) View(do func(mvcc.Reader) error) error {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.named(t.file.View(func(tx *bbolt.Tx) error {
		r, err := newReader(tx)
		if err != nil {
			return err
		}
		return do(r)
	}))
}

// Update implements mvcc.Backend. An error of do leaves everything as it was.
func (t *table) Update(do func(mvcc.Writer) error) error {
	_ = t.keepPlace() // it is told, and the change is made in the file without a name
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.named(t.file.Update(func(tx *bbolt.Tx) (bool, error) {
		r, err := newReader(tx)
		if err != nil {
			return false, err
		}
		w := &writer{reader: *r}
		if err := do(w); err != nil {
			return false, err
		}
		return w.dirty, w.save()
	}))
}

// Close implements mvcc.Backend.
func (t *table) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	// The newest changes go to the others, for a program that does not know them. A full disk keeps them where they are.
	_ = t.file.Update(func(tx *bbolt.Tx) (bool, error) {
		r, err := newReader(tx)
		if err != nil {
			return false, err
		}
		w := &writer{reader: *r}
		if err := w.flush(); err != nil {
			return false, err
		}
		return w.dirty, w.save()
	})
	return t.file.Close()
}

// named gives an error of the file its class and the file's name. The errors of a
// caller pass as they are.
func (t *table) named(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, berrors.ErrDatabaseNotOpen):
		return world.ErrClosed
	case boltfile.IsDamage(err):
		return fmt.Errorf("%w: %w", world.ErrUnavailable, &DamageError{t.place.Path, err})
	case errors.Is(boltfile.Classify(err), boltfile.ErrFull), errors.Is(boltfile.Classify(err), boltfile.ErrUnwritable),
		errors.As(err, new(*fs.PathError)), errors.As(err, new(*os.SyscallError)):
		return unavailable(t.place.Path, boltfile.Classify(err))
	}
	return err
}

func unavailable(path string, err error) error {
	return fmt.Errorf("%w: the store %s: %w", world.ErrUnavailable, path, err)
}

// Keep looks whether the file is still at its path, and writes it again with all that it has where it was removed: without its name, all of it goes with
// the process. The error says why it is not there; then the work goes on in the file without a name.
func (w *World) Keep() error { return w.table.keepPlace() }

// keepPlace does what Keep says, also before each change. Where another file is there now, or none can be made, one warning says so, until that is over.
func (t *table) keepPlace() error {
	t.placing.Lock()
	defer t.placing.Unlock()
	now, err := os.Stat(t.place.Path)
	mine, e := t.file.Stat()
	switch {
	case e != nil, err == nil && os.SameFile(now, mine):
		t.bad = nil
		return nil
	case t.bad != nil && !t.tries.Due(t.clock.Now()):
		return t.bad
	case err == nil:
		err = errors.New("another file is in its place")
	case errors.Is(err, fs.ErrNotExist):
		err = t.rewrite()
	}
	t.tries = t.tries.After(t.clock.Now(), err)
	if err == nil {
		t.bad = nil
		t.log.Warn("the store was removed while it is in use, and was written again", "path", t.place.Path)
		return nil
	}
	if t.bad == nil {
		t.log.Warn("THE STORE WAS REMOVED WHILE IT IS IN USE: its objects are lost when the program ends, unless a dump is made now by mgmt api dump",
			"path", t.place.Path, "error", err)
	}
	t.bad = fmt.Errorf("the store %s was removed, and its objects are lost when the program ends, unless a dump is made now by mgmt api dump: %w", t.place.Path, err)
	return t.bad
}

// rewrite makes a file of the same content under the name, and goes on with that.
func (t *table) rewrite() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.place.Replace(func(now os.FileInfo) bool { return now == nil }, t.file.CopyTo); err != nil {
		return err
	}
	file, err := t.open()
	if err != nil {
		return err
	}
	old := t.file
	t.file = file
	if err := old.Close(); err != nil {
		t.log.Warn("the removed store cannot be closed", "path", t.place.Path, "error", err)
	}
	return nil
}
