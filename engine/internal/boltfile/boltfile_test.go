package boltfile_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/reactivegraph/mgmt/engine/internal/boltfile"
)

const maxSize = 64 << 20

// fill puts n records into the table t.
func fill(n int) func(*boltfile.File) error {
	return func(f *boltfile.File) error {
		return f.Update(func(tx *bbolt.Tx) (bool, error) {
			b, err := tx.CreateBucketIfNotExists([]byte("t"))
			for i := 0; i < n && err == nil; i++ {
				err = b.Put(fmt.Appendf(nil, "key %05d", i), bytes.Repeat([]byte("v"), 100))
			}
			return true, err
		})
	}
}

// created returns a place with a file of n records.
func created(t *testing.T, n int) boltfile.Place {
	t.Helper()
	p := boltfile.Place{Path: filepath.Join(t.TempDir(), "file"), MaxSize: maxSize}
	if err := p.Create(fill(n)); err != nil {
		t.Fatal(err)
	}
	return p
}

// opened opens the file of a place until the end of the test.
func opened(t *testing.T, p boltfile.Place) *boltfile.File {
	t.Helper()
	f, err := boltfile.OpenLocked(p.Path, 0)
	if err != nil {
		t.Fatal(err)
	}
	db, err := boltfile.Open(f, p.MaxSize)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// records counts the records of the table t.
func records(t *testing.T, f *boltfile.File) (n int) {
	t.Helper()
	if err := f.View(func(tx *bbolt.Tx) error {
		return tx.Bucket([]byte("t")).ForEach(func(_, _ []byte) error { n++; return nil })
	}); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestSeal: a sealed value comes back, and no changed bit, other key or other bucket passes.
func TestSeal(t *testing.T) {
	bucket, key, value := []byte("bucket"), []byte("key"), []byte("value")
	stored := boltfile.Seal(nil, bucket, key, value)
	if len(stored) != boltfile.SealSize+len(value) {
		t.Errorf("%d bytes are stored", len(stored))
	}
	if got, ok := boltfile.Unseal(bucket, key, stored); !ok || !bytes.Equal(got, value) {
		t.Errorf("%q, %t", got, ok)
	}
	for bit := range 8 * len(stored) {
		other := bytes.Clone(stored)
		other[bit/8] ^= 1 << (bit % 8)
		if _, ok := boltfile.Unseal(bucket, key, other); ok {
			t.Errorf("bit %d may change", bit)
		}
	}
	for n := range boltfile.SealSize {
		if _, ok := boltfile.Unseal(bucket, key, stored[:n]); ok {
			t.Errorf("%d bytes are taken", n)
		}
	}
	if _, ok := boltfile.Unseal(bucket, []byte("other"), stored); ok {
		t.Error("the value passes under another key")
	}
	if _, ok := boltfile.Unseal([]byte("other"), key, stored); ok {
		t.Error("the value passes in another bucket")
	}
}

// TestOpenLocked: a second opening of a file gets ErrLocked at once, and only the owner can read
// the file afterwards. A thing that is no file is ErrUnwritable.
func TestOpenLocked(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := boltfile.OpenLocked(path, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := boltfile.OpenLocked(path, 0); !errors.Is(err, boltfile.ErrLocked) {
		t.Errorf("a second opening: %v", err)
	}
	if info, err := f.Stat(); err != nil || info.Mode() != 0o600 {
		t.Errorf("the file is %v, %v", info, err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if f, err = boltfile.OpenLocked(path, 0); err != nil {
		t.Fatalf("the lock outlives its file: %v", err)
	}
	defer f.Close()
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{dir, fifo, filepath.Join(dir, "none"), filepath.Join(path, "below")} {
		if f, err := boltfile.OpenLocked(bad, 0); !errors.Is(err, boltfile.ErrUnwritable) {
			t.Errorf("%s: %v, %v", bad, f, err)
		}
	}
}

// TestCreate: a file that is there stays, and a maker that fails leaves nothing.
func TestCreate(t *testing.T) {
	p := created(t, 3)
	if err := p.Create(fill(5)); err != nil {
		t.Fatal(err)
	}
	if n := records(t, opened(t, p)); n != 3 {
		t.Errorf("it has %d records", n)
	}
	failed := errors.New("failed")
	p = boltfile.Place{Path: filepath.Join(t.TempDir(), "file"), MaxSize: maxSize}
	if err := p.Create(func(*boltfile.File) error { return failed }); !errors.Is(err, failed) {
		t.Errorf("the error is %v", err)
	}
	if list, err := os.ReadDir(filepath.Dir(p.Path)); err != nil || len(list) != 0 {
		t.Errorf("left behind: %v, %v", list, err)
	}
}

// TestUpdatePanic: a panic is a Damage, its transaction changes nothing, and the file works on.
func TestUpdatePanic(t *testing.T) {
	f := opened(t, created(t, 2))
	err := f.Update(func(tx *bbolt.Tx) (bool, error) {
		_ = tx.Bucket([]byte("t")).Put([]byte("more"), nil)
		panic("oh")
	})
	if !boltfile.IsDamage(err) || err.Error() != "oh" {
		t.Errorf("the panic is %v", err)
	}
	if err := f.View(func(*bbolt.Tx) error { panic("again") }); !boltfile.IsDamage(err) {
		t.Errorf("the panic of a reader is %v", err)
	}
	if n := records(t, f); n != 2 {
		t.Errorf("there are %d records", n)
	}
	if err := fill(4)(f); err != nil {
		t.Fatal(err)
	}
	if n := records(t, f); n != 4 {
		t.Errorf("there are %d records after the next update", n)
	}
}

// TestFull: a file does not grow above its bound, and the error says so.
func TestFull(t *testing.T) {
	p := created(t, 1)
	p.MaxSize = 1 << 20
	f := opened(t, p)
	if err := fill(100_000)(f); !errors.Is(err, boltfile.ErrFull) {
		t.Errorf("the error is %v", err)
	}
	if n := records(t, f); n != 1 {
		t.Errorf("there are %d records", n)
	}
}

// TestCompact: a file whose pages are mostly free becomes small, and keeps its records.
func TestCompact(t *testing.T) {
	p := created(t, 30_000)
	f := opened(t, p)
	if err := f.Update(func(tx *bbolt.Tx) (bool, error) { return true, tx.DeleteBucket([]byte("t")) }); err != nil {
		t.Fatal(err)
	}
	if err := fill(10)(f); err != nil {
		t.Fatal(err)
	}
	if u := check(t, p.Path, map[string]int{"t": 10}); !u.Wasteful() {
		t.Errorf("it is not wasteful: %+v", u)
	}
	if err := p.Compact(f); err != nil {
		t.Fatal(err)
	}
	if u := check(t, p.Path, map[string]int{"t": 10}); u.Wasteful() || u.Size > 1<<20 {
		t.Errorf("it is still wasteful: %+v", u)
	}
}

// check looks at a whole file, and compares how many records its tables have.
func check(t *testing.T, path string, want map[string]int) boltfile.Usage {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got := map[string]int{}
	u, err := boltfile.Check(f, boltfile.CheckLimit, func(bucket, _, _ []byte) error { got[string(bucket)]++; return nil })
	if err != nil || !u.Complete || !maps.Equal(got, want) {
		t.Errorf("%v, %v, %+v; want %v", got, err, u, want)
	}
	return u
}

// TestCheckDamage: no damage makes a check panic. A cut file and a broken first page are Damage, and
// a check with a bound ends there without an error.
func TestCheckDamage(t *testing.T) {
	p := created(t, 500)
	check(t, p.Path, map[string]int{"t": 500})
	whole, err := os.ReadFile(p.Path)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "other")
	look := func(content []byte, limit int64) (boltfile.Usage, error) {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		return boltfile.Check(f, limit, func(_, _, _ []byte) error { return nil })
	}
	for _, n := range []int{0, 1, 4096, 8192, 12288} {
		if _, err := look(whole[:n], boltfile.CheckLimit); !boltfile.IsDamage(err) {
			t.Errorf("a file of %d bytes: %v", n, err)
		}
	}
	if u, err := look(whole, 20_000); err != nil || u.Complete {
		t.Errorf("with a bound: %+v, %v", u, err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	found := 0
	for range 50 {
		other := bytes.Clone(whole)
		for range 8 {
			other[8192+rng.IntN(len(other)-8192)] ^= byte(1 + rng.IntN(255))
		}
		if _, err := look(other, boltfile.CheckLimit); err != nil {
			found++
		}
	}
	if found == 0 {
		t.Error("no damage was found")
	}
}

// TestClassify: an error of the file system says whether the place is full or can not be written.
func TestClassify(t *testing.T) {
	for errno, want := range map[syscall.Errno]error{
		syscall.ENOSPC: boltfile.ErrFull, syscall.EDQUOT: boltfile.ErrFull, syscall.EROFS: boltfile.ErrUnwritable,
		syscall.EACCES: boltfile.ErrUnwritable, syscall.ENOTDIR: boltfile.ErrUnwritable, syscall.EIO: syscall.EIO,
	} {
		for _, err := range []error{errno, &os.PathError{Op: "write", Path: "/x", Err: errno}} {
			if got := boltfile.Classify(boltfile.Classify(err)); !errors.Is(got, want) || !errors.Is(got, errno) {
				t.Errorf("%v is %v, want %v", err, got, want)
			}
		}
		if got := boltfile.Classify(errors.New("bolt: " + errno.Error())); want != error(errno) && !errors.Is(got, want) {
			t.Errorf("the text of %v is %v, want %v", errno, got, want)
		}
	}
	if boltfile.Classify(nil) != nil {
		t.Error("no error is an error")
	}
}

// TestCompactFollowsNoLink: a link in the place of the new file leads to no file of others.
func TestCompactFollowsNoLink(t *testing.T) {
	p := created(t, 3)
	f := opened(t, p)
	others := filepath.Join(t.TempDir(), "others")
	if err := errors.Join(os.WriteFile(others, []byte("theirs"), 0o600), os.Symlink(others, p.Fresh())); err != nil {
		t.Fatal(err)
	}
	if err := p.Compact(f); err == nil {
		t.Error("it was compacted by way of a link")
	}
	if text, err := os.ReadFile(others); err != nil || string(text) != "theirs" {
		t.Errorf("their file is %d bytes, %v", len(text), err)
	}
}
