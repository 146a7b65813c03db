package journal_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/reactivegraph/mgmt/engine/internal/boltfile"
	"github.com/reactivegraph/mgmt/engine/journal"
	"github.com/reactivegraph/mgmt/engine/records"
)

// logged returns options with a log, and the log.
func logged() (journal.Options, *bytes.Buffer) {
	var log bytes.Buffer
	return journal.Options{Log: slog.New(slog.NewTextHandler(&log, nil))}, &log
}

// fill puts n records of a known value.
func fill(t *testing.T, s records.Store, n int) {
	t.Helper()
	var writes []records.Write
	for i := range n {
		writes = append(writes, records.Write{Table: []string{"intent", "sent"}[i%2], Key: fmt.Sprintf("file[/%06d]", i), Value: value(i)})
	}
	if err := s.Commit(t.Context(), writes); err != nil {
		t.Fatal(err)
	}
}

func value(i int) []byte { return fmt.Appendf(nil, "value of %d", i) }

// intact counts the records of fill, and fails on one that is not as it was put.
func intact(t *testing.T, s records.Store) (n int) {
	t.Helper()
	for _, table := range []string{"intent", "sent"} {
		for r, err := range s.Records(t.Context(), table) {
			var i int
			if err != nil {
				t.Fatal(err)
			}
			if _, err := fmt.Sscanf(r.Key, "file[/%06d]", &i); err != nil || !bytes.Equal(r.Value, value(i)) {
				t.Fatalf("a record that nobody put: %q = %q", r.Key, r.Value)
			}
			n++
		}
	}
	return n
}

// sound makes the content of a journal with n records and some history.
func sound(t *testing.T, n int) []byte {
	t.Helper()
	path := newPath(t)
	j := open(t, path, journal.Options{})
	fill(t, j, n)
	for range 100 {
		j.History().Append(journal.Entry{Resource: "file[/a]", Outcome: "changed"})
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// openBytes opens a journal of this content, and returns whether it was set aside.
func openBytes(t *testing.T, content []byte) (j *journal.Journal, aside bool) {
	t.Helper()
	path := newPath(t)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	opt, log := logged()
	j = open(t, path, opt)
	kept, err := os.ReadFile(path + ".damaged-1")
	if err != nil {
		if log.Len() > 0 {
			t.Errorf("nothing was set aside: %s", log)
		}
		return j, false
	}
	if !bytes.Equal(kept, content) {
		t.Error("what was set aside is not what was there")
	}
	if s := log.String(); strings.Count(s, "\n") != 1 || !strings.Contains(s, "path="+path+" ") || !strings.Contains(s, path+".damaged-1") ||
		!strings.Contains(s, "lost") {
		t.Errorf("the warning is %q", s)
	}
	return j, true
}

func TestDamageAtOpen(t *testing.T) {
	good := sound(t, 1000)
	random := rand.New(rand.NewPCG(1, 2))
	noise := func(b []byte) {
		for i := range b {
			b[i] = byte(random.Uint32())
		}
	}
	for name, spoil := range map[string]func([]byte) []byte{
		"noise":     func(b []byte) []byte { noise(b); return b },
		"text":      func([]byte) []byte { return []byte("not a journal\n") },
		"cut":       func(b []byte) []byte { return b[:8*4096] },
		"one page":  func(b []byte) []byte { return b[:4096] },
		"metas":     func(b []byte) []byte { noise(b[:8192]); return b },
		"all data":  func(b []byte) []byte { noise(b[8192:]); return b },
		"zeros":     func(b []byte) []byte { clear(b); return b },
		"tail zero": func(b []byte) []byte { clear(b[8192:]); return b },
		"swapped": func(b []byte) []byte {
			copy(b[3*4096:4*4096], b[4*4096:5*4096])
			copy(b[5*4096:6*4096], b[6*4096:7*4096])
			copy(b[7*4096:8*4096], b[8*4096:9*4096])
			return b
		},
		"foreign": func([]byte) []byte { return otherBolt(t, "things", "a", "b") },
		"later":   func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("format"), []byte("formaT")) },
	} {
		t.Run(name, func(t *testing.T) {
			j, aside := openBytes(t, spoil(bytes.Clone(good)))
			if !aside {
				t.Error("it was not set aside")
			}
			// What damage of the structure leaves whole is kept; intact fails on a record that is not as it was put.
			// Which records the first pages hold follows from the groups in which they were committed.
			if n, whole := intact(t, j), name == "swapped" || name == "later"; (n > 0) != whole && name != "cut" {
				t.Errorf("%d records are there", n)
			}
			fill(t, j, 10)
		})
	}
	if j, aside := openBytes(t, good); aside || intact(t, j) != 1000 {
		t.Error("a sound file is not what it was")
	}
}

