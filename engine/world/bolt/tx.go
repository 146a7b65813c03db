package bolt

import (
	"bytes"
	"encoding/binary"

	"go.etcd.io/bbolt"

	"github.com/reactivegraph/mgmt/engine/internal/boltfile"
	"github.com/reactivegraph/mgmt/engine/world/internal/mvcc"
)

// reader is an mvcc.Reader over one transaction.
type reader struct {
	tx                *bbolt.Tx
	versions, history *bbolt.Bucket
	state             mvcc.State
	apart             []byte // the newest changes as they are in the file, which come behind those of history
	many              int    // of apart
}

// entry is one change of the history, with its number within the revision.
type entry struct {
	mvcc.Change
	n uint32
}

func newReader(tx *bbolt.Tx) (*reader, error) {
	meta := tx.Bucket([]byte(bucketMeta))
	r := &reader{tx: tx, versions: tx.Bucket([]byte(bucketVersions)), history: tx.Bucket([]byte(bucketHistory))}
	if meta == nil || r.versions == nil || r.history == nil {
		return nil, boltfile.Damaged("a table is not there")
	}
	b, sound := boltfile.Unseal([]byte(bucketMeta), []byte(keyState), meta.Get([]byte(keyState)))
	state, ok := decodeState(b)
	if !sound || !ok {
		return nil, boltfile.Damaged("the record %q of %q has changed", keyState, bucketMeta)
	}
	r.state = state
	return r, r.readRecent(meta)
}

// readRecent reads the newest changes. Where their revision is not that of the state, a program has written the file that does
// not know them. Then the history begins later, and the floor of the state says where.
func (r *reader) readRecent(meta *bbolt.Bucket) error {
	stored := meta.Get([]byte(keyRecent))
	if stored == nil {
		return nil
	}
	b, sound := boltfile.Unseal([]byte(bucketMeta), []byte(keyRecent), stored)
	h, list, ok := decodeHead(b)
	if !sound || !ok {
		return errRecent()
	}
	if h.rev == r.state.Rev {
		r.apart, r.many, r.state.Floor = list, h.n, h.floor
		r.state.Log += h.n
	}
	return nil
}

func errRecent() error {
	return boltfile.Damaged("the record %q of %q has changed", keyRecent, bucketMeta)
}

// State implements mvcc.Reader.
func (r *reader) State() mvcc.State { return r.state }

// Last implements mvcc.Reader.
func (r *reader) Last(key string, at int64) (v mvcc.Version, ok bool, err error) {
	want := versionKey(key, at)
	c := r.versions.Cursor()
	k, stored := c.Seek(want)
	switch {
	case k == nil:
		k, stored = c.Last()
	case !bytes.Equal(k, want):
		k, stored = c.Prev()
	}
	n := len(want) - revSize
	if len(k) != len(want) || !bytes.Equal(k[:n], want[:n]) {
		return v, false, nil
	}
	v, err = decodeVersion(k, stored)
	return v, err == nil, err
}

// Scan implements mvcc.Reader.
func (r *reader) Scan(prefix, after string, at int64, yield func(mvcc.Version) bool) error {
	below := appendPrefix(nil, prefix)
	from := below
	if after >= prefix {
		from = binary.BigEndian.AppendUint64(appendKey(nil, after), 1<<64-1)
	}
	var name, key, stored []byte // of the newest version of a key that was seen
	emit := func() (bool, error) {
		if key == nil {
			return true, nil
		}
		v, err := decodeVersion(key, stored)
		key = nil
		return err == nil && (v.Deleted || yield(v)), err
	}
	c := r.versions.Cursor()
	for k, s := c.Seek(from); k != nil && bytes.HasPrefix(k, below); k, s = c.Next() {
		here, rev, ok := splitKey(k)
		if !ok {
			return boltfile.Damaged("the record %q of %q has changed", k, bucketVersions)
		}
		if !bytes.Equal(here, name) {
			if more, err := emit(); !more {
				return err
			}
			name = here
		}
		if rev <= at {
			key, stored = k, s
		}
	}
	_, err := emit()
	return err
}

