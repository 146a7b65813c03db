package journal_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/records"
)

// TestRemovedWhileRunning: what was committed before and after somebody has removed
// the file is there in the next process.
func TestRemovedWhileRunning(t *testing.T) {
	path := newPath(t)
	opt, log := logged()
	j := open(t, path, opt)
	fill(t, j, 100)
	for range 2 {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		must(t, j, []records.Write{{Table: "later", Key: "k", Value: []byte("v")}})
	}
	left := filepath.Join(t.TempDir(), "copy") // as after a kill
	copyFile(t, path, left)
	k := open(t, left, opt)
	if n := intact(t, k); n != 100 {
		t.Errorf("%d of 100 records are left", n)
	}
	later := 0
	for _, err := range k.Records(t.Context(), "later") {
		if err != nil {
			t.Fatal(err)
		}
		later++
	}
	if later != 1 {
		t.Error("what was committed after it was removed is not there")
	}
	if n := strings.Count(log.String(), "was written again"); n != 2 {
		t.Errorf("said %d times: %s", n, log)
	}
}

// TestPlaceLost: where the file cannot be written again, the work goes on, and one
// warning tells of it. A folder in the place is left alone.
func TestPlaceLost(t *testing.T) {
	for name, take := range map[string]func(path string) error{
		"its folder is gone": func(path string) error { return os.RemoveAll(filepath.Dir(path)) },
		"a folder is there": func(path string) error {
			return errors.Join(os.Remove(path), os.Mkdir(path, 0o700))
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "state", "journal.db")
			if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			opt, log := logged()
			j := open(t, path, opt)
			if err := take(path); err != nil {
				t.Fatal(err)
			}
			fill(t, j, 10)
			fill(t, j, 20)
			if n := intact(t, j); n != 20 {
				t.Errorf("%d of 20 records", n)
			}
			if n := strings.Count(log.String(), "THE JOURNAL WAS REMOVED"); n != 1 {
				t.Errorf("said %d times: %s", n, log)
			}
		})
	}
}
