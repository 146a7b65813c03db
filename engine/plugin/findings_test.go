package plugin_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/reactivegraph/mgmt/engine/plugin"
	"github.com/reactivegraph/mgmt/internal/await"
)

// heard is a log that a test reads while others write.
type heard struct {
	mu   sync.Mutex
	text strings.Builder
}

func (h *heard) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.Write(p)
}

func (h *heard) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.String()
}

// TestFindingN6Version: a program of another version than its schema is told once, and one without a version of its own, or with a schema
// without one, is not.
func TestFindingN6Version(t *testing.T) {
	for versions, warns := range map[string]bool{"1.0.0,1.0.0": false, "2.0.0,1.0.0": true, "2.0.0,0.0.0": false, ",1.2.3": false, ",0.0.0": false} {
		t.Run(versions, func(t *testing.T) {
			b := newBench(t, "", plugin.Options{})
			log := &heard{}
			b.log = slog.New(slog.NewTextHandler(log, nil))
			_, version, _ := strings.Cut(versions, ",")
			if err := os.WriteFile(filepath.Join(b.dir, "schema.json"), []byte(versioned(version)), 0o600); err != nil {
				t.Fatal(err)
			}
			b.set = b.loadSet(fmt.Sprintf(`, "env": {%q: %q, %q: %q}`, toyFolder, b.dir, toyVersions, versions), plugin.Options{})
			b.kinds = newKinds(t, b.set)
			b.res("toy:index:thing", "a", map[string]any{"color": "red"}).run(true)
			if told := strings.Contains(log.String(), "another version"); told != warns {
				t.Errorf("warned: %t\n%s", told, log)
			}
		})
	}
}

// TestFindingN5Groups: a hundred records that come while one is being written are one group of two flushes. At the first one the
// earlier records are in their places, and at the second one the new ones. Where the file system cannot be flushed, the group is written
// all the same, and a folder that is gone fails its own record alone.
func TestFindingN5Groups(t *testing.T) {
	for name, fault := range map[string]error{"flushed": nil, "each by itself": errors.New("no such call")} {
		t.Run(name, func(t *testing.T) {
			many := 100
			if fault != nil {
				many = 20
			}
			dir := t.TempDir()
			folder := func(i int) string { return filepath.Join(dir, fmt.Sprint(i)) }
			named := func(id string) (n int) {
				for i := range many {
					if got, err := plugin.RecordID(folder(i)); err == nil && got == id {
						n++
					}
				}
				return n
			}
			var seen []int
			r := plugin.HoldRecords(func(string) error {
				seen = append(seen, named("new"))
				return fault
			})
			r.Release()
			for i := range many {
				if err := os.Mkdir(folder(i), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			if err := r.Save(t.Context(), folder(0), "old"); err != nil || len(seen) > 0 || named("old") != 1 {
				t.Fatalf("%v: a record that comes alone has flushed the file system %d times", err, len(seen))
			}

			r = plugin.HoldRecords(func(string) error {
				seen = append(seen, named("new"))
				return fault
			})
			var all sync.WaitGroup
			for i := range many {
				all.Go(func() {
					if err := r.Save(t.Context(), folder(i), "new"); err != nil {
						t.Error(err)
					}
				})
			}
			all.Go(func() {
				if err := r.Save(t.Context(), folder(many), "new"); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("a folder that is gone: %v", err)
				}
			})
			await.Until(t, "all wait", func() bool { return r.Waiting() == many+1 })
			r.Release()
			all.Wait()
			want := []int{0, many}
			if fault != nil {
				want = []int{0}
			}
			if !slices.Equal(seen, want) || named("new") != many {
				t.Errorf("at the flushes %v records were in their places, want %v; %d are there", seen, want, named("new"))
			}
		})
	}
}

// TestFindingN5Leaves: who waits for the disk of others waits no longer than its context, and the others go on, also where it leaves at the
// moment at which its turn comes.
func TestFindingN5Leaves(t *testing.T) {
	dir, another := t.TempDir(), t.TempDir()
	for round := range 20 {
		r := plugin.HoldRecords(func(string) error { return nil })
		ctx, cancel := context.WithCancelCause(t.Context())
		leaves, stays := make(chan error, 1), make(chan error, 1)
		go func() { leaves <- r.Save(ctx, another, "leaves") }()
		await.Until(t, "the first one waits", func() bool { return r.Waiting() == 1 })
		go func() { stays <- r.Save(t.Context(), dir, fmt.Sprint(round)) }()
		await.Until(t, "both wait", func() bool { return r.Waiting() == 2 })
		over := errors.New("over")
		if round == 0 {
			cancel(over)
			if err := <-leaves; err != over {
				t.Errorf("it returns %v", err)
			}
			if n := r.Waiting(); n != 1 {
				t.Errorf("%d wait", n)
			}
			r.Release()
		} else {
			go cancel(over)
			r.Release()
			if err := <-leaves; err != nil && err != over {
				t.Errorf("it returns %v", err)
			}
		}
		if err := <-stays; err != nil {
			t.Error(err)
		}
		if id, err := plugin.RecordID(dir); err != nil || id != fmt.Sprint(round) {
			t.Errorf("round %d: the record is that of %s, %v", round, id, err)
		}
	}
}
