package journal_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/journal"
	"github.com/reactivegraph/mgmt/engine/records"
)

func sizeOf(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

func batch(table string, from, n, size int) (put, del []records.Write) {
	for i := from; i < from+n; i++ {
		key := fmt.Sprintf("file[/%08d]", i)
		put = append(put, records.Write{Table: table, Key: key, Value: make([]byte, size)})
		del = append(del, records.Write{Table: table, Key: key})
	}
	return put, del
}

func must(t *testing.T, s records.Store, writes []records.Write) {
	t.Helper()
	if err := s.Commit(t.Context(), writes); err != nil {
		t.Fatal(err)
	}
}

// TestGrowth: pairs of put and delete reuse the same pages, however many there are.
func TestGrowth(t *testing.T) {
	path := newPath(t)
	j := open(t, path, journal.Options{})
	early := int64(0)
	for round := range 400 {
		put, del := batch("intent", round*1000, 1000, 1)
		must(t, j, put)
		must(t, j, del)
		if round == 10 {
			early = sizeOf(t, path)
		}
	}
	if late := sizeOf(t, path); late > early || late > 2<<20 {
		t.Errorf("after 11,000 pairs it had %d bytes, after 400,000 %d", early, late)
	}
}

// TestCompact: a file that is mostly free is small again after a start.
func TestCompact(t *testing.T) {
	path := newPath(t)
	j := open(t, path, journal.Options{})
	fill(t, j, 100)
	var dels [][]records.Write
	for i := range 12 {
		put, del := batch("sent", 1000+i*1000, 1000, 1000)
		must(t, j, put)
		dels = append(dels, del)
	}
	for _, del := range dels {
		must(t, j, del)
	}
	id := j.History().Append(journal.Entry{Outcome: "x"})
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	before := sizeOf(t, path)
	opt, log := logged()
	j = open(t, path, opt)
	if after := sizeOf(t, path); before < 8<<20 || after > 1<<20 {
		t.Errorf("%d bytes became %d", before, after)
	}
	if n := intact(t, j); n != 100 || log.Len() > 0 {
		t.Errorf("%d records; %s", n, log)
	}
	if next := j.History().Append(journal.Entry{}); next != id+1 {
		t.Errorf("id %d follows %d", next, id)
	}
	fill(t, j, 200)
	_, err := os.Stat(path + ".new")
	if !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// TestBound: past MaxFile a Commit fails clearly, reading goes on, and when there
// is room again so does writing.
func TestBound(t *testing.T) {
	path := newPath(t)
	j := open(t, path, journal.Options{MaxFile: 2 << 20})
	fill(t, j, 100)
	full, del, err := 0, []records.Write(nil), error(nil)
	for ; err == nil && full < 100; full++ {
		var put []records.Write
		put, d := batch("big", full*100, 100, 1000)
		if err = j.Commit(t.Context(), put); err == nil {
			del = append(del, d...)
		}
	}
	if !errors.Is(err, journal.ErrFull) || !strings.Contains(err.Error(), path) || full < 5 {
		t.Fatalf("after %d: %v", full, err)
	}
	if n := intact(t, j); n != 100 {
		t.Errorf("%d records", n)
	}
	must(t, j, del)
	put, _ := batch("big", 0, 100, 1000)
	must(t, j, put)
	if size := sizeOf(t, path); size > 2<<20 {
		t.Errorf("%d bytes", size)
	}
}
