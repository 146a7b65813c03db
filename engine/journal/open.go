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
)

const (
	keepDamaged = 3        // so many files that were set aside stay
	compactFrom = 4 << 20  // bytes of a file below which it is not worth it
	compactMost = 64 << 20 // bytes in use above which it takes too long
)

// opener opens the file of a path, makes it where it is absent, and sets it aside
// where it is damaged.
type opener struct {
	path    string
	maxSize int64
	log     *slog.Logger
	seed    func() uint64 // the ceiling of a file that follows a damaged one
}

// open returns a file that has been looked at and is locked.
func (o *opener) open() (*file, error) {
	compacted := false
	for range 6 {
		f, err := openLocked(o.path, 0)
		if isAbsent(err) || err == nil && isEmpty(f) {
			if f != nil {
				o.log.Warn("the journal was emptied by another program, a new one is started: "+lost, "path", o.path)
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
		case isDamage(err):
			if err := o.setAside(f, err); err != nil {
				return nil, err
			}
		case err != nil:
			_ = f.Close()
			return nil, err
		case use.wasteful() && !compacted:
			compacted = true
			o.compact(bolt)
			_ = bolt.close()
		default:
			_ = os.Remove(o.fresh()) // of a process that was killed
			return bolt, nil
		}
	}
	return nil, fmt.Errorf("journal: %s does not stay as it was made", o.path)
}

func (o *opener) fresh() string { return o.path + ".new" }

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
func (o *opener) look(f *os.File) (*file, usage, error) {
	sawFormat := false
	use, err := check(f, checkLimit, func(bucket, key, value []byte) error {
		got, ok := unseal(bucket, key, value)
		if string(bucket) == bucketMeta && string(key) == keyFormat {
			sawFormat = true
			if ok && string(got) != format {
				return damaged("its format is %q, and this program knows %q", got, format)
			}
		}
		if !ok {
			return damaged("the record %q of %q has changed", key, bucket)
		}
		return nil
	})
	if err == nil && !sawFormat {
		err = damaged("it is not a journal of this program")
	}
	if err != nil {
		return nil, use, err
	}
	bolt, err := openBolt(f, o.maxSize)
	return bolt, use, err
}

// create makes a file of no records under another name, and gives it its own when
// it is complete and on the disk. The maker of one holds the lock of the other
// name.
func (o *opener) create() error {
	return o.replace(func(old os.FileInfo) bool { return old == nil || old.Size() == 0 }, new(rescue).fill)
}

// replace puts a new file that fill has filled in the place of the old one, if
// may says so of that one.
func (o *opener) replace(may func(old os.FileInfo) bool, fill func(*file) error) error {
	f, err := openLocked(o.fresh(), os.O_CREATE)
	if err != nil {
		return err
	}
	defer f.Close() // a second time where bbolt has closed it
	if old, _ := os.Stat(o.path); !may(old) {
		return nil
	}
	if err := o.fill(f, fill); err != nil {
		_ = os.Remove(o.fresh())
		return err
	}
	return nil
}

func (o *opener) fill(f *os.File, fill func(*file) error) error {
	if err := f.Truncate(0); err != nil {
		return classify(err)
	}
	bolt, err := openBolt(f, o.maxSize)
	if err != nil {
		return err
	}
	defer bolt.close() // after the rename: it ends the lock
	if err := fill(bolt); err != nil {
		return err
	}
	if err := os.Rename(o.fresh(), o.path); err != nil {
		return classify(err)
	}
	return syncDir(o.path)
}

// wasteful says whether most of a big file is free.
func (u usage) wasteful() bool {
	return u.complete && u.size >= compactFrom && u.used <= compactMost && u.used < u.size/4
}

// compact copies the used pages into a file of their size. A failure does no harm:
// the old one is as good.
func (o *opener) compact(bolt *file) {
	if err := o.replace(func(os.FileInfo) bool { return true }, bolt.copyTo); err != nil {
		o.log.Warn("the journal cannot be made smaller", "path", o.path, "error", err)
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
	aside := o.asideName()
	err := o.replace(func(os.FileInfo) bool { return true }, func(bolt *file) error {
		if err := kept.fill(bolt); err != nil {
			return err
		}
		return classify(os.Link(o.path, aside))
	})
	if err != nil {
		return fmt.Errorf("journal: %s is damaged (%w) and cannot be set aside: %w", o.path, cause, err)
	}
	text := "the journal is damaged and was set aside, a new one is started: " + lost
	if kept.count > 0 {
		text = "the journal is damaged and was set aside, all records that are whole go on in a new one: some are lost"
	}
	o.log.Warn(text, "path", o.path, "kept as", aside, "error", cause, "kept", kept.count, "damaged", kept.names())
	return nil
}

// asideName returns the next name for a damaged file and removes the surplus ones.
func (o *opener) asideName() string {
	prefix := o.path + ".damaged-"
	last, found := 0, []int(nil)
	entries, _ := os.ReadDir(filepath.Dir(o.path))
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
func readCeiling(bolt *file) (ceiling uint64, err error) {
	err = bolt.view(func(tx *bbolt.Tx) error {
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
	v, ok := unseal([]byte(bucket), key, v)
	if !ok {
		return nil, damaged("the record %q of %q has changed", key, bucket)
	}
	return bytes.Clone(v), nil
}
