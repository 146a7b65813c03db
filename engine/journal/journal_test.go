package journal_test

import (
	"path/filepath"
	"testing"

	"github.com/reactivegraph/mgmt/engine/journal"
	"github.com/reactivegraph/mgmt/engine/journal/storetest"
	"github.com/reactivegraph/mgmt/engine/records"
)

func open(t *testing.T, path string, opt journal.Options) *journal.Journal {
	t.Helper()
	j, err := journal.Open(path, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	return j
}

func newPath(t *testing.T) string { return filepath.Join(t.TempDir(), "journal.db") }

func TestJournal(t *testing.T) {
	paths := map[records.Store]string{}
	storetest.Run(t, storetest.Backend{
		Open: func(t *testing.T) records.Store {
			path := newPath(t)
			j := open(t, path, journal.Options{})
			paths[j] = path
			return j
		},
		Reopen: func(t *testing.T, s records.Store) records.Store {
			if err := s.(*journal.Journal).Close(); err != nil {
				t.Fatal(err)
			}
			j := open(t, paths[s], journal.Options{})
			paths[j] = paths[s]
			return j
		},
	})
}
