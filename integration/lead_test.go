package integration_test

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/hosts"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/memory"
	"github.com/reactivegraph/mgmt/gapi/yaml"
	"github.com/reactivegraph/mgmt/internal/await"
	_ "github.com/reactivegraph/mgmt/resources"
)

// TestFindingR2Example runs the example of docs/fleet.md on three hosts: a file on the chosen host alone. The lead moves because hosts lose
// the store, end and are killed. In the end one host has the file, and it is the chosen one.
func TestFindingR2Example(t *testing.T) {
	const seeds, faults = 5, 15
	example := exampleWith(t, "fleet.md", "/etc/cron.d/backup")
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			w := memory.New()
			defer w.Close()
			r := rand.New(rand.NewPCG(seed, 2))
			dir := t.TempDir()
			var all []*cronHost
			for _, name := range []string{"h1", "h2", "h3"} {
				h := &cronHost{t: t, name: name, dir: filepath.Join(dir, name), shared: w, graph: example}
				if err := os.MkdirAll(h.dir, 0o700); err != nil {
					t.Fatal(err)
				}
				h.start()
				all = append(all, h)
			}
			settled(t, w, all)
			for range faults {
				h := all[r.IntN(len(all))]
				switch r.IntN(4) {
				case 0:
					h.end(false)
					h.start()
				case 1:
					h.end(true)
					h.start()
				default:
					h.lose()
					if r.IntN(2) == 0 {
						settled(t, w, slices.DeleteFunc(slices.Clone(all), func(x *cronHost) bool { return x == h }), h)
					}
					h.world.Load().lost.Store(false)
				}
				if r.IntN(3) == 0 {
					settled(t, w, all)
				}
			}
			settled(t, w, all)
			for _, h := range all {
				h.end(false)
			}
		})
	}
}

// exampleWith returns the block of YAML of a page that has a text.
func exampleWith(t *testing.T, page, text string) string {
	t.Helper()
	for _, b := range blocks(t, filepath.Join("..", "docs", page)) {
		if b.lang == "yaml" && strings.Contains(b.text, text) {
			return b.text
		}
	}
	t.Fatalf("%s shows no graph with %s", page, text)
	return ""
}

// settled waits until one host has the file, the store has chosen it, and the hosts that have lost the store have none.
func settled(t *testing.T, w *memory.World, hostsThere []*cronHost, lost ...*cronHost) {
	t.Helper()
	last := ""
	for end := time.Now().Add(await.Left()); ; time.Sleep(5 * time.Millisecond) {
		chosen, _, err := hosts.Scheduled(t.Context(), hosts.Store{World: w, Clock: clock.System{}}, hosts.All, "backup")
		if err != nil {
			t.Fatal(err)
		}
		var having []string
		for _, h := range append(slices.Clone(hostsThere), lost...) {
			if h.has() {
				having = append(having, h.name)
			}
		}
		// A host that stands again by a later record may be chosen between the two looks, so both have to agree.
		if len(chosen) == 1 && slices.Equal(chosen, having) {
			return
		}
		if now := fmt.Sprintf("chosen %v, with the file %v", chosen, having); now != last {
			last = now
		}
		if time.Now().After(end) {
			t.Fatal("the hosts do not come to rest: ", last)
		}
	}
}

// cronHost is one host with the graph of the example, whose file is in its own folder.
type cronHost struct {
	t      *testing.T
	name   string
	dir    string
	graph  string
	shared *memory.World
	world  atomic.Pointer[losing]
	stop   func()
}

func (h *cronHost) file() string { return filepath.Join(h.dir, "cron.d", "backup") }

func (h *cronHost) has() bool {
	_, err := os.Stat(h.file())
	return err == nil
}

func (h *cronHost) start() {
	h.t.Helper()
	graph := filepath.Join(h.dir, "graph.yaml")
	text := strings.ReplaceAll(h.graph, "/etc/cron.d/backup", h.file())
	for path, text := range map[string]string{graph: text} {
		if err := os.MkdirAll(filepath.Dir(h.file()), 0o700); err != nil {
			h.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			h.t.Fatal(err)
		}
	}
	own := h.shared.Join()
	w := &losing{World: own, leases: map[world.Lease]bool{}}
	h.world.Store(w)
	ctx, cancel := context.WithCancel(context.Background())
	e, err := mgmt.Open(ctx, mgmt.Options{
		Hostname: h.name, World: mgmt.Share(w), Lease: time.Second, State: mgmt.StateIn(filepath.Join(h.dir, "state")),
		Input: graph, Logger: slog.New(slog.DiscardHandler),
	}, yaml.New(graph, yaml.Options{}))
	if err != nil {
		h.t.Fatal(err)
	}
	h.stop = sync.OnceFunc(func() {
		cancel()
		if err := e.Wait(); err != nil {
			h.t.Error(err)
		}
		_ = own.Close()
	})
	h.t.Cleanup(h.stop)
}

// end ends the daemon, by its death or in order.
func (h *cronHost) end(killed bool) {
	if killed {
		h.world.Load().World.(*memory.World).Abandon() // its records stay for the time of its lease
	}
	h.stop()
}

// lose takes the store away from the host, which comes to be dead for the others.
func (h *cronHost) lose() {
	w := h.world.Load()
	w.lost.Store(true)
	w.mu.Lock()
	defer w.mu.Unlock()
	for l := range w.leases {
		_ = l.Revoke(context.Background()) // an ended one has ended
	}
}

// losing is a store that can be lost, with the leases on it.
type losing struct {
	world.World
	lost atomic.Bool

	mu     sync.Mutex
	leases map[world.Lease]bool
}

func (l *losing) err() error {
	if l.lost.Load() {
		return fmt.Errorf("%w: the cable is out", world.ErrUnavailable)
	}
	return nil
}

func (l *losing) List(ctx context.Context, prefix string, o world.ListOptions) (world.Page, error) {
	if err := l.err(); err != nil {
		return world.Page{}, err
	}
	return l.World.List(ctx, prefix, o)
}

func (l *losing) Txn(ctx context.Context, compares []world.Compare, ops []world.Op) (int64, bool, error) {
	if err := l.err(); err != nil {
		return 0, false, err
	}
	return l.World.Txn(ctx, compares, ops)
}

func (l *losing) Lease(ctx context.Context, ttl time.Duration) (world.Lease, error) {
	if err := l.err(); err != nil {
		return nil, err
	}
	lease, err := l.World.Lease(ctx, ttl)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil {
		l.leases[lease] = true
	}
	return lease, err
}

// Watch implements world.World. It brings nothing while the store is lost.
func (l *losing) Watch(ctx context.Context, prefix string, from int64) iter.Seq2[world.Batch, error] {
	return func(yield func(world.Batch, error) bool) {
		for b, err := range l.World.Watch(ctx, prefix, from) {
			if lost := l.err(); lost != nil {
				yield(world.Batch{}, lost)
				return
			}
			if !yield(b, err) {
				return
			}
		}
	}
}
