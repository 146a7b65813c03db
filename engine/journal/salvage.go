package journal

import (
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"go.etcd.io/bbolt"

	"github.com/reactivegraph/mgmt/engine/internal/boltfile"
)

// rescue has the whole records of a damaged file, and the names of the damaged ones. The zero value is an empty journal.
type rescue struct {
	buckets map[string]map[string][]byte // what is stored, with its sums
	ceiling uint64
	count   int // records of tables and chunks of the history
	damaged []string
	more    int // damages beyond damaged
}

// namedDamages is how many damages a warning names.
const namedDamages = 20

// salvage reads the records that are whole. Each is known by its sum over its table, its key and its value: so a
// page whose structure is damaged still gives up its records. A file of another format gives none.
func salvage(f *os.File) *rescue {
	r := &rescue{buckets: map[string]map[string][]byte{}}
	foreign := false
	_, err := boltfile.Walk(f, func(bucket, key, stored []byte) error {
		value, ok := boltfile.Unseal(bucket, key, stored)
		switch {
		case !ok:
			r.note(fmt.Sprintf("%q of %s", key, tableName(bucket)))
		case string(bucket) != bucketMeta:
			r.keep(bucket, key, stored)
		case string(key) == keyFormat:
			foreign = foreign || string(value) != format
		case string(key) == keyCeiling && len(value) == 8:
			r.ceiling = binary.BigEndian.Uint64(value)
		}
		return nil
	}, func(damage error) error {
		r.note(damage.Error())
		return nil
	})
	if err != nil || foreign {
		return &rescue{damaged: r.damaged, more: r.more}
	}
	return r
}

func (r *rescue) keep(bucket, key, stored []byte) {
	b := r.buckets[string(bucket)]
	if b == nil {
		b = map[string][]byte{}
		r.buckets[string(bucket)] = b
	}
	if _, twice := b[string(key)]; !twice {
		r.count++
		b[string(key)] = slices.Clone(stored)
	}
}

func (r *rescue) note(what string) {
	if len(r.damaged) == namedDamages {
		r.more++
		return
	}
	r.damaged = append(r.damaged, what)
}

// names is the damages in one text.
func (r *rescue) names() string {
	text := strings.Join(r.damaged, "; ")
	if r.more > 0 {
		text += fmt.Sprintf("; and %d more", r.more)
	}
	return text
}

// tableName is what a person calls a bucket.
func tableName(bucket []byte) string {
	switch name := string(bucket); name {
	case bucketMeta:
		return "the journal itself"
	case bucketHistory:
		return "the history"
	default:
		return "the table " + strings.TrimPrefix(name, tablePrefix)
	}
}

// fill writes all of it to a new file.
func (r *rescue) fill(bolt *boltfile.File) error {
	meta := []byte(bucketMeta)
	stored := maps.Clone(r.buckets)
	if stored == nil {
		stored = map[string]map[string][]byte{}
	}
	stored[bucketMeta] = map[string][]byte{
		keyCeiling: boltfile.Seal(nil, meta, []byte(keyCeiling), binary.BigEndian.AppendUint64(nil, r.ceiling)),
		keyFormat:  boltfile.Seal(nil, meta, []byte(keyFormat), []byte(format)),
	}
	return bolt.Update(func(tx *bbolt.Tx) (bool, error) {
		for _, name := range slices.Sorted(maps.Keys(stored)) {
			b, err := tx.CreateBucket([]byte(name))
			if err != nil {
				return false, err
			}
			for _, key := range slices.Sorted(maps.Keys(stored[name])) {
				if err := b.Put([]byte(key), stored[name][key]); err != nil {
					return false, err
				}
			}
		}
		return true, nil
	})
}
