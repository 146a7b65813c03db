package bolt

import (
	"bytes"
	"encoding/binary"

	"go.etcd.io/bbolt"

	"github.com/reactivegraph/mgmt/engine/internal/boltfile"
	"github.com/reactivegraph/mgmt/engine/world/internal/mvcc"
)

// format is the version of the file's content. Another one is refused.
const format = "1"

// The buckets. Every value in them is sealed.
const (
	bucketMeta     = "!"
	bucketVersions = "versions" // the key and its revision -> its value from that revision on
	bucketHistory  = "history"  // the revision and a number within it -> time and key
)

// The keys of bucketMeta.
const (
	keyFormat = "format"
	keyState  = "state"  // State, as three numbers; its Log and Floor are about bucketHistory alone
	keyRecent = "recent" // the newest changes, which are not in bucketHistory yet; absent for none
)

// maxRecent bounds the newest changes, in bytes. With them bucketMeta stays below a quarter of a page. Such a bucket has no page of
// its own: bbolt keeps it in the root page, which each commit writes.
const maxRecent = 800

// create gives a new file its content.
func create(f *boltfile.File) error {
	return f.Update(func(tx *bbolt.Tx) (bool, error) {
		for _, name := range []string{bucketMeta, bucketVersions, bucketHistory} {
			if _, err := tx.CreateBucket([]byte(name)); err != nil {
				return false, err
			}
		}
		if err := putMeta(tx, keyState, encodeState(mvcc.State{Rev: mvcc.FirstRev})); err != nil {
			return false, err
		}
		return true, putMeta(tx, keyFormat, []byte(format))
	})
}

func putMeta(tx *bbolt.Tx, key string, value []byte) error {
	b := []byte(bucketMeta)
	return tx.Bucket(b).Put([]byte(key), boltfile.Seal(nil, b, []byte(key), value))
}

func encodeState(s mvcc.State) []byte {
	b := binary.BigEndian.AppendUint64(nil, uint64(s.Rev))
	b = binary.BigEndian.AppendUint64(b, uint64(s.Floor))
	return binary.BigEndian.AppendUint64(b, uint64(s.Log))
}

func decodeState(b []byte) (s mvcc.State, ok bool) {
	if len(b) != 24 {
		return s, false
	}
	n := binary.BigEndian
	rev := max(int64(n.Uint64(b)), mvcc.FirstRev) // a file of before, without a change, has 0
	return mvcc.State{Rev: rev, Floor: int64(n.Uint64(b[8:])), Log: int(n.Uint64(b[16:]))}, true
}

// head says what the newest changes belong to.
type head struct {
	rev, floor int64 // of the state, and of the whole history
	n          int   // changes
}

// The sizes of a head, and of an entry without its key: revision 8, number 4, time 8, size of the key 4.
const (
	headSize   = 24
	recentHead = 24
)

// encodeRecent puts a head before entries.
func encodeRecent(h head, entries []byte) []byte {
	n := binary.BigEndian
	b := n.AppendUint64(make([]byte, 0, headSize+len(entries)), uint64(h.rev))
	b = n.AppendUint64(n.AppendUint64(b, uint64(h.floor)), uint64(h.n))
	return append(b, entries...)
}

// appendEntry appends one change.
func appendEntry(to []byte, e entry) []byte {
	n := binary.BigEndian
	to = n.AppendUint32(n.AppendUint64(to, uint64(e.Rev)), e.n)
	to = n.AppendUint32(n.AppendUint64(to, uint64(e.Time)), uint32(len(e.Key)))
	return append(to, e.Key...)
}

// decodeHead undoes encodeRecent. The entries are decoded where they are needed, which a Get does not.
func decodeHead(b []byte) (h head, entries []byte, ok bool) {
	if len(b) < headSize {
		return h, nil, false
	}
	n := binary.BigEndian
	return head{int64(n.Uint64(b)), int64(n.Uint64(b[8:])), int(n.Uint64(b[16:]))}, b[headSize:], true
}

