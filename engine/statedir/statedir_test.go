package statedir_test

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/journal"
	"github.com/reactivegraph/mgmt/engine/journal/ineffect"
	"github.com/reactivegraph/mgmt/engine/records"
	"github.com/reactivegraph/mgmt/engine/statedir"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open opens a folder, and fails the test where that fails.
func open(t *testing.T, o statedir.Options) *statedir.Dir {
	t.Helper()
	o.Clock = clock.System{}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	d, err := statedir.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// shut closes a folder.
func shut(t *testing.T, d *statedir.Dir) {
	t.Helper()
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

// write commits a record.
func write(t *testing.T, s records.Store, key, value string) {
	t.Helper()
	if err := s.Commit(t.Context(), []records.Write{{Table: "t", Key: key, Value: []byte(value)}}); err != nil {
		t.Error(err)
	}
}

// has reports whether a store has a record.
func has(t *testing.T, s records.Store, key string) bool {
	t.Helper()
	for rec, err := range s.Records(t.Context(), "t") {
		if err != nil {
			t.Error(err)
		}
		if rec.Key == key {
			return true
		}
	}
	return false
}

// TestNextRun: the records, the history and the names in effect are there for the next run, and for those who only look.
func TestNextRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	d := open(t, statedir.Options{Folder: statedir.In(path), Keep: true})
	write(t, d.Store, "k", "v")
	d.History.Append(journal.Entry{Resource: "noop[a]"})
	d.Effect.Keep(func() ineffect.Names { return ineffect.Names{All: []string{"noop[a]"}, Asking: []string{"noop[a]"}} }, "in.yaml")
	shut(t, d)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder: %v, %v", info, err)
	}

	d = open(t, statedir.Options{Folder: statedir.In(path), Keep: true})
	defer shut(t, d)
	if !has(t, d.Store, "k") {
		t.Error("the record is lost")
	}
	if got := d.InEffect("in.yaml"); !slices.Equal(got.All, []string{"noop[a]"}) || !slices.Equal(got.Asking, got.All) {
		t.Errorf("in effect are %v", got)
	}
	if got := d.InEffect("other.yaml"); got.All != nil {
		t.Errorf("of another input, in effect are %v", got)
	}
	if m, err := statedir.Remembered(path); err != nil || !has(t, m, "k") {
		t.Errorf("a copy of the records: %v", err)
	}
	if h, err := statedir.HistoryIn(path); err != nil || h == nil {
		t.Errorf("a copy of the history: %v", err)
	}
	for _, file := range []string{d.Ledger(), d.Collected()} {
		if filepath.Dir(file) != path {
			t.Errorf("a file of the folder is at %q", file)
		}
	}
}

// TestLooksOnly: a run that only looks reads a copy, even while another one has the folder, and alters nothing.
func TestLooksOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	d := open(t, statedir.Options{Folder: statedir.In(path), ReadOnly: true, Keep: true})
	write(t, d.Store, "k", "v")
	if d.Effect != nil || d.Ledger() != "" || d.History == nil {
		t.Errorf("a run that only looks has %v, %q", d.Effect, d.Ledger())
	}
	shut(t, d)
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it has made a folder: %v", err)
	}

	user := open(t, statedir.Options{Folder: statedir.In(path)})
	defer shut(t, user)
	write(t, user.Store, "k", "v")
	d = open(t, statedir.Options{Folder: statedir.In(path), ReadOnly: true})
	defer shut(t, d)
	write(t, d.Store, "mine", "v")
	if !has(t, d.Store, "k") || has(t, user.Store, "mine") {
		t.Error("the copy is no copy")
	}
}

// TestTemporary: without a path, there is a temporary folder, which goes at the end, and nothing is for a later run.
func TestTemporary(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	d := open(t, statedir.Options{Keep: true})
	if info, err := os.Stat(d.Path); err != nil || !info.IsDir() {
		t.Fatalf("the folder %q: %v", d.Path, err)
	}
	if d.Effect != nil || d.Ledger()+d.Collected() != "" || d.InEffect("x").All != nil {
		t.Error("a temporary folder keeps something for a later run")
	}
	if err := os.WriteFile(filepath.Join(d.Path, "left"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	shut(t, d)
	if _, err := os.Stat(d.Path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder is left behind: %v", err)
	}
	d = open(t, statedir.Options{ReadOnly: true})
	if d.Path != "" {
		t.Errorf("a run that only looks has made %q", d.Path)
	}
	shut(t, d)
}

// TestStoreOfTheCaller: a store of the caller stands in the place of the journal, and is not closed.
func TestStoreOfTheCaller(t *testing.T) {
	own, path := journal.NewMemory(), t.TempDir()
	d := open(t, statedir.Options{Folder: statedir.In(path), Store: own})
	if d.Store != records.Store(own) || d.History == nil {
		t.Error("the store is another one")
	}
	shut(t, d)
	if left, err := os.ReadDir(path); err != nil || len(left) > 0 {
		t.Errorf("the folder has %v, %v", left, err)
	}
}

// TestNoRoom: where the folder can't be written to, the run goes on in memory, and says so once.
func TestNoRoom(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(file, "state") // no folder can be made below a file
	var log bytes.Buffer
	d := open(t, statedir.Options{Folder: statedir.In(path), Keep: true, Log: slog.New(slog.NewTextHandler(&log, nil))})
	defer shut(t, d)
	write(t, d.Store, "k", "v")
	if !has(t, d.Store, "k") || d.Effect != nil || d.Collected() != "" {
		t.Error("the run does not go on in memory alone")
	}
	if n := strings.Count(log.String(), "CANNOT BE WRITTEN"); n != 1 || !strings.Contains(log.String(), path) {
		t.Errorf("it was said %d times: %s", n, log.String())
	}
}

// TestSecondRun: a folder has one user, and the error says so; the first one goes on.
func TestSecondRun(t *testing.T) {
	path := t.TempDir()
	d := open(t, statedir.Options{Folder: statedir.In(path)})
	defer shut(t, d)
	if _, err := statedir.Open(statedir.Options{Folder: statedir.In(path), Clock: clock.System{}, Log: slog.New(slog.DiscardHandler)}); !errors.Is(err, journal.ErrLocked) {
		t.Errorf("a second run gets %v", err)
	}
	write(t, d.Store, "k", "v")
}

// TestDamaged: a list of names that can't be read is told of, and is as none; a plan goes on without damaged records.
func TestDamaged(t *testing.T) {
	path := t.TempDir()
	for _, file := range []string{"in-effect", "journal.db"} {
		if err := os.WriteFile(filepath.Join(path, file), []byte("{ broken"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var log bytes.Buffer
	d := open(t, statedir.Options{Folder: statedir.In(path), ReadOnly: true, Log: slog.New(slog.NewTextHandler(&log, nil))})
	defer shut(t, d)
	if d.InEffect("in").All != nil || has(t, d.Store, "k") {
		t.Error("damaged files have content")
	}
	for _, said := range []string{"earlier runs remember is not known", "were in effect before this start is not known"} {
		if !strings.Contains(log.String(), said) {
			t.Errorf("it does not say %q: %s", said, log.String())
		}
	}
}