func otherBolt(t *testing.T, bucket, key, value string) []byte {
	t.Helper()
	path := newPath(t)
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		b, err := tx.CreateBucket([]byte(bucket))
		if err != nil {
			return err
		}
		return b.Put([]byte(key), []byte(value))
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestFindingC7Emptied: a journal of 0 bytes was emptied by another program, since mgmt never leaves such a file.
func TestFindingC7Emptied(t *testing.T) {
	path := newPath(t)
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	opt, log := logged()
	j := open(t, path, opt)
	fill(t, j, 1)
	if s := log.String(); strings.Count(s, "level=WARN") != 1 || !strings.Contains(s, "was emptied") || !strings.Contains(s, path) {
		t.Errorf("the log is %q", s)
	}
}

// TestFindingC7OneRecord: a bit that flips in one record costs that record, and the warning names it.
func TestFindingC7OneRecord(t *testing.T) {
	bad := sound(t, 300)
	bad[bytes.Index(bad, []byte("value of 42"))] ^= 1
	path := newPath(t)
	if err := os.WriteFile(path, bad, 0o600); err != nil {
		t.Fatal(err)
	}
	opt, log := logged()
	j := open(t, path, opt)
	if n := intact(t, j); n != 299 {
		t.Errorf("%d records are there", n)
	}
	entries := 0
	for _, err := range j.History().Query(t.Context(), journal.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		entries++
	}
	if entries != 100 {
		t.Errorf("%d entries of the history are there", entries)
	}
	if s := log.String(); !strings.Contains(s, "file[/000042]") || !strings.Contains(s, "the table intent") {
		t.Errorf("the warning is %q", s)
	}
}

// TestFindingC7OneBit: whichever bit flips, also one of the structure, it costs hardly a record.
func TestFindingC7OneBit(t *testing.T) {
	good := sound(t, 300)
	random, found := rand.New(rand.NewPCG(5, 6)), 0
	used := len(bytes.TrimRight(good, "\x00"))
	// How many bits mean something follows from the groups in which the records were committed.
	for tried := 0; tried < 400 || found < 100 && tried < 4000; tried++ {
		bad := bytes.Clone(good)
		at, bit := random.IntN(used), random.IntN(8)
		bad[at] ^= 1 << bit
		j, aside := openBytes(t, bad)
		if n := intact(t, j); n < 299 {
			t.Errorf("bit %d of byte %d: set aside %t, %d records", bit, at, aside, n)
		}
		if aside {
			found++
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if found < 100 {
		t.Errorf("only %d were found", found)
	}
}

// TestFindingC7OnePage: a page, or a part of one, that became zero costs the records of that page alone, also where it leads to
// all others.
func TestFindingC7OnePage(t *testing.T) {
	good := sound(t, 1000)
	used := (len(bytes.TrimRight(good, "\x00")) + pageSize - 1) / pageSize
	for page := range used {
		for _, part := range [][2]int{{0, pageSize}, {0, 512}, {pageSize - 512, pageSize}} {
			bad, own := bytes.Clone(good), bytes.Count(good[page*pageSize:(page+1)*pageSize], []byte("value of "))
			clear(bad[page*pageSize+part[0] : page*pageSize+part[1]])
			j, _ := openBytes(t, bad)
			if n := intact(t, j); n < 1000-own {
				t.Errorf("bytes %d to %d of page %d, which has %d records: %d are there", part[0], part[1], page, own, n)
			}
			if err := j.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestFindingC7NoPast: where a page that leads to others is gone, what was deleted or replaced long ago does not come back, also
// where the list of the free pages is damaged as well.
func TestFindingC7NoPast(t *testing.T) {
	path := newPath(t)
	j := open(t, path, journal.Options{})
	fill(t, j, 1000)
	var writes []records.Write
	for i := 0; i < 1000; i += 2 {
		writes = append(writes, records.Write{Table: "intent", Key: fmt.Sprintf("file[/%06d]", i)})
	}
	fill(t, j, 400) // written again, so there are pages of the past
	if err := errors.Join(j.Commit(t.Context(), writes), j.Close()); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	try := func(what string, bad []byte, least int) {
		j, _ := openBytes(t, bad)
		if n := intact(t, j); n < least || n > 500 {
			t.Errorf("%s: %d records are there, and should be at least %d and at most 500", what, n, least)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for page := 2; page < len(good)/pageSize; page++ {
		bad := bytes.Clone(good)
		clear(bad[page*pageSize : (page+1)*pageSize])
		try(fmt.Sprint("page ", page), bad, 500-bytes.Count(good[page*pageSize:(page+1)*pageSize], []byte("value of ")))
	}
	m, err := boltfile.ReadMeta(bytes.NewReader(good))
	if err != nil {
		t.Fatal(err)
	}
	for bit := 0; bit < 64*8; bit += 3 {
		bad := bytes.Clone(good)
		clear(bad[m.Root*pageSize : (m.Root+1)*pageSize])
		bad[m.Free*pageSize+boltfile.PageHeader+uint64(bit/8)] ^= 1 << (bit % 8)
		try(fmt.Sprintf("the root, and bit %d of the list", bit), bad, 0)
	}
}

const pageSize = 4096

// TestFindingC7FirstPages: the file begins with two pages that say where all is. A bit that flips in the newer one does not undo the
// last change.
func TestFindingC7FirstPages(t *testing.T) {
	for _, last := range []int{1, 2} { // so the newer one is the one or the other
		path := newPath(t)
		j := open(t, path, journal.Options{})
		for range last {
			fill(t, j, 290)
		}
		if err := j.Commit(t.Context(), []records.Write{{Table: "sent", Key: "file[/000301]", Value: value(301)}}); err != nil {
			t.Fatal(err)
		}
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for bit := 0; bit < 2*64*8; bit += 7 {
			bad := bytes.Clone(good)
			bad[bit/(64*8)*pageSize+boltfile.PageHeader+bit/8%64] ^= 1 << (bit % 8)
			j, aside := openBytes(t, bad)
			if n := intact(t, j); !aside || n != 291 {
				t.Errorf("bit %d: set aside %t, %d records", bit, aside, n)
			}
			if err := j.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestAnyByte: whatever byte changes, the file is set aside if a record is gone, and no record is another one.
func TestAnyByte(t *testing.T) {
	good := sound(t, 300)
	random, found := rand.New(rand.NewPCG(3, 4)), 0
	used := len(bytes.TrimRight(good, "\x00"))
	for range 300 {
		bad := bytes.Clone(good)
		at := random.IntN(used)
		for i := range 1 + random.IntN(8) {
			bad[(at+i)%len(bad)] ^= byte(1 + random.IntN(255))
		}
		j, aside := openBytes(t, bad)
		n := intact(t, j)
		fill(t, j, 1)
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		switch {
		case !aside && n != 0 && n != 300:
			t.Fatalf("byte %d: set aside %t, %d records", at, aside, n)
		case aside:
			found++
		}
	}
	if found < 50 {
		t.Errorf("of 300 only %d were found", found)
	}
}

func TestDamagedOnesAreBounded(t *testing.T) {
	path := newPath(t)
	for range 6 {
		if err := os.WriteFile(path, []byte("no journal"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := open(t, path, journal.Options{}).Close(); err != nil {
			t.Fatal(err)
		}
	}
	names, _ := filepath.Glob(path + "*")
	for i := range names {
		names[i] = filepath.Base(names[i])
	}
	if got := strings.Join(names, " "); got != "journal.db journal.db.damaged-4 journal.db.damaged-5 journal.db.damaged-6" {
		t.Errorf("there are %s", got)
	}
}

// TestDamageWhileRunning: who meets it, a reader or a writer, goes on with a new
// file, and all others too.
func TestDamageWhileRunning(t *testing.T) {
	spoil := map[string]func(*os.File) error{
		"data": func(f *os.File) error { return noiseFrom(f, 8192) },
		"all":  func(f *os.File) error { return noiseFrom(f, 0) },
		"cut":  func(f *os.File) error { return f.Truncate(4096 * 3) },
		"gone": func(f *os.File) error { return f.Truncate(0) },
	}
	meet := map[string]func(*testing.T, *journal.Journal){
		"records": func(t *testing.T, j *journal.Journal) { intact(t, j) },
		"commit":  func(t *testing.T, j *journal.Journal) { fill(t, j, 2000) },
		"history": func(t *testing.T, j *journal.Journal) {
			for _, err := range j.History().Query(t.Context(), journal.Query{}) {
				if err != nil {
					t.Error(err)
				}
			}
		},
	}
	for how, spoil := range spoil {
		for who, meet := range meet {
			t.Run(how+" "+who, func(t *testing.T) { runDamaged(t, spoil, meet) })
		}
	}
}

func noiseFrom(f *os.File, at int64) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	noise := make([]byte, info.Size()-at)
	random := rand.NewChaCha8([32]byte{1})
	_, _ = random.Read(noise)
	_, err = f.WriteAt(noise, at)
	return err
}

func runDamaged(t *testing.T, spoil func(*os.File) error, meet func(*testing.T, *journal.Journal)) {
	path := newPath(t)
	if err := os.WriteFile(path, sound(t, 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	opt, log := logged()
	j := open(t, path, opt)
	if n := intact(t, j); n != 1000 {
		t.Fatalf("%d records", n)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err == nil {
		err = errors.Join(spoil(f), f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	meet(t, j)
	fill(t, j, 10)
	intact(t, j)
	id := j.History().Append(journal.Entry{Outcome: "after"})
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if s := log.String(); strings.Count(s, "set aside") > 1 {
		t.Errorf("more than one warning: %s", s)
	}
	j = open(t, path, opt)
	if n := intact(t, j); n < 10 {
		t.Errorf("after the damage %d records are there", n)
	}
	if next := j.History().Append(journal.Entry{}); next <= id {
		t.Errorf("id %d comes after %d", next, id)
	}
	for e, err := range j.History().Query(t.Context(), journal.Query{Outcome: "after"}) {
		if err != nil || e.ID != id {
			t.Error(e, err)
		}
		return
	}
	t.Error("what came after the damage is not there")
}

func TestLocked(t *testing.T) {
	path := newPath(t)
	j := open(t, path, journal.Options{})
	if _, err := journal.Open(path, journal.Options{}); !errors.Is(err, journal.ErrLocked) || !strings.Contains(err.Error(), path) {
		t.Errorf("a second Open: %v", err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, path, journal.Options{})
}

func TestUnwritable(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{
		"no folder": filepath.Join(dir, "none", "j"), "a file as folder": filepath.Join(file, "j"), "a folder": dir,
	} {
		if _, err := journal.Open(path, journal.Options{}); !errors.Is(err, journal.ErrUnwritable) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestClosed(t *testing.T) {
	j := open(t, newPath(t), journal.Options{})
	for range 2 {
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := j.Commit(t.Context(), []records.Write{{Table: "t", Key: "k"}}); !errors.Is(err, journal.ErrClosed) {
		t.Errorf("Commit: %v", err)
	}
	for _, err := range j.Records(context.Background(), "t") {
		if !errors.Is(err, journal.ErrClosed) {
			t.Errorf("Records: %v", err)
		}
	}
	if id := j.History().Append(journal.Entry{}); id != 0 {
		t.Errorf("Append gives %d", id)
	}
}

// TestModes: nobody else can read the file, also where it was made differently.
func TestModes(t *testing.T) {
	path := newPath(t)
	if err := os.WriteFile(path, sound(t, 1), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{path, newPath(t)} {
		j := open(t, p, journal.Options{})
		info, err := os.Stat(p)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Error(info.Mode(), err)
		}
		if left, _ := filepath.Glob(p + ".*"); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
		_ = j.Close()
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