// decodeRecent returns the entries.
func decodeRecent(b []byte) (list []entry, ok bool) {
	n := binary.BigEndian
	for len(b) > 0 {
		if len(b) < recentHead || uint64(len(b)) < recentHead+uint64(n.Uint32(b[20:])) {
			return nil, false
		}
		end := recentHead + int(n.Uint32(b[20:]))
		list = append(list, entry{mvcc.Change{Rev: int64(n.Uint64(b)), Time: int64(n.Uint64(b[12:])), Key: string(b[recentHead:end])}, n.Uint32(b[8:])})
		b = b[end:]
	}
	return list, true
}

// appendKey appends a key so that the bytes of two are in the order of the keys, also
// where something follows: a zero is escaped, and a mark ends the key.
func appendKey(to []byte, key string) []byte {
	return append(appendPrefix(to, key), 0, 1)
}

// appendPrefix appends the common beginning of all keys with the prefix.
func appendPrefix(to []byte, prefix string) []byte {
	for i := range len(prefix) {
		if to = append(to, prefix[i]); prefix[i] == 0 {
			to = append(to, 0xFF)
		}
	}
	return to
}

// versionKey is the key of a version.
func versionKey(key string, rev int64) []byte {
	return binary.BigEndian.AppendUint64(appendKey(make([]byte, 0, len(key)+10), key), uint64(rev))
}

const revSize = 8

// splitKey returns the escaped key with its mark, and the revision.
func splitKey(b []byte) (name []byte, rev int64, ok bool) {
	n := len(b) - revSize
	if n < 2 || b[n-2] != 0 || b[n-1] != 1 {
		return nil, 0, false
	}
	return b[:n], int64(binary.BigEndian.Uint64(b[n:])), true
}

// plainKey undoes appendKey.
func plainKey(name []byte) string {
	return string(bytes.ReplaceAll(name[:len(name)-2], []byte{0, 0xFF}, []byte{0}))
}

// versionHead is how many bytes a version has before its value.
const versionHead = 17

func encodeVersion(v mvcc.Version) []byte {
	b := make([]byte, 0, versionHead+len(v.Value))
	b = binary.BigEndian.AppendUint64(b, uint64(v.Created))
	b = binary.BigEndian.AppendUint64(b, uint64(v.Lease))
	flags := byte(0)
	if v.Deleted {
		flags = 1
	}
	return append(append(b, flags), v.Value...)
}

// decodeVersion returns a version whose value is a part of the file's map.
func decodeVersion(key, stored []byte) (v mvcc.Version, err error) {
	name, rev, ok := splitKey(key)
	b, sound := boltfile.Unseal([]byte(bucketVersions), key, stored)
	if !ok || !sound || len(b) < versionHead {
		return v, boltfile.Damaged("the record %q of %q has changed", key, bucketVersions)
	}
	n := binary.BigEndian
	return mvcc.Version{
		Key: plainKey(name), Rev: rev, Created: int64(n.Uint64(b)), Lease: int64(n.Uint64(b[8:])),
		Deleted: b[16] == 1, Value: b[versionHead:],
	}, nil
}

// changeKey is the key of entry n of a revision.
func changeKey(rev int64, n uint32) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(nil, uint64(rev)), n)
}

func encodeChange(c mvcc.Change) []byte {
	return append(binary.BigEndian.AppendUint64(nil, uint64(c.Time)), c.Key...)
}

func decodeChange(key, stored []byte) (c mvcc.Change, err error) {
	b, sound := boltfile.Unseal([]byte(bucketHistory), key, stored)
	if !sound || len(key) != 12 || len(b) < 8 {
		return c, boltfile.Damaged("the record %q of %q has changed", key, bucketHistory)
	}
	n := binary.BigEndian
	return mvcc.Change{Rev: int64(n.Uint64(key)), Time: int64(n.Uint64(b)), Key: string(b[8:])}, nil
}
