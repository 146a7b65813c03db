package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/reactivegraph/mgmt/internal/unix"
)

// commits brings the records of many resources to the disk together. Records that come while others are being written wait, and are
// the next group: so a group is the larger the slower the disk is, and nobody waits for a time. The zero value is ready. It has no
// goroutine: the first one of a group writes all of it.
type commits struct {
	flush func(dir string) error // for tests; flushFS when nil

	mu      sync.Mutex
	writing bool
	waiting []*commit
}

// commit is one record that waits.
type commit struct {
	dir  string
	text []byte
	err  error
	turn chan bool // of capacity 1: true to write the next group, false when it is written
}

// save writes a record into a folder, and returns when it is on the disk. A crash leaves the earlier record or this one, and no part of
// either. At the end of ctx it does not wait for others any more: the record may come to the disk then, or not.
func (c *commits) save(ctx context.Context, dir string, rec *record) error {
	text, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	own := &commit{dir: dir, text: text, turn: make(chan bool, 1)}
	c.mu.Lock()
	c.waiting = append(c.waiting, own)
	wait := c.writing
	c.writing = true
	c.mu.Unlock()
	if wait {
		select {
		case first := <-own.turn:
			if !first {
				return own.err
			}
		case <-ctx.Done():
			c.leave(own)
			return context.Cause(ctx)
		}
	}
	c.mu.Lock()
	group := c.waiting
	c.waiting = nil
	c.mu.Unlock()

	c.write(group)

	c.mu.Lock()
	c.next()
	c.mu.Unlock()
	for _, other := range group {
		if other != own {
			other.turn <- false
		}
	}
	return own.err
}

// next has the first one that waits write the next group, with the lock held.
func (c *commits) next() {
	if c.writing = len(c.waiting) > 0; c.writing {
		c.waiting[0].turn <- true
	}
}

// leave takes out a record for which nobody waits any more, unless it is being written.
func (c *commits) leave(own *commit) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = slices.DeleteFunc(c.waiting, func(x *commit) bool { return x == own })
	select {
	case first := <-own.turn:
		if first { // it was its turn
			c.next()
		}
	default:
	}
}

// write writes a group. The text of each record is on the disk before it takes the place of the earlier one, and all places are before
// anybody goes on. For many records, two flushes of the file system with the state folder do that; for a few, and where the
// file system cannot be flushed, each file and each folder is synced.
func (c *commits) write(group []*commit) {
	if len(group) >= manyRecords && c.writeFlushed(group) {
		return
	}
	for _, x := range group {
		x.in(func() error { return x.begin(true) })
		x.in(x.place)
		x.in(func() error { return syncFolder(x.dir) })
	}
}

// writeFlushed writes a group with two flushes, and reports whether they could be had.
func (c *commits) writeFlushed(group []*commit) bool {
	for _, x := range group {
		x.in(func() error { return x.begin(false) })
	}
	if !c.flushAll(group) {
		return false
	}
	for _, x := range group {
		x.in(x.place)
	}
	return c.flushAll(group)
}

// manyRecords are so many that a flush costs less than their syncs, though it writes what other programs have left in memory, too.
const manyRecords = 4

// partFile is a record that is not in its place yet.
const partFile = recordFile + ".new"

// in does a step for a record, unless an earlier one has failed. Nothing stays open after it, since a group may be large.
func (x *commit) in(do func() error) {
	if x.err == nil {
		x.err = do()
	}
}

// begin writes the text next to its place.
func (x *commit) begin(sync bool) error {
	f, err := os.OpenFile(filepath.Join(x.dir, partFile), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(x.text)
	if err == nil && sync {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// place gives the text its place.
func (x *commit) place() error {
	return os.Rename(filepath.Join(x.dir, partFile), filepath.Join(x.dir, recordFile))
}

// syncFolder brings the names in a folder to the disk.
func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// flushAll flushes the file system of a group, and reports whether that is enough. All folders are below one state folder, so they are
// on one file system. After an error, which may be that of a file of others, each file is synced by itself.
func (c *commits) flushAll(group []*commit) bool {
	flush := c.flush
	if flush == nil {
		flush = flushFS
	}
	i := slices.IndexFunc(group, func(x *commit) bool { return x.err == nil })
	return i >= 0 && flush(group[i].dir) == nil
}

// flushFS flushes the file system of a folder. Before Linux 5.8 a flush tells of no file that could not be written, and file systems of
// programs and of layers may have nothing flushed by it.
func flushFS(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	fd := int(f.Fd())
	var st unix.Statfs_t
	if err := unix.Fstatfs(fd, &st); err != nil {
		return err
	}
	switch int64(st.Type) {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.TMPFS_MAGIC:
		if unix.KernelSince(5, 8) {
			return unix.Syncfs(fd)
		}
	}
	return errors.ErrUnsupported
}
