package schedule

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/hosts"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/memory"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
)

func TestMain(m *testing.M) { kindtest.Main(m) }

// stores has a store for each folder of the suite.
var stores sync.Map

func storeOf(dir string) *memory.World {
	w, _ := stores.LoadOrStore(dir, memory.New())
	return w.(*memory.World)
}

// put writes a record of a host, or deletes it.
func put(t testing.TB, w world.World, host, record string) {
	t.Helper()
	op := world.Op{Key: hosts.ScheduleKey(hosts.All, "s", host), Value: []byte(record), Delete: record == ""}
	if _, _, err := w.Txn(t.Context(), nil, []world.Op{op}); err != nil {
		t.Fatal(err)
	}
}

// snapshot shows a store as the suite wants it.
func snapshot(t testing.TB, dir string) enginetest.Tree {
	p, err := storeOf(dir).List(context.Background(), "", world.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	tree := enginetest.Tree{}
	for _, kv := range p.KVs {
		tree[kv.Key] = string(kv.Value)
	}
	return tree
}

func TestSuite(t *testing.T) {
	enginetest.Run(t, enginetest.Suite{
		Kind: "schedule",
		New: func(*testing.T, string) engine.Res {
			return &Res{Schedule: "s", Strategy: hosts.Alpha, Count: 2}
		},
		Setup:    func(_ *testing.T, dir string, f *enginetest.Fake) { f.Init().World = storeOf(dir) },
		Snapshot: snapshot,
		Drifts: map[string]func(*testing.T, string){
			"another rule": func(t *testing.T, dir string) {
				put(t, storeOf(dir), hostOf(t, dir), `{"strategy":"hash","count":2}`)
			},
			"removed": func(t *testing.T, dir string) { put(t, storeOf(dir), hostOf(t, dir), "") },
		},
		Variants: map[string]func(engine.Res){
			"other schedule": func(r engine.Res) { r.(*Res).Schedule = "other" },
			"other topic":    func(r engine.Res) { r.(*Res).Topic = "group:web" },
		},
	})
}

// hostOf returns the host of the suite that stands, or would.
func hostOf(t testing.TB, dir string) string {
	for key := range snapshot(t, dir) {
		return key[strings.LastIndex(key, "/")+1:]
	}
	return "host"
}

func TestValidate(t *testing.T) {
	for want, r := range map[string]*Res{
		"":                         {Topic: "host:a", Strategy: hosts.Hash, Count: 1},
		`topic is "group:", write`: {Topic: "group:", Strategy: hosts.Hash, Count: 1},
		`strategy is "odd", it`:    {Strategy: "odd", Count: 1},
		"count is 0, it must be":   {Strategy: hosts.RoundRobin},
	} {
		if got := kindtest.ErrText(r.Validate()); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%+v: %q, want %q", r, got, want)
		}
	}
}

// host is a resource on a host of its own, with a World that can be lost.
type host struct {
	*Res
	f *enginetest.Fake
	w *lossy
}

// lossy is a store that can be taken away, with its lease.
type lossy struct {
	world.World
	lost  atomic.Bool
	mu    sync.Mutex
	lease world.Lease
}

func (l *lossy) err() error {
	if l.lost.Load() {
		return fmt.Errorf("%w: the cable is out", world.ErrUnavailable)
	}
	return nil
}

func (l *lossy) List(ctx context.Context, prefix string, o world.ListOptions) (world.Page, error) {
	if err := l.err(); err != nil {
		return world.Page{}, err
	}
	return l.World.List(ctx, prefix, o)
}

func (l *lossy) Lease(ctx context.Context, ttl time.Duration) (world.Lease, error) {
	if err := l.err(); err != nil {
		return nil, err
	}
	lease, err := l.World.Lease(ctx, ttl)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lease = lease
	return lease, err
}

