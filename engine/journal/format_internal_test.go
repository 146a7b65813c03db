package journal

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/reactivegraph/mgmt/engine/internal/boltfile"
)

// TestOtherFormat: a sound file of another format is set aside, and says so.
func TestOtherFormat(t *testing.T) {
	var log bytes.Buffer
	path := filepath.Join(t.TempDir(), "j")
	o := opener{Place: boltfile.Place{Path: path, MaxSize: 1 << 30}, log: slog.New(slog.NewTextHandler(&log, nil)), seed: func() uint64 { return 7 }}
	f, err := o.open()
	if err != nil {
		t.Fatal(err)
	}
	err = f.Update(func(tx *bbolt.Tx) (bool, error) {
		return true, tx.Bucket([]byte(bucketMeta)).Put([]byte(keyFormat), boltfile.Seal(nil, []byte(bucketMeta), []byte(keyFormat), []byte("2")))
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if f, err = o.open(); err != nil {
		t.Fatal(err)
	}
	if ceiling, err := readCeiling(f); ceiling != 7 || err != nil {
		t.Errorf("the ceiling is %d, %v", ceiling, err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if s := log.String(); !strings.Contains(s, `its format is \"2\"`) || !strings.Contains(s, path+".damaged-1") {
		t.Errorf("the warning is %q", s)
	}
}

// TestLeftover: what a process that was killed has begun to make is no harm.
func TestLeftover(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	o := opener{Place: boltfile.Place{Path: path, MaxSize: 1 << 30}, log: slog.New(slog.DiscardHandler)}
	for range 2 {
		f, err := boltfile.OpenLocked(o.Fresh(), os.O_CREATE)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(bytes.Repeat([]byte("half"), 10_000)); err != nil {
			t.Fatal(err)
		}
		_ = f.Close()
		bolt, err := o.open()
		if err != nil {
			t.Fatal(err)
		}
		if err := bolt.Close(); err != nil {
			t.Fatal(err)
		}
		if left, _ := filepath.Glob(path + "?*"); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
}
