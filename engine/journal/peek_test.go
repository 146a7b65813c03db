package journal_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/reactivegraph/mgmt/engine/journal"
	"github.com/reactivegraph/mgmt/engine/records"
)

func all(t *testing.T, s records.Store, table string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for rec, err := range s.Records(t.Context(), table) {
		if err != nil {
			t.Fatal(err)
		}
		found[rec.Key] = string(rec.Value)
	}
	return found
}

func commit(t *testing.T, s records.Store, writes ...records.Write) {
	t.Helper()
	if err := s.Commit(t.Context(), writes); err != nil {
		t.Fatal(err)
	}
}

// TestPeek: what another one has open is read as it is, and the copy is nobody
// else's.
func TestPeek(t *testing.T) {
	path := newPath(t)
	j := open(t, path, journal.Options{})
	j.History().Append(journal.Entry{Resource: "noop[a]"})
	commit(t, j, records.Write{Table: "a", Key: "k", Value: []byte("v")}, records.Write{Table: "b", Key: "k", Value: []byte{}},
		records.Write{Table: "a", Key: "long", Value: []byte(strings.Repeat("x", 100_000))})
	m, err := journal.Peek(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"a", "b", "c"} {
		if got, want := fmt.Sprint(all(t, m, table)), fmt.Sprint(all(t, j, table)); got != want {
			t.Errorf("table %s has %.200s, want %.200s", table, got, want)
		}
	}
	commit(t, m, records.Write{Table: "a", Key: "k"})
	if all(t, j, "a")["k"] != "v" {
		t.Error("a commit to the copy is in the journal")
	}
}

// TestPeekIsOneMoment: each transaction raises two records together, and makes pages
// free and used again; whoever looks sees them equal.
func TestPeekIsOneMoment(t *testing.T) {
	path := newPath(t)
	j := open(t, path, journal.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			v := fmt.Append(nil, i)
			_ = j.Commit(context.WithoutCancel(ctx), []records.Write{
				{Table: "a", Key: "n", Value: v}, {Table: fmt.Sprintf("pad%d", i%7), Key: "x", Value: make([]byte, 5000*(i%11))}, {Table: "z", Key: "n", Value: v},
			})
		}
	})
	defer wg.Wait()
	defer cancel()
	seen := map[string]bool{}
	for range 100_000 {
		m, err := journal.Peek(path)
		if err != nil {
			if !strings.Contains(err.Error(), "changes faster") {
				t.Fatal(err)
			}
			continue
		}
		a, z := all(t, m, "a")["n"], all(t, m, "z")["n"]
		if a != z {
			t.Fatalf("two records of one commit are %s and %s", a, z)
		}
		if seen[a] = true; len(seen) > 20 {
			return
		}
	}
	t.Errorf("only %d states were seen", len(seen))
}

func TestPeekOfWhatIsNoJournal(t *testing.T) {
	dir := t.TempDir()
	if m, err := journal.Peek(filepath.Join(dir, "absent")); err != nil || len(all(t, m, "a")) != 0 {
		t.Errorf("of no file: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "absent")); err == nil {
		t.Error("it has made one")
	}
	path := filepath.Join(dir, "journal.db")
	j := open(t, path, journal.Options{})
	commit(t, j, records.Write{Table: "a", Key: "k", Value: []byte(strings.Repeat("v", 5000))})
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string]string{
		"text": "hello", "a changed record": strings.ReplaceAll(string(good), "vvv", "vwv"), "cut": string(good[:10_000]),
	} {
		if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := journal.Peek(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