// Watch implements world.World. It brings nothing while the store is lost.
func (l *lossy) Watch(ctx context.Context, prefix string, from int64) iter.Seq2[world.Batch, error] {
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

// lose takes the store away, and ends the lease.
func (l *lossy) lose(t *testing.T) {
	t.Helper()
	l.lost.Store(true)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.lease.Revoke(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// begin starts a host of a store.
func begin(t *testing.T, w *memory.World, name string, r *Res) *host {
	h := &host{Res: r, w: &lossy{World: w.Join()}}
	h.f = kindtest.Begin(t, "schedule", r, enginetest.WithWorld(h.w), func(f *enginetest.Fake) { f.Init().Hostname = name })
	kindtest.Watching(t, h.f, r)
	return h
}

// sends runs the resource with each event until it sends the hosts.
func (h *host) sends(t *testing.T, mine bool, names ...string) {
	t.Helper()
	for {
		if _, err := h.CheckApply(t.Context(), true); err != nil && !errors.Is(err, world.ErrUnavailable) {
			t.Fatal(err)
		}
		if s, ok := h.f.Sent().(*Sends); ok && s.Mine == mine && slices.Equal(s.Hosts, names) && s.Text == strings.Join(append(names, ""), "\n") {
			return
		}
		h.f.WaitEvent(t)
	}
}

// TestMoves: a place moves when its host leaves or is lost, and a host that comes back does not take it again.
func TestMoves(t *testing.T) {
	w := memory.New()
	rule := func() *Res { return &Res{Schedule: "s", Strategy: hosts.Sticky, Count: 2} }
	a := begin(t, w, "a", rule())
	a.sends(t, true, "a")
	b := begin(t, w, "b", rule())
	b.sends(t, true, "a", "b")
	c := begin(t, w, "c", rule())
	c.sends(t, false, "a", "b")
	look := begin(t, w, "look", &Res{Schedule: "s", Strategy: hosts.Sticky, Count: 1, Withdraw: true})
	look.sends(t, false, "a", "b")
	a.sends(t, true, "a", "b")
	a.w.lose(t)
	a.sends(t, false, "a", "b")
	c.sends(t, true, "b", "c")
	b.sends(t, true, "b", "c")
	look.sends(t, false, "b", "c")
	a.w.lost.Store(false)
	a.sends(t, false, "b", "c")
	b.Res.Withdraw = true
	b.sends(t, false, "a", "c")
	a.sends(t, true, "a", "c")
}

// TestOtherRule: a host whose rule does not count says so once, and again for another rule. The host whose rule counts says nothing.
func TestOtherRule(t *testing.T) {
	w := memory.New()
	var log bytes.Buffer
	a := begin(t, w, "a", &Res{Schedule: "s", Strategy: hosts.Sticky, Count: 1})
	a.f.Init().Log = slog.New(slog.NewTextHandler(&log, nil))
	a.sends(t, true, "a")
	b := begin(t, w, "b", &Res{Schedule: "s", Strategy: hosts.Sticky, Count: 2})
	var other bytes.Buffer
	b.f.Init().Log = slog.New(slog.NewTextHandler(&other, nil))
	b.sends(t, true, "a", "b")
	a.sends(t, true, "a", "b")
	a.sends(t, true, "a", "b")
	if n := strings.Count(log.String(), "another rule"); n != 1 || !strings.Contains(log.String(), "own_count=1") || !strings.Contains(log.String(), " count=2") {
		t.Errorf("%d warnings: %s", n, log.String())
	}
	if other.Len() > 0 {
		t.Errorf("the host whose rule counts says %s", other.String())
	}
	b.Res.Count = 3
	b.sends(t, true, "a", "b")
	for strings.Count(log.String(), "another rule") < 2 { // WaitEvent ends the test where none comes
		a.f.WaitEvent(t)
		a.sends(t, true, "a", "b")
	}
}

// TestReplaced: another resource for the same schedule, with another rule, keeps the place.
func TestReplaced(t *testing.T) {
	w := memory.New()
	a := begin(t, w, "a", &Res{Schedule: "s", Strategy: hosts.Sticky, Count: 1})
	a.sends(t, true, "a")
	put(t, w, "0", `{"strategy":"sticky","count":1}`)
	o := a.own
	second := &Res{Schedule: "s", Strategy: hosts.Sticky, Count: 2}
	f := kindtest.Begin(t, "schedule", second, enginetest.WithWorld(a.w), func(f *enginetest.Fake) { f.Init().Hostname, f.Init().Shared = "a", o })
	kindtest.Want(t, f, second, `count: "1" -> "2"`)
	a.place.End()
	third := &Res{Schedule: "s", Strategy: hosts.Sticky, Count: 1}
	f = kindtest.Begin(t, "schedule", third, enginetest.WithWorld(a.w), func(f *enginetest.Fake) { f.Init().Hostname, f.Init().Shared = "a", o })
	kindtest.Want(t, f, third, `count: "2" -> "1"`)
	if s, ok := f.Sent().(*Sends); !ok || !s.Mine || !slices.Equal(s.Hosts, []string{"a"}) {
		t.Errorf("it sends %v", f.Sent())
	}
}

// TestNoop: where nothing may be altered, a host sees the others and is no candidate.
func TestNoop(t *testing.T) {
	w := memory.New()
	put(t, w, "other", `{"strategy":"alpha","count":3}`)
	r := &Res{Schedule: "s", Strategy: hosts.Alpha, Count: 3}
	f := kindtest.Begin(t, "schedule", r, enginetest.WithWorld(w))
	if got := kindtest.Verbs(t, f, r, false); got != "created" {
		t.Errorf("under noop: %q", got)
	}
	if s, ok := f.Sent().(*Sends); !ok || s.Mine || !slices.Equal(s.Hosts, []string{"other"}) {
		t.Errorf("it sends %v", f.Sent())
	}
	if p, err := w.List(t.Context(), "", world.ListOptions{}); err != nil || len(p.KVs) != 1 {
		t.Errorf("the store has %v, %v", p.KVs, err)
	}
}

// TestBug28_CancelledWatchesEnd: the Watch returns as soon as its context ends.
//
// Seen failing with: scheduler.go, Follow: no case for the end of the reading.
func TestBug28_CancelledWatchesEnd(t *testing.T) {
	kindtest.WatchEnds(t, "schedule", &Res{Strategy: hosts.Sticky, Count: 1}, nil)
}
