package boltfile

import (
	"errors"
	"os"
	"time"

	"github.com/reactivegraph/mgmt/internal/unix"
)

// Below compactFrom bytes it is not worth it to make a file smaller; with more than
// compactMost in use it takes too long.
const (
	compactFrom = 4 << 20
	compactMost = 64 << 20
)

// Wasteful reports whether most of a big file is free.
func (u Usage) Wasteful() bool {
	return u.Complete && u.Size >= compactFrom && u.Used <= compactMost && u.Used < u.Size/4
}

// Tries are the tries to write a file again for which there was no room: it may be large. The zero value is before the first one.
type Tries struct {
	wait time.Duration
	next time.Time
}

// The waits between two tries double.
const (
	firstWait = time.Second
	lastWait  = time.Minute
)

// Due reports whether it is time for one.
func (t Tries) Due(now time.Time) bool { return !now.Before(t.next) }

// After returns what follows a try that had an error. Only one without room waits.
func (t Tries) After(now time.Time, err error) Tries {
	if !errors.Is(err, ErrFull) {
		return Tries{}
	}
	wait := min(max(2*t.wait, firstWait), lastWait)
	return Tries{wait, now.Add(wait)}
}

// Place is where a file is, or will be.
type Place struct {
	Path    string // in a folder that exists
	MaxSize int64  // bytes that the file may grow to
}

// Fresh is the name under which a new file is made. One that a killed process left
// is used again.
func (p Place) Fresh() string { return p.Path + ".new" }

// Create makes a file where there is none, or an empty one. fill gives it its content.
func (p Place) Create(fill func(*File) error) error {
	return p.Replace(func(old os.FileInfo) bool { return old == nil || old.Size() == 0 }, fill)
}

// Compact replaces a file by one that has only what is in use.
func (p Place) Compact(f *File) error {
	return p.Replace(func(os.FileInfo) bool { return true }, f.CopyTo)
}

// Replace puts a new file that fill has filled in the place of the old one, if may says
// so of that one; old is nil where there is none. The new file gets its name when it is
// complete and on the disk. The maker of one holds the lock of the fresh name.
func (p Place) Replace(may func(old os.FileInfo) bool, fill func(*File) error) error {
	f, err := OpenLocked(p.Fresh(), os.O_CREATE|unix.O_NOFOLLOW)
	if err != nil {
		return err
	}
	defer f.Close() // a second time where bbolt has closed it
	if old, _ := os.Stat(p.Path); !may(old) {
		return nil
	}
	if err := p.fill(f, fill); err != nil {
		_ = os.Remove(p.Fresh())
		return err
	}
	return nil
}

func (p Place) fill(f *os.File, fill func(*File) error) error {
	if err := f.Truncate(0); err != nil {
		return Classify(err)
	}
	bolt, err := Open(f, p.MaxSize)
	if err != nil {
		return err
	}
	defer bolt.Close() // after the rename: it ends the lock
	if err := fill(bolt); err != nil {
		return err
	}
	if err := os.Rename(p.Fresh(), p.Path); err != nil {
		return Classify(err)
	}
	return SyncDir(p.Path)
}
