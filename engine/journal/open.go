package journal

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"go.etcd.io/bbolt"

	"github.com/reactivegraph/mgmt/engine/internal/boltfile"
)

// keepDamaged is how many files that were set aside stay.
const keepDamaged = 3

// opener opens the file of a path, makes it where it is absent, and sets it aside
// where it is damaged.
type opener struct {
	boltfile.Place
	log  *slog.Logger
	kept bool          // see Options
	seed func() uint64 // the ceiling of a file that follows a damaged one
}

// open returns a file that has been looked at and is locked.
func (o *opener) open() (*boltfile.File, error) {
	compacted := false
	for range 6 {
		f, err := boltfile.OpenLocked(o.Path, 0)
		if isAbsent(err) || err == nil && isEmpty(f) {
			if f != nil {
				o.log.Warn("the journal was emptied by another program, a new one is started: "+lost, "path", o.Path)
			}
			closeIf(f)
			if err := o.create(); err != nil {
				return nil, err
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		bolt, use, err := o.look(f)
		switch {
		case boltfile.IsDamage(err):
			if err := o.setAside(f, err); err != nil {
				return nil, err
			}
		case err != nil:
			_ = f.Close()
			return nil, err
		case use.Wasteful() && !compacted:
			compacted = true
			o.compact(bolt)
			_ = bolt.Close()
		default:
			_ = os.Remove(o.Fresh()) // of a process that was killed
			return bolt, nil
		}
	}
	return nil, fmt.Errorf("journal: %s does not stay as it was made", o.Path)
}

func isEmpty(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Size() == 0
}

func closeIf(f *os.File) {
	if f != nil {
		_ = f.Close()
	}
}

// look checks a file and opens it.
func (o *opener) look(f *os.File) (*boltfile.File, boltfile.Usage, error) {
	sawFormat := false
	use, err := boltfile.Check(f, boltfile.CheckLimit, func(bucket, key, value []byte) error {
		got, ok := boltfile.Unseal(bucket, key, value)
		if string(bucket) == bucketMeta && string(key) == keyFormat {
			sawFormat = true
			if ok && string(got) != format {
				return boltfile.Damaged("its format is %q, and this program knows %q", got, format)
			}
		}
		if !ok {
			return boltfile.Damaged("the record %q of %q has changed", key, bucket)
		}
		return nil
	})
	if err == nil && !sawFormat {
		err = boltfile.Damaged("it is not a journal of this program")
	}
	if err == nil {
		err = boltfile.CheckMetas(f)
	}
	if err != nil {
		return nil, use, err
	}
	bolt, err := boltfile.Open(f, o.MaxSize)
	return bolt, use, err
}

// create makes a file of no records.
func (o *opener) create() error { return o.Create(new(rescue).fill) }

// compact copies the used pages into a file of their size. A failure does no harm:
// the old one is as good.
func (o *opener) compact(bolt *boltfile.File) {
	if err := o.Compact(bolt); err != nil {
		o.log.Warn("the journal cannot be made smaller", "path", o.Path, "error", err)
	}
}

// lost is what goes with the records of a journal.
const lost = "notifications that were still to be acted on, values that were sent, pauses, what reverse would bring back, and the history are lost"

// setAside keeps a damaged file, of which f is the locked handle, under another name, and puts a file with all of its
// whole records in its place. It names the others. The place always has one of the two.
func (o *opener) setAside(f *os.File, cause error) error {
	defer f.Close()
	kept := salvage(f)
	kept.ceiling = max(kept.ceiling, o.seed())
	aside := o.asideName(".damaged-")
	err := o.Replace(func(os.FileInfo) bool { return true }, func(bolt *boltfile.File) error {
		if err := kept.fill(bolt); err != nil {
			return err
		}
		return boltfile.Classify(os.Link(o.Path, aside))
	})
	if err != nil {
		return fmt.Errorf("journal: %s is damaged (%w) and cannot be set aside: %w", o.Path, cause, err)
	}
	text := "the journal is damaged and was set aside, a new one is started: " + lost
	if kept.count > 0 {
		text = "the journal is damaged and was set aside, all records that are whole go on in a new one: some are lost"
	}
	o.log.Warn(text, "path", o.Path, "kept as", aside, "error", cause, "kept", kept.count, "damaged", kept.names())
	return nil
}

// asideName returns the next name for a file that is set aside and removes the surplus ones.
func (o *opener) asideName(suffix string) string {
	prefix := o.Path + suffix
	last, found := 0, []int(nil)
	entries, _ := os.ReadDir(filepath.Dir(o.Path))
	for _, e := range entries {
		num, ok := strings.CutPrefix(e.Name(), filepath.Base(prefix))
		if n, err := strconv.Atoi(num); ok && err == nil && n > 0 {
			found, last = append(found, n), max(last, n)
		}
	}
	slices.Sort(found)
	for len(found) >= keepDamaged {
		_ = os.Remove(prefix + strconv.Itoa(found[0]))
		found = found[1:]
	}
	return prefix + strconv.Itoa(last+1)
}

// readCeiling returns the ceiling of the ids of a file.
func readCeiling(bolt *boltfile.File) (ceiling uint64, err error) {
	err = bolt.View(func(tx *bbolt.Tx) error {
		v, err := lookup(tx, bucketMeta, []byte(keyCeiling))
		if err == nil && len(v) == 8 {
			ceiling = binary.BigEndian.Uint64(v)
		}
		return err
	})
	return ceiling, err
}

// lookup returns the value of a key, nil where there is none. It is valid for the
// transaction.
func lookup(tx *bbolt.Tx, bucket string, key []byte) ([]byte, error) {
	b := tx.Bucket([]byte(bucket))
	if b == nil {
		return nil, nil
	}
	v := b.Get(key)
	if v == nil {
		return nil, nil
	}
	v, ok := boltfile.Unseal([]byte(bucket), key, v)
	if !ok {
		return nil, boltfile.Damaged("the record %q of %q has changed", key, bucket)
	}
	return bytes.Clone(v), nil
}
