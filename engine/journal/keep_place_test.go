package journal_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/journal"
	"github.com/reactivegraph/mgmt/engine/records"
)

// TestFindingQ10KeepJournal: a journal whose keeper looks after its place is written anew with all that it has, as soon as that can be, whatever has
// happened to the place. What others have put there is set aside, and not lost.
func TestFindingQ10KeepJournal(t *testing.T) {
	gone := func(path string) error { return os.RemoveAll(filepath.Dir(path)) }
	for name, take := range map[string]func(path string) error{
		"removed":            os.Remove,
		"its folder is gone": gone,
		"another folder":     func(path string) error { return os.Rename(filepath.Dir(path), filepath.Dir(path)+".old") },
		"another is there":   func(path string) error { return os.Rename(path+".other", path) },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "state", "journal.db")
			if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path+".other", []byte("theirs"), 0o600); err != nil {
				t.Fatal(err)
			}
			opt, log := logged()
			opt.Kept = true
			j := open(t, path, opt)
			fill(t, j, 10)
			if again, err := j.Keep(t.Context()); again || err != nil {
				t.Fatalf("in its place: %t, %v", again, err)
			}
			if err := take(path); err != nil {
				t.Fatal(err)
			}
			fill(t, j, 20) // goes on, and touches no place that may be another's by now
			if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) && name != "another is there" {
				t.Errorf("a commit has written it: %v", err)
			}
			if _, err := os.Stat(filepath.Dir(path)); err != nil {
				if again, err := j.Keep(t.Context()); again || !errors.Is(err, journal.ErrUnwritable) {
					t.Errorf("without a folder: %t, %v", again, err)
				}
				if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			if again, err := j.Keep(t.Context()); !again || err != nil {
				t.Errorf("it is not written anew: %t, %v", again, err)
			}
			if again, err := j.Keep(t.Context()); again || err != nil {
				t.Errorf("in its place again: %t, %v", again, err)
			}
			must(t, j, []records.Write{{Table: "later", Key: "k", Value: []byte("v")}})
			left := filepath.Join(t.TempDir(), "copy") // as after a kill
			copyFile(t, path, left)
			k := open(t, left, opt)
			if n := intact(t, k); n != 20 {
				t.Errorf("%d of 20 records are left", n)
			}
			later := 0
			for range k.Records(t.Context(), "later") {
				later++
			}
			if later != 1 {
				t.Error("what was committed later is not there")
			}
			if name == "another is there" {
				if b, err := os.ReadFile(path + ".replaced-1"); string(b) != "theirs" {
					t.Errorf("their file is lost: %q, %v", b, err)
				}
			}
			if strings.Contains(log.String(), "WARN") {
				t.Errorf("its keeper tells of it: %s", log)
			}
		})
	}
}

// TestFindingQ10PlaceInUse: the file of another process that is in the place stays there, and the journal goes on.
func TestFindingQ10PlaceInUse(t *testing.T) {
	path := newPath(t)
	opt, _ := logged()
	opt.Kept = true
	j := open(t, path, opt)
	fill(t, j, 10)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	other := open(t, path, opt)
	if again, err := j.Keep(t.Context()); again || !errors.Is(err, journal.ErrLocked) {
		t.Errorf("the other has it: %t, %v", again, err)
	}
	fill(t, j, 20)
	if n := intact(t, j); n != 20 || intact(t, other) != 0 {
		t.Errorf("%d of 20 records", n)
	}
}
