package journal

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine/internal/boltfile"
)

// TestHistoryOutlivesTheFile: what of the history is in memory is written to the
// file that follows a damaged one.
func TestHistoryOutlivesTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	j, err := Open(path, Options{History: HistoryOptions{FlushEvery: time.Nanosecond}})
	if err != nil {
		t.Fatal(err)
	}
	id := j.History().Append(Entry{Outcome: "early"})
	for !j.history.isSaved() {
		runtime.Gosched()
	}
	calls := 0
	err = j.use(func(*boltfile.File) error {
		if calls++; calls <= 2 {
			return &boltfile.Damage{What: "told"}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path + ".damaged-1"); err != nil {
		t.Error(err)
	}
	if j, err = Open(path, Options{}); err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	for e, err := range j.History().Query(t.Context(), Query{}) {
		if err != nil || e.ID != id || e.Outcome != "early" {
			t.Error(e, err)
		}
		return
	}
	t.Error("the entry is not there")
}

func (h *History) isSaved() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.live) == 1 && h.live[0].saved == h.live[0].n
}

// TestFreeAndUsed: a page that is in use and listed as free would be written over.
func TestFreeAndUsed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	j, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if err := <-j.begin(t.Context(), "k", i+1); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m, err := boltfile.ReadMeta(f)
	if err != nil {
		t.Fatal(err)
	}
	nothing := func(_, _, _ []byte) error { return nil }
	if _, err := boltfile.Check(f, boltfile.CheckLimit, nothing); err != nil {
		t.Fatal(err)
	}
	var list [boltfile.PageHeader + 8]byte
	if _, err := f.ReadAt(list[:], int64(m.Free)*m.Size); err != nil || bytes.Equal(list[10:12], []byte{0, 0}) {
		t.Fatalf("no page is free: %v", err)
	}
	binary.NativeEndian.PutUint64(list[boltfile.PageHeader:], m.Root)
	if _, err := f.WriteAt(list[:], int64(m.Free)*m.Size); err != nil {
		t.Fatal(err)
	}
	if _, err := boltfile.Check(f, boltfile.CheckLimit, nothing); !boltfile.IsDamage(err) {
		t.Errorf("check says %v", err)
	}
}