// Changes implements mvcc.Reader.
func (r *reader) Changes(after int64, yield func(mvcc.Change) bool) error {
	c := r.history.Cursor()
	for k, stored := c.Seek(changeKey(after+1, 0)); k != nil; k, stored = c.Next() {
		change, err := decodeChange(k, stored)
		if err != nil {
			return err
		}
		if !yield(change) {
			return nil
		}
	}
	list, ok := decodeRecent(r.apart)
	if !ok {
		return errRecent()
	}
	for _, e := range list {
		if e.Rev > after && !yield(e.Change) {
			return nil
		}
	}
	return nil
}

// writer is an mvcc.Writer over one transaction.
type writer struct {
	reader
	entry uint32 // entries of state.Rev in the history, where this transaction made it
	dirty bool
}

// Put implements mvcc.Writer.
func (w *writer) Put(v mvcc.Version, time int64) error {
	if v.Rev > w.state.Rev {
		w.entry = 0
	}
	if err := putSealed(w.versions, bucketVersions, versionKey(v.Key, v.Rev), encodeVersion(v)); err != nil {
		return err
	}
	w.apart = appendEntry(bytes.Clone(w.apart), entry{mvcc.Change{Rev: v.Rev, Time: time, Key: v.Key}, w.entry})
	w.many++
	w.entry++
	w.state.Rev, w.dirty = v.Rev, true
	w.state.Log++
	if len(w.apart) > maxRecent {
		return w.flush()
	}
	return nil
}

// flush moves the newest changes to the others. Most transactions leave that out: the history has pages of its own, and each
// page more makes a commit slower.
func (w *writer) flush() error {
	list, ok := decodeRecent(w.apart)
	if !ok {
		return errRecent()
	}
	for _, e := range list {
		if err := putSealed(w.history, bucketHistory, changeKey(e.Rev, e.n), encodeChange(e.Change)); err != nil {
			return err
		}
	}
	w.dirty = w.dirty || w.many > 0
	w.apart, w.many = nil, 0
	return nil
}

func putSealed(b *bbolt.Bucket, bucket string, key, value []byte) error {
	return b.Put(key, boltfile.Seal(make([]byte, 0, boltfile.SealSize+len(value)), []byte(bucket), key, value))
}

// Forget implements mvcc.Writer.
func (w *writer) Forget() error {
	c := w.history.Cursor()
	k, stored := c.First()
	if k == nil {
		if err := w.flush(); err != nil {
			return err
		}
		if k, stored = c.First(); k == nil {
			return nil
		}
	}
	change, err := decodeChange(k, stored)
	if err != nil {
		return err
	}
	if err := c.Delete(); err != nil {
		return err
	}
	w.state.Floor, w.dirty = change.Rev, true
	w.state.Log--
	if err := w.drop(change.Key, change.Rev-1, false); err != nil {
		return err
	}
	return w.drop(change.Key, change.Rev, true)
}

// drop removes the newest version of a key up to a revision, or only if it is a deletion.
func (w *writer) drop(key string, at int64, deletion bool) error {
	v, ok, err := w.Last(key, at)
	if err != nil || !ok || deletion && !v.Deleted {
		return err
	}
	return w.versions.Delete(versionKey(key, v.Rev))
}

// save writes the state and the newest changes. A program that knows no such changes finds a sound file too: the state says
// to it that the history begins after them.
func (w *writer) save() error {
	if !w.dirty {
		return nil
	}
	stored := w.state
	stored.Log -= w.many
	if w.many == 0 {
		if err := w.tx.Bucket([]byte(bucketMeta)).Delete([]byte(keyRecent)); err != nil {
			return err
		}
		return putMeta(w.tx, keyState, encodeState(stored))
	}
	stored.Floor = stored.Rev
	if err := putMeta(w.tx, keyRecent, encodeRecent(head{w.state.Rev, w.state.Floor, w.many}, w.apart)); err != nil {
		return err
	}
	return putMeta(w.tx, keyState, encodeState(stored))
}

// endLeases deletes the keys that were put with a lease of an earlier process.
func endLeases(w *writer, now int64) error {
	var keys []string
	err := w.Scan("", "", w.state.Rev, func(v mvcc.Version) bool {
		if v.Lease != 0 {
			keys = append(keys, v.Key)
		}
		return true
	})
	if err != nil {
		return err
	}
	rev := w.state.Rev + 1
	for _, key := range keys {
		if err := w.Put(mvcc.Version{Key: key, Rev: rev, Deleted: true}, now); err != nil {
			return err
		}
	}
	return nil
}
